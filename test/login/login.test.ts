import bcrypt from 'bcrypt'
import t from 'tap'
import type { HashAccount } from '../../src/account/hash-accounts.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { account, openLoginFixture, PASSWORD, reasonOf, refusalOf } from '../support/login-fixture.ts'

t.test('a login returns a token, and its record has user, address and device', async t => {
  const fixture = await openLoginFixture({
    accounts: [account('Admin', { extra: { nickname: 'Boss', team: { name: 'a' } } })],
  })
  t.teardown(fixture.close)
  const request = await fixture.credentials('ADMIN', PASSWORD, { device_id: 'WEB_PC' })
  const { token } = await fixture.login.login(request)
  t.match(await fixture.side.getTokenInfo({ headers: { authorization: token } }), {
    user_id: 'id-admin',
    type: 'BUSINESS',
    extra: {
      username: 'Admin',
      nickname: 'Boss',
      team: { name: 'a' },
      status: 'ACTIVE',
      device_type: 'curl',
      device_id: 'WEB_PC',
      login_ip: '192.0.2.1',
    },
  })
})

t.test('fields of an account cannot replace the address and device of a login', async t => {
  const extra = JSON.parse('{"login_ip":"127.0.0.1","device_type":"Safe","__proto__":{"roles":["SUPER_ADMIN"]}}')
  const fixture = await openLoginFixture({ accounts: [account('Admin', { extra })] })
  t.teardown(fixture.close)
  const { token } = await fixture.login.login(await fixture.credentials('admin', PASSWORD))
  const record = await fixture.side.getTokenInfo({ headers: { authorization: token } })
  t.match(record?.extra, { login_ip: '192.0.2.1', device_type: 'curl' })
  t.notOk(await fixture.side.getExtra({ headers: { authorization: token } }, 'roles'))
})

t.test('fields of an account cannot say what only the gateway says about a session', async t => {
  const version = 'aaaaaaaaaaaa.bbbbbbbbbbbb'
  const own = { provider: 'corp', provider_session: 's', wrong_codes: 9, account_version_next: version }
  const fixture = await openLoginFixture({
    accounts: [account('Admin', { extra: { ...own, account_version: version } })],
  })
  t.teardown(fixture.close)
  const { token } = await fixture.login.login(await fixture.credentials('admin', PASSWORD))
  const { extra } = (await fixture.side.getTokenInfo({ headers: { authorization: token } }))!
  for (const name of Object.keys(own)) t.notOk(name in extra, name)
  t.match(extra.account_version, /^[\w-]{12}\.[\w-]{12}$/)
  t.not(extra.account_version, version)
})

const WRONG: readonly (readonly [string, string, string, object?])[] = [
  ['an unknown name', 'nobody', PASSWORD],
  ['a wrong password', 'admin', 'wrong'],
  ['a password in the wrong case', 'admin', PASSWORD.toUpperCase()],
  ['a password that only begins right', 'admin', `${PASSWORD}!`],
  ['a password with a NUL after it', 'admin', `${PASSWORD}\0`],
  ['73 bytes', 'admin', 'x'.repeat(73)],
  ['undecryptable', 'admin', '', { password: 'zz' }],
  ['plain text', 'admin', '', { password: PASSWORD }],
  ['an empty ciphertext', 'admin', '', { password: '' }],
  ['an empty name', '', PASSWORD],
  ['a name with a NUL', 'admin\0', PASSWORD],
  ['a name with a line end', 'admin\n', PASSWORD],
  ['a name with a lone surrogate', 'admin\ud800', PASSWORD],
  ['a name of 8000 characters', 'a'.repeat(8000), PASSWORD],
  ['a name of the prototype', '__proto__', PASSWORD],
  ['a space after the name', 'admin ', PASSWORD],
  ['a service account', 'robot', PASSWORD],
]

/** With the hash of a password: not even then a login finds it. */
const ROBOT = account('Robot', { service: true })

t.test('every wrong name or password gets the same answer, after the same work', async t => {
  const accounts = [account('Admin'), ROBOT]
  const fixture = await openLoginFixture({ accounts, lockout: { failures: 1000, address_failures: 1000 } })
  t.teardown(fixture.close)
  for (const [what, username, password, rest] of WRONG) {
    const before = { ...fixture.worked }
    const refusal = await refusalOf(fixture.login.login(await fixture.credentials(username, password, rest)))
    t.match(refusal, { reason: 'WRONG_CREDENTIALS', params: {}, data: null, retryAfter: undefined }, what)
    t.same(
      { decrypted: fixture.worked.decrypted - before.decrypted, compared: fixture.worked.compared - before.compared },
      { decrypted: 1, compared: 1 },
      `${what}: one decryption, one comparison`,
    )
  }
})

t.test('names of cheap and of costly hashes and unknown ones fail after the same work', async t => {
  const accounts = [account('cheap'), account('costly', { passwordHash: bcrypt.hashSync(PASSWORD, 7) })]
  const source = {
    find: async (name: string) => accounts.find(({ username }) => username === name) ?? null,
    highestCost: () => 7,
    close: async () => {},
  }
  const fixture = await openLoginFixture({ source })
  t.teardown(fixture.close)
  for (const name of ['cheap', 'costly', 'unknown']) {
    for (const rest of [{}, { password: 'zz' }]) {
      fixture.worked.rounds = 0
      t.equal(await fixture.attempt(name, 'wrong', rest), 'WRONG_CREDENTIALS')
      t.equal(fixture.worked.rounds, 2 ** 7, `${name} ${JSON.stringify(rest)}`)
    }
  }
})

t.test('LOCKED and INACTIVE are reported only after the right password', async t => {
  const accounts = [account('locked', { status: 'LOCKED' }), account('inactive', { status: 'INACTIVE' })]
  const fixture = await openLoginFixture({ accounts })
  t.teardown(fixture.close)
  t.equal(await fixture.attempt('locked', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('locked', PASSWORD), 'ACCOUNT_LOCKED')
  t.equal(await fixture.attempt('inactive', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('inactive', PASSWORD), 'ACCOUNT_INACTIVE')
})

t.test('no answer, count, event or line of the log tells a service account from an unknown name', async t => {
  /** What logins with one name leave behind, up to the lock of the name and of the address. */
  async function traces(robots: HashAccount[]) {
    const lockout = { failures: 3, address_failures: 6 }
    const fixture = await openLoginFixture({ accounts: [account('Admin'), ...robots], lockout })
    t.teardown(fixture.close)
    const answers = []
    for (const name of ['robot', 'ROBOT', 'robot', 'robot', 'robot', 'other', 'other', 'other', 'robot']) {
      const { reason, params, data, retryAfter } = await refusalOf(
        fixture.login.login(await fixture.credentials(name, PASSWORD)),
      )
      answers.push({ reason, params, data, retryAfter })
    }
    const lines = fixture.lines.map(({ time: _, ...line }) => line)
    return { answers, worked: fixture.worked, events: fixture.events, lines }
  }
  const unknown = await traces([])
  t.same(
    [...new Set(unknown.answers.map(({ reason }) => reason))],
    ['WRONG_CREDENTIALS', 'DISABLED', 'TOO_MANY_ATTEMPTS'],
  )
  t.same(await traces([ROBOT]), unknown)
  t.same(await traces([{ ...ROBOT, status: 'LOCKED' }]), unknown)
})

t.test('the captcha is checked first, and a wrong one ends the login', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  const rows: [object, string][] = [
    [{ captcha_id: undefined }, 'CAPTCHA_BLANK'],
    [{ captcha_value: undefined }, 'CAPTCHA_BLANK'],
    [{ captcha_value: '  ' }, 'CAPTCHA_BLANK'],
    [{ captcha_id: '00000000-0000-4000-8000-000000000000' }, 'CAPTCHA_GONE'],
    [{ captcha_id: 'x:y' }, 'CAPTCHA_GONE'],
    [{ captcha_value: 'no' }, 'CAPTCHA_WRONG'],
  ]
  for (const [rest, reason] of rows) t.equal(await fixture.attempt('admin', PASSWORD, rest), reason)
  t.same(fixture.worked, { decrypted: 0, compared: 0, rounds: 0 })
  const { captcha_value: captcha_code, ...others } = await fixture.credentials('admin', PASSWORD)
  t.equal(await reasonOf(fixture.login.login({ ...others, captcha_code: captcha_code! })), 'granted')
})

t.test('a failing account source is unavailable, and does not count as a failed login', async t => {
  const source = {
    find: async () => Promise.reject(new Unavailable('accounts')),
    close: async () => {},
  }
  const fixture = await openLoginFixture({ source, lockout: { failures: 1 } })
  t.teardown(fixture.close)
  for (let i = 0; i < 3; i++) t.equal(await fixture.attempt('admin', PASSWORD), 'UNAVAILABLE')
})

t.test('a stored password that is not a bcrypt hash is reported by login id, and never matches', async t => {
  const fixture = await openLoginFixture({ accounts: [account('Admin', { passwordHash: PASSWORD })] })
  t.teardown(fixture.close)
  t.equal(await fixture.attempt('admin', PASSWORD), 'WRONG_CREDENTIALS')
  t.equal(fixture.worked.compared, 1)
  t.match(
    fixture.lines.find(({ level }) => level === 50),
    { login_id: 'id-admin', msg: /not stored as a bcrypt hash of cost 4 to 15/ },
  )
})

t.test('an account with more extra data than a record holds is a fault, not a refusal', async t => {
  const fixture = await openLoginFixture({ accounts: [account('Admin', { extra: { big: 'x'.repeat(9000) } })] })
  t.teardown(fixture.close)
  await t.rejects(fixture.attempt('admin', PASSWORD), { message: /extra data of account id-admin/ })
})

t.test('every outcome is one line, with a reason and without a secret', async t => {
  const fixture = await openLoginFixture()
  t.teardown(fixture.close)
  const good = await fixture.credentials('admin', PASSWORD)
  const { token } = await fixture.login.login(good)
  await fixture.attempt('admin', 'battery staple')
  await fixture.attempt('nobody', PASSWORD)
  await fixture.attempt('admin', PASSWORD, { captcha_value: 'no' })
  t.match(fixture.lines, [
    { granted: true, login_id: 'id-admin', address: '192.0.2.1' },
    { granted: false, reason: 'WRONG_CREDENTIALS', because: 'wrong password', login_id: 'id-admin' },
    { granted: false, reason: 'WRONG_CREDENTIALS', because: 'unknown user', username: 'nobody' },
    { granted: false, reason: 'CAPTCHA_WRONG' },
  ])
  t.equal(fixture.lines.length, 4)
  const written = JSON.stringify(fixture.lines)
  for (const secret of [token, PASSWORD, 'battery staple', good.password!, `"${good.captcha_value}"`, '$2b$']) {
    t.notOk(written.includes(secret))
  }
})
