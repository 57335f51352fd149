import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import bcrypt from 'bcrypt'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { AccountsReader } from '../../src/account/file/accounts-reader.ts'
import { edit } from '../../src/account/file/edit-file.ts'
import {
  addAccount,
  createFileAccounts,
  firstAccount,
  generateAccountId,
  listAccounts,
  readAccounts,
  removeAccount,
  setPassword,
} from '../../src/account/file/source.ts'
import { createHashAccounts } from '../../src/account/hash-accounts.ts'
import type { AccountEdit } from '../../src/account/management.ts'
import { ConfigurationError } from '../../src/settings/notation/fault.ts'
import { clockOf } from '../support/clock.ts'
import { refusalOf } from '../support/login-fixture.ts'
import { until } from '../support/until.ts'
import { hashContract } from './source-contract.ts'

const HASH = bcrypt.hashSync('correct horse', 4)
const OTHER_HASH = bcrypt.hashSync('battery staple', 4)
const FACTOR = 'abcdefghijkl.sealed'
const entry = (id: string, username: string, rest = ''): string =>
  `  - { id: "${id}", username: ${username}, password: "${HASH}"${rest} }\n`

const SERVICE = '  - { id: "1", username: robot, service: true }\n'

/** A source on a file in a folder of its own, with what it logged. */
function open(folder: string, text?: string) {
  const path = join(folder, 'accounts.yaml')
  if (text !== undefined) writeFileSync(path, text)
  const logged: unknown[] = []
  const log = { error: (...line: unknown[]) => void logged.push(line), info: () => undefined }
  const source = createFileAccounts({ kind: 'file', path }, log)
  return { path, logged, source, find: (name: string) => source.find(name) }
}

/** Adds an account as an administrator does. */
const addBy = ({ management }: ReturnType<typeof open>['source']) => {
  const password = { hash: HASH, changedAt: 0, mustChange: false }
  const add = { id: 'b', username: 'b', nickname: 'b', status: 'ACTIVE' as const, roles: [], permissions: [], password }
  return management!.edit(() => ({ edit: { add }, result: null }))
}

hashContract(t, 'file', async (t, accounts) => {
  const path = join(t.testdir(), 'accounts.yaml')
  writeFileSync(path, stringify({ accounts }, { defaultStringType: 'QUOTE_DOUBLE' }))
  return createFileAccounts({ kind: 'file', path }, { error: () => undefined, info: () => undefined })
})

t.test('an account is found by its name in any case, with all fields except its hash', async t => {
  const { find } = open(
    t.testdir(),
    `accounts:\n${entry('1923000000000000001', 'Admin', ', nickname: Boss, roles: [SUPER_ADMIN], team: { name: a }')}`,
  )
  t.same(await find('ADMIN'), {
    id: '1923000000000000001',
    username: 'Admin',
    passwordHash: HASH,
    status: 'ACTIVE',
    extra: {
      nickname: 'Boss',
      avatar: null,
      roles: ['SUPER_ADMIN'],
      permissions: [],
      team: { name: 'a' },
      status: 'ACTIVE',
    },
  })
  for (const name of ['', 'admi', 'admin ', '__proto__', 'constructor']) t.equal(await find(name), null)
})

t.test('a missing file and an empty list contain no accounts', async t => {
  for (const text of [undefined, 'accounts: []\n']) t.equal(await open(t.testdir(), text).find('admin'), null)
})

t.test('a file that has no list when it is first read is unavailable, and nothing is compared with it', async t => {
  for (const text of ['', '# nothing yet\n', 'accounts:\n']) {
    const { path, find, logged, source } = open(t.testdir(), text)
    const changed: unknown[] = []
    source.changes!.follow(found => void changed.push(found))
    t.teardown(() => source.close())
    t.match(await refusalOf(find('a')), { reason: 'UNAVAILABLE' }, JSON.stringify(text))
    t.match(JSON.stringify(logged), /the list of accounts is missing; write `accounts: \[\]`/)
    t.match(source.changes!.warnings(), [/no login is possible until it is corrected/])
    t.same(changed, [], 'no session and no key ends')
    writeFileSync(path, `accounts:\n${entry('1', 'a')}`)
    t.ok(await find('a'))
    t.same(changed, [null])
  }
})

t.test('a changed file is read again, written anew or replaced, in the next look-up', async t => {
  const { path, find } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
  writeFileSync(path, `accounts:\n${entry('1', 'b')}`)
  t.equal(await find('a'), null)
  t.ok(await find('b'))
  writeFileSync(`${path}.new`, `accounts:\n${entry('1', 'c')}`)
  renameSync(`${path}.new`, path)
  t.ok(await find('c'))
})

t.test('a removed file is unavailable, not empty, until it is there again', async t => {
  const { path, find, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
  for (const text of [`accounts:\n${entry('1', 'a')}`, 'accounts: []\n']) {
    rmSync(path)
    logged.length = 0
    for (let i = 0; i < 2; i++) t.match(await refusalOf(find('a')), { reason: 'UNAVAILABLE' })
    t.equal(logged.length, 1)
    t.match(JSON.stringify(logged), /the accounts file was removed/)
    writeFileSync(path, text)
    t.equal((await find('a')) === null, text === 'accounts: []\n')
  }
})

t.test('a file that is being written is not read before it is whole', async t => {
  const { path, find, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`)
  t.ok(await find('b'))
  const changed: unknown[] = []
  source.changes!.follow(found => void changed.push(found && [...found]))
  t.teardown(() => source.close())
  // Each part is a valid file in which accounts are missing.
  writeFileSync(path, '')
  const found = find('b')
  for (const name of ['a', 'b', 'c']) {
    await setTimeout(30)
    appendFileSync(path, `${name === 'a' ? 'accounts:\n' : ''}${entry(name, name)}`)
  }
  t.match(await found, { id: 'b' })
  t.same(changed, [
    null,
    [
      ['1', 'account-changed'],
      ['2', 'account-changed'],
    ],
  ])
})

t.test('a file that has lost its list keeps the accounts, and an empty list removes them', async t => {
  const { path, find, logged, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
  for (const text of ['', '# nothing\n', 'accounts:\n']) {
    logged.length = 0
    writeFileSync(path, text)
    t.ok(await find('a'), text)
    t.match(JSON.stringify(logged), /the list of accounts is missing; write `accounts: \[\]`/)
    t.match(source.changes!.warnings(), [/last valid version stay/])
  }
  writeFileSync(path, 'accounts: []\n')
  t.equal(await find('a'), null)
  t.same(source.changes!.warnings(), [])
})

t.test(
  'changes are reported by login id: what was removed, locked, or has another password or other rights',
  async t => {
    const { path, find, source } = open(
      t.testdir(),
      `accounts:\n${entry('1', 'a', ', roles: [x, y]')}${entry('2', 'b')}`,
    )
    const changed: unknown[] = []
    source.changes!.follow(found => void changed.push(found === null ? null : Object.fromEntries(found)))
    t.teardown(() => source.close())
    const rows: [text: string, changes: object | undefined][] = [
      [entry('1', 'a', ', roles: [y, x], nickname: Boss') + entry('2', 'b'), undefined],
      [entry('2', 'renamed') + entry('1', 'a', ', roles: [x, y]') + entry('3', 'c'), undefined],
      [entry('1', 'a', ', roles: [x]') + entry('2', 'b') + entry('3', 'c'), { 1: 'account-changed' }],
      [
        entry('1', 'a', ', roles: [x], permissions: [p]') + entry('2', 'b', ', status: LOCKED'),
        { 1: 'account-changed', 2: 'account-changed', 3: 'account-changed' },
      ],
      [entry('1', 'a', ', roles: [x], permissions: [p]') + entry('2', 'b'), undefined],
      [entry('1', 'a', ', permissions: [p]').replace(HASH, OTHER_HASH) + entry('2', 'b'), { 1: 'password-changed' }],
      [
        entry('1', 'a', `, permissions: [p], second_factor: ${FACTOR}`).replace(HASH, OTHER_HASH),
        { 2: 'account-changed' },
      ],
      [entry('1', 'a', `, permissions: [p], second_factor: ${FACTOR}changed`).replace(HASH, OTHER_HASH), undefined],
      [entry('1', 'a', ', permissions: [p]').replace(HASH, OTHER_HASH), { 1: 'account-changed' }],
      // Not ACTIVE: what was made before, as keys, is valid again once it is.
      [entry('1', 'a', ', status: LOCKED').replace(HASH, OTHER_HASH), { 1: 'account-changed' }],
      [entry('1', 'a', ', status: LOCKED, nickname: Boss').replace(HASH, OTHER_HASH), undefined],
      [entry('1', 'a', ', status: LOCKED'), { 1: 'account-changed' }],
      [entry('2', 'b'), { 1: 'account-changed' }],
      [entry('1', 'a', ', status: LOCKED') + entry('2', 'b'), undefined],
      [entry('1', 'a') + entry('2', 'b'), undefined],
    ]
    await find('a')
    t.same(changed.splice(0), [null], 'first, nothing is known of what they were before')
    for (const [text, changes] of rows) {
      writeFileSync(path, `accounts:\n${text}`)
      await find('a')
      t.same(changed.splice(0), changes === undefined ? [] : [changes])
    }
    t.equal(source.changes!.versionOf('3'), null)
    t.match(source.changes!.versionOf('1'), /^[\w-]{12}\.[\w-]{12}$/)
  },
)

t.test(
  'an account of any status is found by its login id at once, as it was last read, with its versions and no hash',
  async t => {
    const locked = entry('2', 'b', ', status: LOCKED')
    const { path, find, source } = open(t.testdir(), `accounts:\n${entry('1', 'a', ', roles: [x]')}${locked}`)
    const accountOf = (id: string) => source.changes!.accountOf(id)
    const versionOf = (id: string) => source.changes!.versionOf(id)
    t.equal(accountOf('1'), null, 'nothing is known before the first look-up')
    await find('a')
    t.match(accountOf('1'), {
      id: '1',
      username: 'a',
      status: 'ACTIVE',
      extra: { roles: ['x'] },
      credentialVersion: String,
    })
    t.equal(accountOf('1')!.version, versionOf('1'))
    t.match(accountOf('2'), { status: 'LOCKED', version: String, credentialVersion: String })
    t.equal(versionOf('2'), null)
    t.equal(accountOf('3'), null)
    t.notMatch(inspect(accountOf('1'), { showHidden: true, depth: 9 }), /\$2b\$/)
    writeFileSync(path, `accounts:\n${entry('1', 'a', ', roles: [y]')}`)
    t.match(accountOf('1'), { extra: { roles: ['x'] } }, 'without reading anything')
    await source.changes!.refresh()
    t.match(accountOf('1'), { extra: { roles: ['y'] } })
    t.equal(accountOf('2'), null)
    writeFileSync(path, 'accounts: {')
    await source.changes!.refresh()
    t.match(accountOf('1'), { extra: { roles: ['y'] } }, 'a faulty file changes nothing')
  },
)

t.test('what users change of a second factor keeps the credential version, and a reset by others does not', async t => {
  const { source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const credentialVersion = async () => {
    await source.changes!.refresh()
    return source.changes!.accountOf('1')!.credentialVersion
  }
  const reset = (set: Extract<AccountEdit, { set: unknown }>['set']) =>
    source.management!.edit(() => ({ edit: { id: '1', set }, result: null }))
  const seen = [await credentialVersion()]
  await source.updates!.setSecondFactor('1', FACTOR, null)
  t.equal(await credentialVersion(), seen[0])
  await source.updates!.setSecondFactor('1', null, FACTOR)
  t.equal(await credentialVersion(), seen[0])
  await reset({ secondFactor: null })
  t.equal(await credentialVersion(), seen[0], 'there was none')
  await source.updates!.setSecondFactor('1', FACTOR, null)
  await reset({ secondFactor: null })
  seen.push((await credentialVersion())!)
  await reset({ roles: ['x'], permissions: ['y'], status: 'LOCKED', nickname: 'Other' })
  t.equal(await credentialVersion(), seen[1])
  await reset({ password: { hash: OTHER_HASH, changedAt: 0, mustChange: true } })
  seen.push((await credentialVersion())!)
  t.equal(new Set(seen).size, 3)
})

t.test('a change is noticed without a login', async t => {
  const { path, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const changed: unknown[] = []
  source.changes!.follow(found => void changed.push(found && [...found]))
  t.teardown(() => source.close())
  t.ok(await until(() => changed.length === 1))
  writeFileSync(path, 'accounts: []\n')
  t.ok(await until(() => changed.length === 2))
  t.same(changed, [null, [['1', 'account-changed']]])
})

t.test('a faulty version is logged once, and the previous version stays in use', async t => {
  const { path, find, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  writeFileSync(path, 'accounts:\n  - { id: 1 }\n')
  for (let i = 0; i < 3; i++) t.ok(await find('a'))
  t.equal(logged.length, 1)
  t.match(JSON.stringify(logged), /last valid version stay/)
  writeFileSync(path, `accounts:\n${entry('1', 'b')}`)
  t.ok(await find('b'))
})

t.test('a change of the gateway itself stays if a faulty version follows before it was read', async t => {
  const { path, find, source, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  t.ok(await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 0, mustChange: false }))
  writeFileSync(path, 'accounts:\n  - { id: 1 }\n')
  t.equal((await find('a'))?.passwordHash, OTHER_HASH)
  t.match(JSON.stringify(logged), /last valid version stay/)
})

t.test('a change of the gateway itself does not come back after later versions were read', async t => {
  const { path, find, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  const later = `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`
  writeFileSync(path, `# saved\n${later}`)
  const finding = find('b')
  await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 0, mustChange: false })
  writeFileSync(path, later)
  await finding
  t.ok(await find('b'))
  const changes: unknown[] = []
  source.changes!.follow(changed => void changes.push(changed))
  writeFileSync(path, `# saved again\n${later}`)
  t.not((await find('a'))?.passwordHash, OTHER_HASH)
  source.changes!.follow(null)
  t.same(changes, [null], 'what is known when the following begins, and nothing after it')
})

t.test('a file without a valid version is unavailable, not empty', async t => {
  const { path, find, logged } = open(t.testdir(), 'accounts: {')
  for (let i = 0; i < 2; i++) t.match(await refusalOf(find('a')), { reason: 'UNAVAILABLE' })
  t.equal(logged.length, 1)
  writeFileSync(path, `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
})

t.test('a path that is not a file is unavailable', async t => {
  const source = createFileAccounts({ kind: 'file', path: t.testdir() }, { error() {}, info() {} })
  t.match(await refusalOf(source.find('a')), { reason: 'UNAVAILABLE' })
})

const ROUNDED = /would be changed.*quotes/

const FAULTS: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'a bare number as id',
    entry('1', 'a').replace('"1"', '1923000000000000001'),
    'accounts[0].id',
    /in quotes.*rounded/,
  ],
  ['an id with a slash', entry('a/b', 'a'), 'accounts[0].id', /A-Z a-z/],
  ['a bare number as name', entry('1', '12345'), 'accounts[0].username', /needs quotes/],
  ['a space after a name', entry('1', '"a "'), 'accounts[0].username', /spaces/],
  ['an empty name', entry('1', '""'), 'accounts[0].username', /1 to 128/],
  [
    'plain text as password',
    '  - { id: "1", username: a, password: correct horse }',
    'accounts[0].password',
    /account passwd/,
  ],
  ['a cost of 31', entry('1', 'a').replace('$04$', '$31$'), 'accounts[0].password', /cost 4 to 15/],
  ['no password', '  - { id: "1", username: a }', 'accounts[0].password', /bcrypt/],
  ['a password of a service account', entry('1', 'a', ', service: true'), 'accounts[0].password', /remove this line/],
  [
    'a second factor of a service account',
    SERVICE.replace(' }', `, second_factor: ${FACTOR} }`),
    'accounts[0].second_factor',
    /remove this line, or the line `service: true`/,
  ],
  [
    'a change of password that a service account must make',
    SERVICE.replace(' }', ', must_change_password: false }'),
    'accounts[0].must_change_password',
    /remove this line/,
  ],
  ['`service` as a text', '  - { id: "1", username: a, service: "yes" }', 'accounts[0].service', /true or false/],
  ['an account that is no service account', SERVICE.replace('true', 'false'), 'accounts[0].password', /bcrypt/],
  [
    'a service account that was added at no time',
    SERVICE.replace(' }', ', added: yesterday }'),
    'accounts[0].added',
    /a time such as/,
  ],
  ['another status', entry('1', 'a', ', status: active'), 'accounts[0].status', /ACTIVE, INACTIVE or LOCKED/],
  ['roles that are not a list', entry('1', 'a', ', roles: SUPER_ADMIN'), 'accounts[0].roles', /list of roles/],
  [
    'a permission that is a number',
    entry('1', 'a', ', permissions: [1]'),
    'accounts[0].permissions[0]',
    /must be text of 1 to 128 characters/,
  ],
  ['a nickname that is a number', entry('1', 'a', ', nickname: 7'), 'accounts[0].nickname', /text/],
  ['an entry that is a text', '  - admin', 'accounts[0]', /a section with id, username, password/],
  ['too much data', entry('1', 'a', `, x: ${'y'.repeat(7000)}`), 'accounts[0]', /bytes/],
  ['an id twice', entry('1', 'a') + entry('1', 'b'), 'accounts[1].id', /also that of account 1/],
  ['a name twice, in other cases', entry('1', 'a') + entry('2', 'A'), 'accounts[1].username', /also that of account 1/],
  [
    'a number that would be rounded',
    entry('1', 'a', ', org: { id: 1923456789012345679 }'),
    'accounts[0].org.id',
    ROUNDED,
  ],
  [
    'a fraction that would be rounded',
    entry('1', 'a', ', x: [0.1, 0.12345678901234567891]'),
    'accounts[0].x[1]',
    ROUNDED,
  ],
  ['a hexadecimal number that would be rounded', entry('1', 'a', ', x: 0x1B1A2B3C4D5E6F71'), 'accounts[0].x', ROUNDED],
  ['a number that JSON does not have', entry('1', 'a', ', x: .inf'), 'accounts[0].x', ROUNDED],
  [
    'a key that would be rounded',
    entry('1', 'a', ', x: { 1923456789012345679: 1 }'),
    'accounts[0].x.1923456789012345679',
    ROUNDED,
  ],
  ['a key twice', entry('1', 'a', ', id: "2"'), ':2', /written twice/],
  ['an alias', entry('1', '*nobody'), 'accounts[0].username', /an alias/],
  ['invalid YAML', '  - { id: "1"', ':2', /bracket|missing/],
]

for (const [what, text, place, message] of FAULTS) {
  t.test(`a fault is reported with its place and its remedy, without a hash: ${what}`, async t => {
    const path = join(t.testdir({ 'accounts.yaml': `accounts:\n${text}` }), 'accounts.yaml')
    const error = await readAccounts(path).catch(fault => fault)
    t.ok(error instanceof ConfigurationError, String(error))
    t.equal(error.faults.length, 1, error.message)
    const [fault] = error.faults
    t.ok(fault!.place.startsWith(path) && fault!.place.endsWith(place), fault!.place)
    t.match(fault!.message, message)
    t.notMatch(error.message, /\$2b\$|correct horse/)
  })
}

t.test('all faults are reported together, each with its line', async t => {
  const path = join(t.testdir({ 'accounts.yaml': 'accounts:\n  - { id: 1, username: 2 }\n  - x\n' }), 'accounts.yaml')
  const { faults } = (await readAccounts(path).catch(fault => fault)) as ConfigurationError
  t.same(faults.map(({ place }) => place.slice(path.length + 1)).sort(), [
    '2 accounts[0].id',
    '2 accounts[0].password',
    '2 accounts[0].username',
    '3 accounts[1]',
  ])
})

t.test('a file with a list instead of keys is a fault that names the file', async t => {
  const path = join(t.testdir({ 'accounts.yaml': entry('1', 'a') }), 'accounts.yaml')
  const { faults } = (await readAccounts(path).catch(fault => fault)) as ConfigurationError
  t.match(faults, [{ place: path, message: /^must consist of keys and their values/ }])
})

t.test('a faulty account hides no fault of its other fields, nor of another account', async t => {
  const text = `accounts:\n${entry('a/b', '"a "', ', status: active')}${entry('2', 'b').replace('$04$', '$31$')}`
  const path = join(t.testdir({ 'accounts.yaml': text }), 'accounts.yaml')
  const { faults } = (await readAccounts(path).catch(fault => fault)) as ConfigurationError
  t.same(faults.map(({ place }) => place.replace(/^.* /, '')).sort(), [
    'accounts[0].id',
    'accounts[0].status',
    'accounts[0].username',
    'accounts[1].password',
  ])
})

t.test('a number that is read as it is written is no fault, in whatever form', async t => {
  const exact = [
    ...['0', '-0', '1.10', '.5', '5.', '1e3', '1E+21', '12e-1', '0x1F', '0o17', '007', '+9007199254740992.0e1'],
    ...['9007199254740992', '-1923456789012345600', '0x1FFFFFFFFFFFFF', '0.1', '0.1234567890123456', '1e22', '1e400'],
    ...['"1923456789012345679"', "'0.12345678901234567891'", '!!str 1923456789012345679', '1923456789012345679 a'],
  ]
  for (const text of exact) {
    const path = join(t.testdir({ 'accounts.yaml': `accounts:\n${entry('1', 'a', `, x: ${text}`)}` }), 'accounts.yaml')
    t.ok((await readAccounts(path)).byId.has('1'), text)
  }
})

t.test('unknown top-level keys or a bare list are a fault', async t => {
  for (const text of ['users: []\n', `- ${entry('1', 'a').trim().slice(2)}\n`, 'admin\n', 'accounts: { a: 1 }\n']) {
    const path = join(t.testdir({ 'accounts.yaml': text }), 'accounts.yaml')
    await t.rejects(readAccounts(path), { message: /accounts/ }, text)
  }
})

t.test('accounts are added, listed, given a password and removed; the gateway follows', async t => {
  const { path, find } = open(t.testdir())
  const { id } = await addAccount(path, { username: 'Alice', password: 'correct horse', roles: ['operator'] })
  t.match(id, /^\d{19}$/)
  await addAccount(path, { username: '12345', password: 'correct horse', id: '7', status: 'LOCKED' })
  const rest = { secondFactor: false, mustChangePassword: false, passwordChangedAt: Number }
  t.match(await listAccounts(path), [
    { id, username: 'Alice', nickname: 'Alice', status: 'ACTIVE', roles: ['operator'], permissions: [], ...rest },
    { id: '7', username: '12345', nickname: '12345', status: 'LOCKED', roles: [], permissions: [], ...rest },
  ])
  const before = (await find('alice'))!
  t.ok(await bcrypt.compare('correct horse', before.passwordHash))
  t.equal(await setPassword(path, 'ALICE', 'battery staple'), true)
  t.ok(await bcrypt.compare('battery staple', (await find('alice'))!.passwordHash))
  t.equal(await removeAccount(path, 'alice'), true)
  t.equal(await find('alice'), null)
  t.ok(await find('12345'))
  t.equal(await removeAccount(path, 'alice'), false)
  t.equal(await setPassword(path, 'alice', 'battery staple'), false)
})

t.test(
  'a service account is added without a password and with the time, and has other versions when it is added again',
  async t => {
    const { path, find, source } = open(t.testdir())
    const add = () => addAccount(path, { username: 'Robot', service: true, roles: ['operator'], id: 'r' })
    await add()
    const { accounts } = parse(readFileSync(path, 'utf8'))
    t.match(accounts, [
      { id: 'r', username: 'Robot', service: true, added: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/, nickname: 'Robot' },
    ])
    t.notMatch(readFileSync(path, 'utf8'), /^ *(?:password|must_change_password)/m)
    t.match(await find('robot'), { id: 'r', service: true, passwordHash: '', added: accounts[0].added })
    t.match(await listAccounts(path), [{ id: 'r', service: true, passwordChangedAt: null, mustChangePassword: false }])

    const versions = () => {
      const { version, credentialVersion } = source.changes!.accountOf('r')!
      return [version, credentialVersion]
    }
    const before = versions()
    t.equal(await removeAccount(path, 'robot'), true)
    // The time has milliseconds.
    await until(() => Date.now() > Date.parse(accounts[0].added))
    await add()
    await find('robot')
    for (const [index, version] of versions().entries()) t.not(version, before[index])
  },
)

t.test('a service account gets neither a password nor a second factor, by whomever', async t => {
  const { path, source } = open(t.testdir(), `accounts:\n${SERVICE}`)
  const before = readFileSync(path, 'utf8')
  const hashed = { hash: HASH, changedAt: 0, mustChange: false }
  const refusal = { reason: 'INVALID', params: { field: 'id', fault: /^belongs to a service account/ } }
  for (const set of [{ password: hashed }, { secondFactor: null }] as const) {
    t.match(await refusalOf(source.management!.edit(() => ({ edit: { id: '1', set }, result: null }))), refusal)
  }
  t.match(await refusalOf(setPassword(path, 'robot', 'correct horse')), refusal)
  t.equal(await source.updates!.setPassword('1', hashed), false)
  t.equal(await source.updates!.setSecondFactor('1', FACTOR, null), false, 'as after another change')
  t.equal(readFileSync(path, 'utf8'), before)
  const set = { nickname: 'R', roles: ['x'], permissions: ['y'], status: 'LOCKED' } as const
  t.match(await source.management!.edit(() => ({ edit: { id: '1', set }, result: null })), { changed: true })
  t.match(await listAccounts(path), [{ ...set, service: true }])
})

t.test('further keys of a person may be named `added`, and go into the session', async t => {
  const { find } = open(t.testdir(), `accounts:\n${entry('1', 'a', ', service: false, added: yesterday')}`)
  const account = (await find('a'))!
  t.equal(account.extra.added, 'yesterday')
  t.notOk(
    Object.hasOwn(account, 'added') || Object.hasOwn(account, 'service') || Object.hasOwn(account.extra, 'service'),
  )
})

t.test('an invalid account is refused with its field, and the file does not change', async t => {
  const { path } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const before = readFileSync(path, 'utf8')
  const rows = [
    [{ username: 'A' }, 'username'],
    [{ username: '' }, 'username'],
    [{ username: ' b' }, 'username'],
    [{ username: 'b\n' }, 'username'],
    [{ id: '1' }, 'id'],
    [{ id: 'a b' }, 'id'],
    [{ password: '' }, 'password'],
    [{ password: 'x'.repeat(73) }, 'password'],
  ] as const
  for (const [rest, field] of rows) {
    const account = { username: 'b', password: 'correct horse', ...rest }
    t.match(await refusalOf(addAccount(path, account)), { reason: 'INVALID', params: { field } })
  }
  t.match(await refusalOf(setPassword(path, 'a', 'x\0')), { reason: 'INVALID', params: { field: 'password' } })
  t.equal(readFileSync(path, 'utf8'), before)
})

t.test('comments and the order of the file survive an edit', async t => {
  const text = `# Our people\naccounts:\n  # the boss\n${entry('1', 'a')}  - id: "2" # by hand\n    username: b\n    password: "${HASH}"\n`
  const { path } = open(t.testdir(), text)
  await addAccount(path, { username: 'c', password: 'correct horse' })
  await setPassword(path, 'b', 'battery staple')
  const after = readFileSync(path, 'utf8')
  for (const kept of ['# Our people', '# the boss', '# by hand', `{ id: "1", username: a, password: "${HASH}" }`]) {
    t.ok(after.includes(kept), kept)
  }
  t.same(
    (await listAccounts(path)).map(({ username }) => username),
    ['a', 'b', 'c'],
  )
})

t.test('after an edit only the owner can read the file, and no temporary file remains', async t => {
  const folder = t.testdir()
  const { path } = open(folder)
  await addAccount(path, { username: 'a', password: 'correct horse' })
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.same(readdirSync(folder), ['accounts.yaml'])
})

t.test('an edit keeps a symbolic link to the file', async t => {
  const folder = t.testdir({ real: {} })
  symlinkSync('real/people.yaml', join(folder, 'accounts.yaml'))
  writeFileSync(join(folder, 'real/people.yaml'), 'accounts: []\n')
  await addAccount(join(folder, 'accounts.yaml'), { username: 'a', password: 'correct horse' })
  t.match(readFileSync(join(folder, 'real/people.yaml'), 'utf8'), /username: a/)
})

t.test('a file with faults is not edited', async t => {
  const { path } = open(t.testdir(), 'accounts:\n  - { id: 1 }\n')
  await t.rejects(addAccount(path, { username: 'a', password: 'correct horse' }), { name: 'ConfigurationError' })
  t.equal(readFileSync(path, 'utf8'), 'accounts:\n  - { id: 1 }\n')
  t.notOk(existsSync(`${path}.lock`))
})

t.test(
  'a file in another encoding than UTF-8 is a fault, no edit touches it, and the accounts before it stay',
  async t => {
    const { path, source, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
    t.ok(await source.find('a'))
    /** A comment in GBK. */
    const bytes = Buffer.concat([
      Buffer.from('# '),
      Buffer.from([0xd5, 0xca, 0xba, 0xc5]),
      Buffer.from(`\naccounts:\n${entry('1', 'a')}`),
    ])
    writeFileSync(path, bytes)
    const fault = { name: 'ConfigurationError', message: `${path}: is not UTF-8 text; save it in this encoding` }
    await t.rejects(readAccounts(path), fault)
    await t.rejects(setPassword(path, 'a', 'battery staple'), fault)
    t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' })
    t.ok(readFileSync(path).equals(bytes))
    t.ok(await source.find('a'))
    t.equal(logged.length, 1)
    t.match(JSON.stringify(logged), /is not UTF-8 text.*last valid version stay/)
    writeFileSync(path, bytes.subarray(bytes.indexOf('\n')))
    t.ok(await setPassword(path, 'a', 'battery staple'))
  },
)

t.test('simultaneous writers lose no change', async t => {
  const { path } = open(t.testdir())
  const names = Array.from({ length: 12 }, (_, i) => `user${i}`)
  await Promise.all(names.map(username => addAccount(path, { username, password: 'correct horse' })))
  const left = async () => (await listAccounts(path)).map(({ username }) => username).sort()
  t.same(await left(), names.toSorted())
  // Without turns, all of them would read before the first has written.
  const removed = names.slice(0, 9).map(name =>
    edit({ path, reader: new AccountsReader(path) }, async entries => {
      await setTimeout(1)
      const at = entries.findIndex(({ username }) => username === name)
      return { change: { at, remove: true }, result: name }
    }),
  )
  t.same(
    await Promise.all(removed),
    names.slice(0, 9).map(result => ({ changed: true, result })),
  )
  t.same(await left(), names.slice(9).toSorted())
})

t.test('what an editor saves while the command line changes the file is not lost', async t => {
  const { path } = open(t.testdir(), `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`)
  const saves = [
    () => writeFileSync(path, `accounts:\n${entry('1', 'a')}${entry('2', 'b')}${entry('3', 'c')}`),
    () => {
      writeFileSync(`${path}~`, `# by hand\n${readFileSync(path, 'utf8')}${entry('4', 'd')}`)
      renameSync(`${path}~`, path)
    },
  ]
  // Looked up between the reading and the writing of the command: there the editor saves.
  const name = {
    toLowerCase() {
      saves.shift()?.()
      return 'a'
    },
  }
  t.equal(await removeAccount(path, name as string), true)
  t.same(
    (await listAccounts(path)).map(({ username }) => username),
    ['b', 'c', 'd'],
  )
  t.match(readFileSync(path, 'utf8'), /^# by hand/)
})

t.test('a first start creates an administrator once, with a password without look-alike characters', async t => {
  const { path, find } = open(join(t.testdir(), 'config'))
  const starts = await Promise.all(Array.from({ length: 4 }, () => firstAccount(path)))
  const [first, ...others] = starts.filter(start => start !== null)
  t.same(others, [])
  t.match(first, { username: 'admin', password: /^[A-HJ-NP-Za-km-z2-9]{24}$/ })
  const admin = (await find('admin'))!
  t.match(admin, { id: /^\d{19}$/, status: 'ACTIVE', extra: { roles: ['SUPER_ADMIN'] } })
  t.equal(admin.passwordChangedAt, undefined, 'no user has chosen the password')
  t.ok(await bcrypt.compare(first!.password, admin.passwordHash))
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(await firstAccount(path), null)
  t.same(readdirSync(join(path, '..')), ['accounts.yaml'])
})

t.test('a start with an empty file is not a first start', async t => {
  const { path } = open(t.testdir(), '')
  t.equal(await firstAccount(path), null)
  t.equal(readFileSync(path, 'utf8'), '')
})

t.test('a file that an editor is saving is neither listed nor edited before it is whole', async t => {
  const text = `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`
  const { path } = open(t.testdir(), text)
  const namesIn = async () => (await listAccounts(path)).map(({ username }) => username)
  /** Each part is a valid file in which accounts are missing. */
  async function save(): Promise<void> {
    for (const name of ['a', 'b', 'c']) {
      appendFileSync(path, `${name === 'a' ? 'accounts:\n' : ''}${entry(name, name)}`)
      await setTimeout(30)
    }
  }
  for (const empty of [() => writeFileSync(path, ''), () => rmSync(path)]) {
    empty()
    const listed = namesIn()
    await Promise.all([save(), listed])
    t.same(await listed, ['a', 'b', 'c'])
    empty()
    const added = addAccount(path, { username: 'd', password: 'correct horse' })
    const removed = removeAccount(path, 'b')
    await save()
    t.equal(await removed, true)
    await added
    t.same(await namesIn(), ['a', 'c', 'd'])
  }
})

t.test('an empty file is not believed at once, although it looks old or was empty before', async t => {
  const { path } = open(t.testdir(), '')
  for (const before of ['it looks old', 'it was read empty']) {
    writeFileSync(path, '')
    await setTimeout(150)
    if (before === 'it was read empty') await listAccounts(path).catch(() => undefined)
    const listed = listAccounts(path)
    writeFileSync(path, `accounts:\n${entry('1', 'a')}`)
    t.match(await listed, [{ username: 'a' }], before)
  }
})

t.test('an account is not added to a file that was emptied, and the fault names the remedy', async t => {
  for (const text of ['', '# nothing\n', 'accounts:\n']) {
    const { path, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
    await source.find('a')
    writeFileSync(path, text)
    const remedy = { message: /write `accounts: \[\]` to have none/ }
    await t.rejects(addAccount(path, { username: 'b', password: 'correct horse' }), remedy)
    await t.rejects(listAccounts(path), remedy)
    t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' })
    t.equal(readFileSync(path, 'utf8'), text)
    rmSync(path)
    t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' }, 'nor to one that was removed')
    t.notOk(existsSync(path))
  }
})

t.test('the gateway stores nothing in a file with faults, which is a failure of the source', async t => {
  const { path, source, find } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  writeFileSync(path, 'accounts:\n  - { id: 1 }\n')
  const { setPassword, setSecondFactor } = source.updates!
  const update = { hash: OTHER_HASH, changedAt: 0, mustChange: false }
  t.match(await refusalOf(setPassword('1', update)), { reason: 'UNAVAILABLE' })
  t.match(await refusalOf(setSecondFactor('1', FACTOR, null)), { reason: 'UNAVAILABLE' })
  t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' })
  t.equal(readFileSync(path, 'utf8'), 'accounts:\n  - { id: 1 }\n')
})

t.test('a second factor that was prepared before another password is not stored after it', async t => {
  const { source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const memory = { read: async () => null, set: async () => undefined }
  const passwords = { verifyPassword: async () => true }
  const clock = clockOf(() => 0)
  const log = { error: () => undefined }
  const accounts = createHashAccounts(source, { type: 'BUSINESS', passwords, memory, clock, log })
  const prepared = accounts.updates!.secondFactor((await accounts.find('a'))!, FACTOR)
  t.ok(await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 0, mustChange: false }))
  t.equal(await prepared.store(), false)
  t.equal((await source.find('a'))!.secondFactor, undefined)
  t.ok(await accounts.updates!.secondFactor((await accounts.find('a'))!, FACTOR).store())
})

t.test('ids are snowflakes: 19 digits that grow with time and do not repeat', async t => {
  const ids = Array.from({ length: 1000 }, (_, i) => generateAccountId(clockOf(() => Date.UTC(2025, 0, 1) + i)))
  for (const id of ids) t.match(id, /^[1-9]\d{18}$/)
  t.same(ids, [...ids].sort())
  t.equal(new Set(ids).size, 1000)
})

t.test('a password and a second factor are stored beside the comments, and stay out of the session', async t => {
  const { path, source } = open(t.testdir(), `# staff\naccounts:\n${entry('1', 'a', ', must_change_password: true')}`)
  t.match(await source.find('a'), { mustChangePassword: true, passwordChangedAt: undefined, secondFactor: undefined })
  t.equal(
    await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 1_700_000_000_000, mustChange: false }),
    true,
  )
  t.equal(await source.updates!.setSecondFactor('1', FACTOR, 'other'), false, 'it has none')
  t.equal(await source.updates!.setSecondFactor('1', FACTOR, null), true)
  const found = (await source.find('a'))!
  t.match(found, { passwordHash: OTHER_HASH, passwordChangedAt: 1_700_000_000_000, secondFactor: FACTOR })
  t.equal(found.mustChangePassword, undefined)
  t.same(Object.keys(found.extra).sort(), ['avatar', 'nickname', 'permissions', 'roles', 'status'])
  t.match(readFileSync(path, 'utf8'), /^# staff\n/)
  t.equal(await source.updates!.setSecondFactor('1', null, FACTOR), true)
  t.equal((await source.find('a'))!.secondFactor, undefined)
  t.equal(await source.updates!.setSecondFactor('2', FACTOR, null), false)
  t.equal(await source.updates!.setPassword('2', { hash: HASH, changedAt: 0, mustChange: true }), false)
  t.equal(await source.updates!.setPassword('1', { hash: HASH, changedAt: 0, mustChange: true }), true)
  t.match(await source.find('a'), { mustChangePassword: true, passwordChangedAt: 0 })
})
