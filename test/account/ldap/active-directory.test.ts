import t, { type Test } from 'tap'
import { guidBytes, guidText, sidBytes, sidText } from '../../../src/account/ldap/identifiers.ts'
import type { SourceLogin } from '../../../src/account/source.ts'
import { Unavailable } from '../../../src/base/refusal.ts'
import { type LdapEntry, type LdapRequest, type LdapResponse, startLdapServer } from '../../support/ldap-server.ts'
import { reasonOf } from '../source-contract.ts'
import { openSource } from './ldap-fixture.ts'

/* What Active Directory answers, and no other directory. */

const BASE = 'OU=Staff,DC=example,DC=com'
const SERVICE = { dn: 'CN=dualgate,OU=Services,DC=example,DC=com', password: 'service' }
const JANE = `CN=Doe\\, Jane (EXT),${BASE}`
const GUID = 'd2a9f3c1-5b7e-4f08-9c11-00a1b2c3d4e5'
const SID = 'S-1-5-21-1004336348-1177238915-682003330-1104'
const DOMAIN_USERS = 'CN=Domain Users,CN=Users,DC=example,DC=com'
const OPS = 'CN=Ops,OU=Groups,DC=example,DC=com'
const ALL = 'CN=All,OU=Groups,DC=example,DC=com'

const jane = (rest: LdapEntry['attributes'] = {}): LdapEntry => ({
  dn: JANE,
  attributes: {
    objectGUID: [guidBytes(GUID)!],
    objectSid: [sidBytes(SID)!],
    primaryGroupID: ['513'],
    sAMAccountName: ['JaneD'],
    displayName: ['Jane Doe'],
    memberOf: [OPS],
    userAccountControl: ['512'],
    pwdLastSet: ['133500000000000000'],
    accountExpires: ['9223372036854775807'],
    lockoutTime: ['133500000000000000'],
    ...rest,
  },
})

/** 100 ns since 1601, as Active Directory counts. */
const fileTime = (ms: number): string => String((BigInt(ms) + 11_644_473_600_000n) * 10_000n)

async function open(t: Test, entry: () => LdapEntry | null = () => jane(), rest: Record<string, unknown> = {}) {
  const server = await startLdapServer(t)
  const bound: { answer: LdapResponse } = { answer: { code: 0 } }
  server.respond = request => {
    if (request.kind === 'bind') return request.dn === SERVICE.dn ? { code: 0 } : bound.answer
    return { code: 0, entries: found(request, entry()) }
  }
  const source = await openSource(t, {
    kind: 'ldap',
    preset: 'active-directory',
    url: server.url,
    ca: server.ca,
    bind: SERVICE,
    base: BASE,
    timeout: '60s',
    roles: { [DOMAIN_USERS]: 'user', [OPS]: 'operator', [ALL]: 'everyone' },
    ...rest,
  })
  return { server, source, bound, binds: () => server.requests.filter(({ kind }) => kind === 'bind').slice(1) }
}

function found(request: LdapRequest & { kind: 'search' }, entry: LdapEntry | null): LdapEntry[] {
  const has = (value: string | Buffer): boolean => request.filter.includes(value)
  if (request.base === OPS) return [{ dn: OPS, attributes: { memberOf: [ALL] } }]
  if (request.base === DOMAIN_USERS || request.base === ALL) return [{ dn: request.base, attributes: {} }]
  if (has(sidBytes(SID.replace(/\d+$/, '513'))!)) return [{ dn: DOMAIN_USERS, attributes: {} }]
  return entry !== null && (has('janed') || has(guidBytes(GUID)!)) ? [entry] : []
}

const refused = (data: string): LdapResponse => ({
  code: 49,
  diagnostic: `80090308: LdapErr: DSID-0C09042A, comment: AcceptSecurityContext error, data ${data}, v3839\0`,
})

t.test('the login id is the GUID in its usual form, and an account is found by it', async t => {
  const { source, server } = await open(t)
  t.match(await source.find('janed'), {
    id: GUID,
    username: 'JaneD',
    status: 'ACTIVE',
    extra: { nickname: 'Jane Doe' },
    passwordChangedAt: Date.UTC(2024, 0, 17, 21, 20),
  })
  t.same(await source.findRights(GUID), { roles: ['user', 'operator'], permissions: [] })
  const { length } = server.requests
  for (const id of [GUID.toUpperCase(), `{${GUID}}`, 'jane', '1']) t.equal(await source.findRights(id), null, id)
  t.equal(server.requests.length, length, 'what is no GUID is not asked for')
})

t.test('identifiers are read and written as bytes, and nothing else is', async t => {
  t.equal(guidBytes(GUID)!.toString('hex'), 'c1f3a9d27e5b084f9c1100a1b2c3d4e5')
  t.equal(guidText(guidBytes(GUID)!), GUID)
  t.equal(guidText(Buffer.alloc(15)), null)
  t.equal(sidBytes('S-1-5-32-544')!.toString('hex'), '01020000000000052000000020020000')
  for (const sid of [SID, 'S-1-5-32-544', 'S-1-1-0', 'S-1-99999999999999-4294967295'])
    t.equal(sidText(sidBytes(sid)!), sid)
  for (const text of ['', 'S-1-5', 'S-2-5-1', 'S-1-5-4294967296', `S-1-5${'-1'.repeat(16)}`, 'S-1-5-x'])
    t.equal(sidBytes(text), null, text)
  for (const hex of ['', '0100000000000005', '010200000000000520000000', '02010000000000050000000a'])
    t.equal(sidText(Buffer.from(hex, 'hex')), null, hex)
})

t.test('the primary group counts, which names no member, and its groups do', async t => {
  for (const [nested, roles] of [
    ['off', ['user', 'operator']],
    [1, ['user', 'operator', 'everyone']],
  ] as const) {
    const { source, server } = await open(t, undefined, { groups: { kind: 'member-of', nested } })
    t.match(await source.find('janed'), { extra: { roles }, groups: [OPS, DOMAIN_USERS] })
    const search = server.requests.find(request => request.kind === 'search' && request.filter.includes('objectSid'))
    t.match(search, { base: 'DC=example,DC=com' }, 'a group may be anywhere in the domain')
  }
})

t.test('the entry says whether an account is disabled or has ended, and a lockout is no status', async t => {
  let attributes: LdapEntry['attributes'] = {}
  const { source } = await open(t, () => jane(attributes))
  const now = Date.now()
  for (const [rest, status] of [
    [{}, 'ACTIVE'],
    [{ userAccountControl: ['514'] }, 'INACTIVE'],
    [{ userAccountControl: ['66048'] }, 'ACTIVE'],
    [{ userAccountControl: ['66050'] }, 'INACTIVE'],
    [{ accountExpires: ['0'] }, 'ACTIVE'],
    [{ accountExpires: [fileTime(now - 1000)] }, 'INACTIVE'],
    [{ accountExpires: [fileTime(now + 3_600_000)] }, 'ACTIVE'],
    [{ lockoutTime: [fileTime(now)] }, 'ACTIVE'],
    [{ pwdLastSet: ['0'] }, 'ACTIVE'],
  ] as const) {
    attributes = rest as unknown as LdapEntry['attributes']
    t.equal((await source.find('janed'))?.status, status, JSON.stringify(rest))
  }
  attributes = { accountExpires: ['soon'] }
  t.equal(await reasonOf(source.find('janed')), 'UNAVAILABLE', 'a time that cannot be read is not "never"')
})

t.test('an entry whose name is longer than any that can be typed is a fault', async t => {
  let sAMAccountName = ['J'.repeat(128)]
  const { source } = await open(t, () => jane({ sAMAccountName }))
  t.match(await source.find('janed'), { username: 'J'.repeat(128) })
  sAMAccountName = ['J'.repeat(129)]
  t.equal(await reasonOf(source.find('janed')), 'UNAVAILABLE')
})

t.test('another pwdLastSet is another version of the account', async t => {
  let pwdLastSet = '133500000000000000'
  const { source } = await open(t, () => jane({ pwdLastSet: [pwdLastSet] }))
  const before = (await source.find('janed'))!.version!
  t.equal((await source.find('janed'))!.version, before)
  pwdLastSet = '0'
  const after = (await source.find('janed'))!.version!
  t.not(after.split('.')[0], before.split('.')[0])
  t.equal(after.split('.')[1], before.split('.')[1])
})

t.test('each reason of a refused bind is understood', async t => {
  const { source, bound, binds } = await open(t)
  const account = (await source.find('janed'))!
  const verify = async (answer: LdapResponse) => {
    bound.answer = answer
    const login: SourceLogin = { spent: 0 }
    delete account.passwordExpired
    const isRight = await source.verify(account, 'a password', login)
    return [isRight, account.passwordExpired === true, login.obstacle]
  }
  for (const [data, expected] of [
    ['52e', [false, false, undefined]],
    ['525', [false, false, undefined]],
    ['532', [true, true, undefined]],
    ['773', [true, true, undefined]],
    ['533', [false, false, 'disabled']],
    ['701', [false, false, 'expired']],
    ['775', [false, false, 'locked']],
    ['530', [false, false, 'restricted']],
    ['531', [false, false, 'restricted']],
    ['7730', [false, false, undefined]],
    ['0', [false, false, undefined]],
  ] as const)
    t.same(await verify(refused(data)), expected, data)
  for (const diagnostic of ['data 773', 'user data 773, x', 'error, data 532'])
    t.same(await verify({ code: 49, diagnostic }), [false, false, undefined], diagnostic)
  t.same(await verify({ code: 0 }), [true, false, undefined])
  t.match(new Set(binds().map(request => request.kind === 'bind' && request.dn)), new Set([JANE]))
})

t.test('what FreeIPA and 389 Directory Server say of accounts in place of result 49 is no fault of theirs', async t => {
  const { source, bound } = await open(t)
  const account = await source.find('janed')
  for (const [code, diagnostic, obstacle] of [
    [53, 'Account inactivated. Contact system administrator.', 'disabled'],
    [53, 'Account (Kerberos principal) is expired', 'expired'],
    [53, 'Too many failed logins.\n', 'locked'],
    [53, 'Entry permanently locked.\n', 'locked'],
    [19, 'Exceed password retry limit. Please try later.', 'locked'],
    [19, 'Account inactivity limit exceeded. Contact system administrator to reset.', 'expired'],
    [19, 'TPR checking. Contact system administrator', 'expired'],
  ] as const) {
    bound.answer = { code, diagnostic }
    const login: SourceLogin = { spent: 0 }
    t.equal(await source.verify(account, 'a password', login), false, diagnostic)
    t.equal(login.obstacle, obstacle, diagnostic)
  }
  for (const [code, diagnostic] of [
    [53, 'unauthenticated bind (DN with no password) disallowed'],
    [53, 'the account inactivated'],
    [19, 'Too many failed logins.'],
    [1, 'Account inactivated.'],
  ] as const) {
    bound.answer = { code, diagnostic }
    t.equal(await reasonOf(source.verify(account, 'a password')), 'UNAVAILABLE', diagnostic)
  }
})

t.test('nothing but result 49 says that a password is wrong', async t => {
  for (const isKnown of [true, false]) {
    const { source, bound, binds } = await open(t)
    const account = isKnown ? await source.find('janed') : null
    if (!isKnown) await source.find('john')
    const answers: LdapResponse[] = [1, 2, 3, 7, 8, 10, 11, 13, 14, 16, 50, 51, 52, 53, 80, 4096].map(code => ({
      code,
    }))
    for (const answer of [...answers, 'close'] as const) {
      bound.answer = answer
      const { length } = binds()
      t.equal(await reasonOf(source.verify(account, 'a password')), 'UNAVAILABLE', JSON.stringify(answer))
      t.equal(binds().length, length + 1, 'one bind')
    }
    const malformed: [statement: string, operation: string][] = [
      ['a response without a result', '6100'],
      ['one of a search', '65070a010004000400'],
      ['one of an extended operation', '78070a010004000400'],
    ]
    for (const [statement, operation] of malformed) {
      const bytes = (id: number) =>
        Buffer.from(`30${(3 + operation.length / 2).toString(16).padStart(2, '0')}02010${id}${operation}`, 'hex')
      bound.answer = { bytes }
      t.equal(await reasonOf(source.verify(account, 'a password')), 'UNAVAILABLE', statement)
    }
    bound.answer = 'silent'
    const login = { spent: 59_500 }
    const fault = await source.verify(account, 'a password', login).catch(fault => fault)
    t.ok(fault instanceof Unavailable)
    t.match((fault as Unavailable).cause, { cause: { cause: { message: /no answer within/ } } })
  }
})

t.test('an account that the directory disabled after it was found is refused all the same', async t => {
  const { source, bound } = await open(t, () => jane({ userAccountControl: ['514'] }))
  const account = await source.find('janed')
  const login: SourceLogin = { spent: 0 }
  bound.answer = { code: 49 }
  t.equal(await source.verify(account, 'a password', login), false)
  t.equal(login.obstacle, 'disabled', 'the entry says why, where the bind does not')
})

t.test('a server that is busy sends a search to the next one', async t => {
  const { server, source: _ } = await open(t)
  for (const code of [51, 52]) {
    const busy = await startLdapServer(t, server)
    busy.respond = request => ({ code: request.kind === 'bind' ? 0 : code })
    const both = { kind: 'ldap', preset: 'active-directory', url: [busy.url, server.url], ca: server.ca }
    const source = await openSource(t, { ...both, bind: SERVICE, base: BASE, timeout: '60s' })
    t.equal((await source.find('janed'))?.id, GUID, `${code}`)
    t.equal(busy.requests.length, 2)
  }
})

t.test('no fault has the name that was typed, which may be a password', async t => {
  const { source, server } = await open(t)
  server.respond = request =>
    request.kind === 'bind' ? { code: 0 } : { code: 1, diagnostic: 'cannot search for hunter2 hunter2' }
  const fault = await source.find('hunter2').catch((fault: unknown) => fault)
  for (let cause: unknown = fault; cause instanceof Error; cause = cause.cause) t.notMatch(cause.message, 'hunter2')
})
