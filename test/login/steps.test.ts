import t, { type Test } from 'tap'
import type { HashAccount } from '../../src/account/hash-accounts.ts'
import { Outage, Unavailable } from '../../src/base/refusal.ts'
import type { Step } from '../../src/login/sign-in/attempt.ts'
import type { Extra } from '../../src/session/record.ts'
import {
  account,
  changed,
  type LoginFixtureOptions,
  openLoginFixture,
  PASSWORD,
  reasonOf,
  refusalOf,
  sourceOf,
} from '../support/login-fixture.ts'

/* The steps of a login after the password, by the example of a required password change. */

const NEW = 'a new password of mine'
const USER = 'id-ann'

async function openSteps(t: Test, rest: Partial<HashAccount> = {}, options: Partial<LoginFixtureOptions> = {}) {
  const accounts = [account('Ann', { mustChangePassword: true, ...rest }), account('Ben', { mustChangePassword: true })]
  const fixture = await openLoginFixture({ accounts, ...options })
  t.teardown(() => fixture.close())
  const { login } = fixture
  const address = '192.0.2.9'
  const trace_id = 'b'.repeat(32)

  /** The ticket that a login with the right password gets. */
  async function ticket(username = 'ann', password = PASSWORD, credentials = {}): Promise<string> {
    const filled = await fixture.credentials(username, password, credentials)
    const { reason, data } = await refusalOf(login.login(filled))
    t.equal(reason, 'STEP_REQUIRED')
    return (data as { ticket: string }).ticket
  }

  const change = (ticket: string, password = NEW) =>
    login.changePassword!({ ticket, new_password: fixture.encrypt(password), address, trace_id })

  const alter = (update: (account: HashAccount) => HashAccount) => changed(accounts, USER, update)
  return { ...fixture, accounts, address, trace_id, ticket, change, alter }
}

const tokensOf = async ({ store }: { store: Awaited<ReturnType<typeof openSteps>>['store'] }, id = USER) =>
  (await store.sessions.tokens('BUSINESS', id)).map(({ token }) => token)

await t.test('a login that needs a new password gets a ticket, and no session', async t => {
  const fixture = await openSteps(t)
  const { reason, data } = await refusalOf(fixture.login.login(await fixture.credentials('ann', PASSWORD)))
  t.equal(reason, 'STEP_REQUIRED')
  t.match(data, { required: 'password' satisfies Step, expires_in: 300, ticket: /^[\w-]{32}$/ })
  t.same(Object.keys(data as object).sort(), ['expires_in', 'required', 'ticket'])
  t.same(await tokensOf(fixture), [])
})

await t.test(
  'the new password begins the session, with the device and the address of the login that began',
  async t => {
    const fixture = await openSteps(t)
    const ticket = await fixture.ticket('ann', PASSWORD, { device_id: 'WEB_PC', userAgent: 'Firefox/130' })
    const { token } = await fixture.change(ticket)
    const { extra } = (await fixture.store.sessions.find('BUSINESS', token))!
    t.match(extra, { username: 'Ann', device_id: 'WEB_PC', device_type: 'Firefox', login_ip: '192.0.2.1' })
    t.equal(await fixture.attempt('ann', PASSWORD), 'WRONG_CREDENTIALS', 'the old password is void')
    t.equal(await fixture.attempt('ann', NEW), 'granted', 'the new one needs no step')
  },
)

await t.test('a ticket is worth one success', async t => {
  const fixture = await openSteps(t)
  const ticket = await fixture.ticket()
  await fixture.change(ticket)
  t.equal(await reasonOf(fixture.change(ticket, 'another new password')), 'TICKET_INVALID')
  t.equal(await fixture.attempt('ann', NEW), 'granted')
})

await t.test('of simultaneous new passwords on one ticket one is stored, and one token issued', async t => {
  const fixture = await openSteps(t)
  const ticket = await fixture.ticket()
  const passwords = Array.from({ length: 8 }, (_, i) => `${NEW} ${i}`)
  const results = await Promise.all(passwords.map(password => reasonOf(fixture.change(ticket, password))))
  t.same(results.toSorted(), [...Array(7).fill('TICKET_INVALID'), 'granted'])
  t.equal((await tokensOf(fixture)).length, 1)
  t.equal(await fixture.attempt('ann', passwords[results.indexOf('granted')]!), 'granted')
})

await t.test('a faulty new password names all of its faults and does not use the ticket up', async t => {
  const fixture = await openSteps(t)
  const ticket = await fixture.ticket()
  const faultsOf = async (password: string) => (await refusalOf(fixture.change(ticket, password))).data
  t.same(await faultsOf('ANN'), { faults: ['min_length', 'username'] })
  t.same(await faultsOf(PASSWORD), { faults: ['same'] })
  const { login, address, trace_id } = fixture
  const undecryptable = await refusalOf(login.changePassword!({ ticket, new_password: 'zz', address, trace_id }))
  t.match(undecryptable, { reason: 'INVALID', params: { field: 'new_password' } })
  t.ok((await fixture.change(ticket)).token)
})

const CHANGES: Readonly<Record<string, (account: HashAccount) => HashAccount>> = {
  'the password': one => ({
    ...one,
    passwordHash: one.passwordHash.slice(0, -1) + (one.passwordHash.endsWith('.') ? '/' : '.'),
  }),
  'the roles': one => ({ ...one, extra: { ...one.extra, roles: ['SUPER_ADMIN'] } }),
  'the permissions': one => ({ ...one, extra: { ...one.extra, permissions: ['orders:*'] } }),
  'the second factor': one => ({ ...one, secondFactor: 'AAAAAAAAAAAA.sealed' }),
  'the status, to LOCKED': one => ({ ...one, status: 'LOCKED' }),
  'the status, to INACTIVE': one => ({ ...one, status: 'INACTIVE' }),
  'the owner of the name': one => ({ ...one, id: 'another' }),
  'the name': one => ({ ...one, username: 'Anne' }),
}

for (const [what, change] of Object.entries(CHANGES)) {
  await t.test(`a ticket is void when this of the account changes: ${what}`, async t => {
    const fixture = await openSteps(t)
    const ticket = await fixture.ticket()
    fixture.alter(change)
    const before = JSON.stringify(fixture.accounts)
    t.equal(await reasonOf(fixture.change(ticket)), 'TICKET_INVALID')
    t.equal(JSON.stringify(fixture.accounts), before, 'nothing is stored')
    t.same(await tokensOf(fixture), [])
  })
}

await t.test('a ticket that has met a change of its account stays void when the change is undone', async t => {
  const fixture = await openSteps(t)
  const [ticket, other] = [await fixture.ticket(), await fixture.ticket()]
  const [before] = fixture.accounts
  fixture.alter(one => ({ ...one, status: 'LOCKED' }))
  t.equal(await reasonOf(fixture.change(ticket)), 'TICKET_INVALID')
  fixture.alter(() => before!)
  t.equal(await reasonOf(fixture.change(ticket)), 'TICKET_INVALID')
  t.ok((await fixture.change(other)).token, 'the account is the one that signed in')
})

await t.test('a change of the account while the new password is hashed is not overwritten', async t => {
  const accounts = [account('Ann', { mustChangePassword: true })]
  const source = sourceOf(accounts)
  const asked = { times: 0 }
  const find: typeof source.find = async name => {
    asked.times += 1
    // The login, the step, and then once more before the password is stored.
    if (asked.times === 3) changed(accounts, USER, one => ({ ...one, status: 'LOCKED' }))
    return source.find(name)
  }
  const fixture = await openSteps(t, {}, { source: { ...source, find } })
  const ticket = await fixture.ticket()
  const hash = accounts[0]!.passwordHash
  t.equal(await reasonOf(fixture.change(ticket)), 'TICKET_INVALID')
  t.equal(accounts[0]!.passwordHash, hash)
})

await t.test('a ticket is valid for 300 seconds', async t => {
  const fixture = await openSteps(t)
  const tickets = [await fixture.ticket(), await fixture.ticket('ben')]
  fixture.time.now += 299_000
  t.ok((await fixture.change(tickets[0]!)).token)
  fixture.time.now += 1000
  t.equal(await reasonOf(fixture.change(tickets[1]!)), 'TICKET_INVALID')
})

await t.test('a ticket changes the password of its own account only', async t => {
  const fixture = await openSteps(t)
  await fixture.ticket('ben')
  await fixture.change(await fixture.ticket('ann'))
  t.equal(await fixture.attempt('ben', NEW), 'WRONG_CREDENTIALS')
  t.equal((await tokensOf(fixture, 'id-ben')).length, 0)
})

await t.test('a text that was never a ticket is refused like a used one', async t => {
  const fixture = await openSteps(t)
  const { token } = await fixture.change(await fixture.ticket())
  for (const text of ['', 'x', '\u0000', '中'.repeat(128), '../ticket', token]) {
    t.equal(await reasonOf(fixture.change(text)), 'TICKET_INVALID')
  }
})

await t.test('all older sessions of the user end with the new password, and no other user’s', async t => {
  const fixture = await openSteps(t)
  const begin = (id: string, extra: Extra = {}) => fixture.side.login(undefined, id, extra, {})
  const older = [await begin(USER), await begin(USER, { account_version: 'AAAAAAAAAAAA.BBBBBBBBBBBB' })]
  const other = await begin('id-ben')
  const { token } = await fixture.change(await fixture.ticket())
  t.same(await tokensOf(fixture), [token])
  for (const ended of older) t.equal(await fixture.store.sessions.find('BUSINESS', ended), null)
  t.same(await tokensOf(fixture, 'id-ben'), [other])
})

await t.test('a disabled user gets no ticket, and a ticket is worth nothing while its user is disabled', async t => {
  const fixture = await openSteps(t)
  const ticket = await fixture.ticket()
  await fixture.side.disable(USER, 60, {})
  t.equal(await fixture.attempt('ann', PASSWORD), 'DISABLED')
  t.equal(await reasonOf(fixture.change(ticket)), 'DISABLED')
  await fixture.side.untieDisable(USER, {})
  t.ok((await fixture.change(ticket)).token)
})

await t.test('an inactive or locked account gets no ticket', async t => {
  for (const [status, reason] of [
    ['LOCKED', 'ACCOUNT_LOCKED'],
    ['INACTIVE', 'ACCOUNT_INACTIVE'],
  ] as const) {
    const fixture = await openSteps(t, { status })
    t.equal(await fixture.attempt('ann', PASSWORD), reason)
  }
})

await t.test('the requests of steps are limited for each address, apart from those of logins', async t => {
  const fixture = await openSteps(t, {}, { rateLimit: { captcha: 100, login: 2, window: 60_000 } })
  const ticket = await fixture.ticket()
  for (let i = 0; i < 2; i++) t.equal(await reasonOf(fixture.change('guess')), 'TICKET_INVALID')
  t.equal(await reasonOf(fixture.change(ticket)), 'TOO_MANY_ATTEMPTS')
  fixture.time.now += 60_000
  t.ok((await fixture.change(ticket)).token)
})

await t.test('an address with too many failures waits with its steps, too', async t => {
  const fixture = await openSteps(t, {}, { lockout: { address_failures: 2 } })
  const ticket = await fixture.ticket()
  const { address } = fixture
  for (let i = 0; i < 2; i++) await fixture.attempt('unknown', 'wrong', { address })
  t.equal(await reasonOf(fixture.change(ticket)), 'TOO_MANY_ATTEMPTS')
})

await t.test('a store that fails makes a step unavailable, which is not the same as an invalid ticket', async t => {
  const fixture = await openSteps(t)
  const ticket = await fixture.ticket()
  await fixture.store.close()
  t.equal(await reasonOf(fixture.change(ticket)), 'UNAVAILABLE')
})

await t.test('a source that cannot store the password now leaves the ticket valid', async t => {
  const accounts = [account('Ann', { mustChangePassword: true })]
  const source = sourceOf(accounts)
  const isFailing = { now: true }
  const setPassword: NonNullable<typeof source.updates>['setPassword'] = async (id, update) => {
    if (isFailing.now) throw new Unavailable('the source')
    return source.updates!.setPassword(id, update)
  }
  const fixture = await openSteps(t, {}, { source: { ...source, updates: { ...source.updates!, setPassword } } })
  const ticket = await fixture.ticket()
  const older = await fixture.side.login(undefined, USER, {}, {})
  t.equal(await reasonOf(fixture.change(ticket)), 'UNAVAILABLE')
  t.same(await tokensOf(fixture), [older], 'no session ended')
  isFailing.now = false
  t.ok((await fixture.change(ticket)).token)
})

await t.test('an account that changes right after its password was stored gets no session', async t => {
  const accounts = [account('Ann', { mustChangePassword: true })]
  const source = sourceOf(accounts)
  const setPassword: NonNullable<typeof source.updates>['setPassword'] = async (id, update) => {
    const isStored = await source.updates!.setPassword(id, update)
    return changed(accounts, id, one => ({ ...one, extra: { ...one.extra, roles: [] } })) && isStored
  }
  const fixture = await openSteps(t, {}, { source: { ...source, updates: { ...source.updates!, setPassword } } })
  t.equal(await reasonOf(fixture.change(await fixture.ticket())), 'TICKET_INVALID')
  t.same(await tokensOf(fixture), [])
})

await t.test('an account that is removed while its password is stored gets no session', async t => {
  const accounts = [account('Ann', { mustChangePassword: true })]
  const source = sourceOf(accounts)
  const updates = { ...source.updates!, setPassword: async () => false }
  const fixture = await openSteps(t, {}, { source: { ...source, updates } })
  t.equal(await reasonOf(fixture.change(await fixture.ticket())), 'TICKET_INVALID')
  t.same(await tokensOf(fixture), [])
})

await t.test(
  'while passwords cannot be stored, a new one is neither demanded nor accepted, and the ticket stays',
  async t => {
    const source = sourceOf([account('Ann', { mustChangePassword: true }), account('Ben')])
    const state: { fault: Outage | null } = { fault: null }
    const updates = { ...source.updates!, fault: () => state.fault }
    const fixture = await openSteps(t, {}, { source: { ...source, updates } })
    const ticket = await fixture.ticket()
    state.fault = new Outage('the accounts file cannot be written')
    t.equal(await fixture.attempt('ann', PASSWORD), 'ACCOUNTS_UNWRITABLE')
    t.equal(await fixture.attempt('ben', PASSWORD), 'granted', 'others sign in')
    t.equal(await reasonOf(fixture.change(ticket)), 'ACCOUNTS_UNWRITABLE')
    state.fault = null
    t.ok((await fixture.change(ticket)).token)
  },
)

await t.test('a source that cannot store passwords demands none', async t => {
  const { updates: _, ...source } = sourceOf([account('Ann', { mustChangePassword: true, passwordChangedAt: 0 })])
  const fixture = await openSteps(t, {}, { source, maxPasswordAge: 1000 })
  t.equal(await fixture.attempt('ann', PASSWORD), 'granted')
  t.equal(fixture.login.changePassword, undefined)
})

await t.test('a password that is older than passwords.max_age is to be changed', async t => {
  const DAY = 86_400_000
  const started = Date.UTC(2025, 0, 31, 12)
  const rest = { passwordChangedAt: started - 90 * DAY + 1000 }
  const accounts = [account('Ann', rest), account('Ben')]
  const fixture = await openSteps(t, {}, { accounts, maxPasswordAge: 90 * DAY })
  t.equal(await fixture.attempt('ann', PASSWORD), 'granted')
  fixture.time.now += 1000
  await fixture.change(await fixture.ticket())
  fixture.time.now += 89 * DAY
  t.equal(await fixture.attempt('ann', NEW), 'granted', 'its age begins anew')
  t.equal(await fixture.attempt('ben', PASSWORD), 'granted', 'an age that the source does not know is not judged')
})

await t.test('the log names the steps of a login, and neither ticket nor password', async t => {
  const fixture = await openSteps(t)
  const ticket = await fixture.ticket()
  await reasonOf(fixture.change(ticket, 'short'))
  await fixture.change(ticket)
  await reasonOf(fixture.change(ticket))
  const lines = fixture.lines.filter(({ msg }) => msg === 'login')
  const address = '192.0.2.9'
  t.match(lines, [
    { granted: false, reason: 'STEP_REQUIRED', required: 'password', login_id: USER, address: '192.0.2.1' },
    { granted: false, reason: 'PASSWORD_NOT_ALLOWED', step: 'password', login_id: USER, address },
    { granted: true, step: 'password', login_id: USER, address },
    { granted: false, reason: 'TICKET_INVALID', step: 'password', because: 'unknown ticket', address },
  ])
  const logged = JSON.stringify([fixture.lines, fixture.events])
  for (const secret of [ticket, NEW, PASSWORD, 'short']) t.notOk(logged.includes(secret))
})

await t.test('the store holds no ticket that a client could use', async t => {
  const fixture = await openSteps(t)
  const ticket = await fixture.ticket()
  t.equal(await fixture.store.tickets.read('BUSINESS', ticket), null)
})

await t.test(
  'a password change is published; a demanded step and a faulty new password are not failed logins',
  async t => {
    const fixture = await openSteps(t)
    const ticket = await fixture.ticket()
    await reasonOf(fixture.change(ticket, 'short'))
    await fixture.change(ticket)
    await reasonOf(fixture.change(ticket))
    const origin = { address: '192.0.2.9', trace_id: fixture.trace_id, device_type: 'curl' }
    t.match(fixture.events, [
      { event: 'password-changed', login_id: USER, by: USER, username: 'Ann', type: 'BUSINESS', ...origin },
      { event: 'login-failed', login_id: null, reason: 'TICKET_INVALID', address: '192.0.2.9' },
    ])
    t.equal(fixture.events.length, 2)
  },
)
