import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { createPermissions } from '../../src/account/permissions.ts'
import type { Extra, SessionRecord } from '../../src/session/record.ts'
import { ConfigurationError, readConfiguration } from '../../src/settings/load.ts'
import { fc } from '../support/random.ts'
import { ROOT } from '../support/root.ts'

const session = (extra: Extra): SessionRecord => ({ user_id: '1', type: 'BUSINESS', created_at: '', extra })
const granted = (grant: string, code: string): boolean =>
  createPermissions({}).allows(session({ permissions: [grant] }), [code], 'all')

const FORMS: [grant: string, code: string, covered: boolean][] = [
  // by name
  ['sys:session:page', 'sys:session:page', true],
  ['sys:session:page', 'sys:session:exit', false],
  ['sys:session:page', 'sys:session', false],
  ['sys:session', 'sys:session:page', false],
  ['sys:session:page', 'SYS:session:page', false],
  ['sys', 'sys', true],
  // one star, one segment
  ['sys:session:*', 'sys:session:page', true],
  ['sys:*:page', 'sys:session:page', true],
  ['*:session:page', 'sys:session:page', true],
  ['*:*:*', 'sys:session:page', true],
  ['*:*', 'sys:session:page', false],
  ['sys:*', 'sys:session:page', false],
  ['sys:*', 'sys', false],
  ['sys:session:page:*', 'sys:session:page', false],
  // two stars, any number of segments
  ['sys:**', 'sys:session:page', true],
  ['sys:**', 'sys', true],
  ['sys:**', 'client:session:page', false],
  ['**:page', 'sys:session:page', true],
  ['**:page', 'page', true],
  ['**:page', 'sys:session:exit', false],
  ['sys:**:page', 'sys:page', true],
  ['sys:**:page', 'sys:a:b:c:page', true],
  ['sys:**:page', 'sys:a:b:c:page:d', false],
  ['**:b:**:d', 'a:b:c:b:c:d', true],
  ['**:b:*:d', 'a:b:c:b:c:d', true],
  ['**:b:*:d', 'a:b:c:c:c:d', false],
  ['sys:**:**', 'sys', true],
  ['**:*', 'sys', true],
  ['*:**', 'sys:session:page', true],
  // alone: everything
  ['*', 'sys:session:page', true],
  ['*', 'sys', true],
  ['**', 'sys:session:page', true],
  // a star within a segment is a letter, and nothing is a pattern of characters
  ['sys:sess*', 'sys:session', false],
  ['sys:***', 'sys:session', false],
  ['sys.session', 'sysXsession', false],
  ['(a+)+$', 'aaaaaaaa', false],
  ['.*', 'sys', false],
  // nothing in particular grants nothing
  ['', 'sys', false],
  [':', 'sys', false],
  ['sys:', 'sys', false],
  [' sys', 'sys', false],
]

t.test('a grant covers exactly the permissions that it names', async t => {
  for (const [grant, code, covered] of FORMS) t.equal(granted(grant, code), covered, `"${grant}" for "${code}"`)
})

t.test('a pattern with double stars covers the same codes as an exhaustive search', async t => {
  const segments = fc.array(fc.constantFrom('a', 'b', '*', '**'), { minLength: 2, maxLength: 6 })
  const words = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 6 })
  const covers = ([first, ...others]: string[], code: string[]): boolean => {
    if (first === undefined) return code.length === 0
    if (first === '**') return code.some((_, i) => covers(others, code.slice(i))) || covers(others, [])
    return code.length > 0 && (first === '*' || first === code[0]) && covers(others, code.slice(1))
  }
  fc.assert(
    fc.property(segments, words, (grant, code) => granted(grant.join(':'), code.join(':')) === covers(grant, code)),
    { numRuns: 3000 },
  )
  t.pass('3000 patterns')
})

t.test('all codes are required unless one is said to be enough', async t => {
  const { allows } = createPermissions({})
  const holder = session({ permissions: ['sys:session:page'] })
  const both = ['sys:session:page', 'sys:session:exit']
  t.notOk(allows(holder, both, 'all'))
  t.ok(allows(holder, both, 'any'))
  t.notOk(allows(holder, ['sys:session:exit'], 'any'))
  t.ok(allows(session({ permissions: both }), both, 'all'))
})

t.test('an empty list of requirements allows nothing', async t => {
  const { allows } = createPermissions({})
  for (const extra of [{}, { roles: ['SUPER_ADMIN'] }, { permissions: ['*'] }]) {
    t.notOk(allows(session(extra), [], 'all'))
    t.notOk(allows(session(extra), [], 'any'))
  }
})

t.test('a role grants its permissions in the file, and several roles add up', async t => {
  const { allows } = createPermissions({ reader: ['sys:*:page'], ender: ['sys:session:exit'] })
  const page = ['sys:session:page']
  t.ok(allows(session({ roles: ['reader'] }), page, 'all'))
  t.ok(allows(session({ roles: ['ender', 'reader'] }), ['sys:session:exit', 'sys:user:page'], 'all'))
  t.ok(allows(session({ roles: ['ender'], permissions: page }), [...page, 'sys:session:exit'], 'all'))
  t.notOk(allows(session({ roles: ['ender'] }), page, 'all'))
  t.notOk(allows(session({ roles: ['Reader', 'unknown', 'constructor', '__proto__', 'toString'] }), page, 'all'))
  t.notOk(allows(session({ permissions: ['reader'] }), page, 'all'), 'a role does not count as a permission')
  t.notOk(allows(session({ roles: ['sys:session:page', '*'] }), page, 'all'), 'a permission does not count as a role')
})

t.test('the role SUPER_ADMIN holds everything', async t => {
  const { allows } = createPermissions({})
  t.ok(allows(session({ roles: ['SUPER_ADMIN'] }), ['sys:session:page', 'whatever'], 'all'))
  t.notOk(allows(session({ roles: ['super_admin', 'SUPER_ADMIN '] }), ['sys:session:page'], 'all'))
  t.notOk(allows(session({ permissions: ['SUPER_ADMIN'] }), ['sys:session:page'], 'all'))
})

t.test(
  'what rights grant is listed once, with the permissions of the roles and everything for SUPER_ADMIN',
  async t => {
    const { granted: grantsOf } = createPermissions({ reader: ['sys:*:page', 'orders:read'], idle: [] })
    t.same(grantsOf({ roles: ['idle', 'reader', 'unknown'], permissions: ['orders:read', 'stock:*'] }), [
      'sys:*:page',
      'orders:read',
      'stock:*',
    ])
    t.same(grantsOf({ roles: ['SUPER_ADMIN'], permissions: [] }), ['**'])
    t.same(grantsOf({ roles: [], permissions: [] }), [])
  },
)

t.test('only lists of texts grant anything', async t => {
  const { allows } = createPermissions({ reader: ['*'] })
  const nothing = [
    undefined,
    null,
    '*',
    'SUPER_ADMIN',
    7,
    true,
    {},
    { 0: '*', length: 1 },
    [['*']],
    [null, 7, { a: '*' }],
  ]
  for (const value of nothing) {
    t.notOk(allows(session({ permissions: value }), ['sys'], 'any'), `permissions: ${JSON.stringify(value)}`)
    t.notOk(allows(session({ roles: value }), ['sys'], 'any'), `roles: ${JSON.stringify(value)}`)
  }
  t.notOk(allows(session(Object.create({ roles: ['SUPER_ADMIN'] })), ['sys'], 'any'), 'inherited')
  t.ok(allows(session({ permissions: [null, 7, 'sys'] }), ['sys'], 'all'), 'the texts of a mixed list')
})

/** What a configuration with this file of permissions has, or what is wrong with it. */
function load(t: Test, permissions: string | null, gateway: object = { permissions: 'permissions.yaml' }): unknown {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-permissions-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'gateway.yaml'), stringify({ upstreams: [], ...gateway }))
  if (permissions !== null) writeFileSync(join(folder, 'permissions.yaml'), permissions)
  try {
    return readConfiguration(join(folder, 'gateway.yaml'), {}, folder).settings.permissions.roles
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults.map(({ place, message }) => `${place}: ${message}`)
    throw error
  }
}

t.test('the shipped file is valid', async t => {
  const shipped = readFileSync(join(ROOT, 'config/permissions.yaml'), 'utf8')
  t.same(load(t, shipped), { operator: ['sys:session:page'] })
})

t.test('without a file, or with an empty one, roles grant nothing', async t => {
  t.same(load(t, null, {}), {})
  t.same(load(t, ''), {})
  t.same(load(t, 'roles:'), {})
  t.same(load(t, null), ['gateway.yaml:2 permissions: no such file: permissions.yaml; create it, or remove this line'])
})

t.test('a role may have any name and any form of permission', async t => {
  const file = 'roles: { a: ["*", "**", "sys:*:page", x], 管理员: ["系统:会话"], __proto__: [y], b: [] }'
  const roles = load(t, file) as object
  t.same(Object.entries(roles), [
    ['a', ['*', '**', 'sys:*:page', 'x']],
    ['管理员', ['系统:会话']],
    ['__proto__', ['y']],
    ['b', []],
  ])
  t.ok(createPermissions(roles as Record<string, string[]>).allows(session({ roles: ['__proto__'] }), ['y'], 'all'))
})

t.test('all faults of the file are reported, each with its place', async t => {
  const file = `
role: {}
roles:
  SUPER_ADMIN: [sys:session:page]
  a: sys:session:page
  b: [7]
  c: ["sys:sess*", "sys::page", "sys:***", "sys, client", ""]
`
  const faults = load(t, file) as string[]
  const places = [/:2 role: /, /:4 roles\.SUPER_ADMIN: /, /:5 roles\.a: /, /:6 roles\.b\[0\]: /]
  for (let index = 0; index < 5; index++) places.push(new RegExp(`:7 roles\\.c\\[${index}\\]: `))
  for (const place of places)
    t.ok(
      faults.some(fault => place.test(fault)),
      `${place}`,
    )
  t.equal(faults.length, places.length)
  t.ok(faults.some(fault => fault.includes('SUPER_ADMIN: always has every permission')))
  t.match(load(t, 'roles: []'), [/roles: must be/])
})

/** Every list of up to so many segments. */
function lists(segments: readonly string[], length: number): string[][] {
  if (length === 0) return [[]]
  const shorter = lists(segments, length - 1)
  return [...shorter, ...shorter.filter(list => list.length === length - 1).flatMap(l => segments.map(s => [...l, s]))]
}

t.test('a grant covers another only if it covers every code of it', async t => {
  const patterns = lists(['a', 'b', '*', '**'], 3).slice(1)
  const codes = lists(['a', 'b', 'c'], 5)
    .slice(1)
    .map(code => code.join(':'))
  const record = (code: string) => ({
    ...{ user_id: 'u', type: 'BUSINESS' as const, created_at: '' },
    extra: { permissions: [code] },
  })
  const { allows, lacking } = createPermissions({})
  const covered = patterns.map(
    pattern => new Set(codes.filter(code => allows(record(pattern.join(':')), [code], 'all'))),
  )
  let missed = 0
  for (const [i, grant] of patterns.entries()) {
    for (const [j, other] of patterns.entries()) {
      const rights = (pattern: string[]) => ({ roles: [], permissions: [pattern.join(':')] })
      const isGranted = lacking(rights(grant), rights(other)).length === 0
      const isCovered = [...covered[j]!].every(code => covered[i]!.has(code))
      if (isGranted && !isCovered) t.fail(`${grant.join(':')} does not cover ${other.join(':')}`)
      if (isCovered && !isGranted) missed += 1
    }
  }
  t.ok(missed < (patterns.length * patterns.length) / 20, `${missed} are refused in doubt`)
})

t.test(
  'rights that a holder lacks are roles it does not have and permissions that none of its grants covers',
  async t => {
    const { lacking } = createPermissions({ clerk: ['orders:*'], chief: ['**'] })
    const rights = (roles: string[], ...permissions: string[]) => ({ roles, permissions })
    const rows: [holder: ReturnType<typeof rights>, wanted: ReturnType<typeof rights>, lacking: string[]][] = [
      [rights(['clerk']), rights(['clerk'], 'orders:read', 'orders:*'), []],
      [rights(['clerk']), rights(['chief'], 'orders:**', 'orders'), ['chief', 'orders:**', 'orders']],
      [rights(['chief']), rights(['clerk'], '*', 'a:**:b'), ['clerk']],
      [rights([], '*'), rights([], '**', 'a:b'), []],
      [rights([], 'a:*:**'), rights([], 'a:**:*', 'a:**'), ['a:**']],
      [rights(['SUPER_ADMIN']), rights(['SUPER_ADMIN', 'any'], '**'), []],
      [rights([], '**'), rights(['SUPER_ADMIN']), ['SUPER_ADMIN']],
      [rights([], 'a:b', 'a:c'), rights([], 'a:*'), ['a:*']],
    ]
    for (const [holder, wanted, missing] of rows) t.same(lacking(holder, wanted), missing, JSON.stringify(wanted))
  },
)
