import t, { type Test } from 'tap'
import type { HashAccount } from '../../src/account/hash-accounts.ts'
import { Refusal } from '../../src/base/refusal.ts'
import type { Step } from '../../src/login/sign-in/attempt.ts'
import { createTicketCodes } from '../../src/login/sign-in/steps/ticket-codes.ts'
import type { OpenTicket } from '../../src/login/sign-in/steps/tickets.ts'
import { codeAt, wrongCodes } from '../second-factor/factor-fixture.ts'
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

/* Second factors in the login. What codes are accepted is for test/second-factor. */

const NEW = 'a new password of mine'
const USER = 'id-ann'
const STEP = 30_000

interface Demand {
  ticket: string
  required: Step
  recovery_codes?: string[]
}

async function openSteps(t: Test, rest: Partial<HashAccount> = {}, options: Partial<LoginFixtureOptions> = {}) {
  const accounts = options.accounts ?? [account('Ann', rest), account('Ben')]
  const fixture = await openLoginFixture({ secondFactorFor: 'all', ...options, accounts })
  t.teardown(() => fixture.close())
  const { login, time } = fixture
  const origin = { address: '192.0.2.9', trace_id: 'b'.repeat(32) }
  const { setUp, enter } = login.secondFactor!

  async function demandOf(work: Promise<unknown>): Promise<Demand> {
    const { reason, data } = await refusalOf(work)
    t.equal(reason, 'STEP_REQUIRED')
    return data as Demand
  }

  return {
    ...fixture,
    accounts,
    demandOf,
    /** What a login with the right password demands. */
    demanded: async (username = 'ann', password = PASSWORD, credentials = {}): Promise<Demand> =>
      demandOf(login.login(await fixture.credentials(username, password, credentials))),
    setUp: (ticket: string) => setUp({ ticket, ...origin }),
    enter: (ticket: string, code: string) => enter({ ticket, code, ...origin }),
    change: (ticket: string, password = NEW) =>
      login.changePassword!({ ticket, new_password: fixture.encrypt(password), ...origin }),
    code: (secret: string) => codeAt(secret, time.now),
    /** A wrong code; another one for each number. */
    wrong: (secret: string, i = 0) => wrongCodes(secret, time.now, i + 1)[i]!,
    alter: (change: (account: HashAccount) => HashAccount) => changed(accounts, USER, change),
    tokens: async (id = USER) => (await fixture.store.sessions.tokens('BUSINESS', id)).map(({ token }) => token),
  }
}

/** A user who has set up a second factor, half a minute ago. */
async function withFactor(t: Test, rest: Partial<HashAccount> = {}, options: Partial<LoginFixtureOptions> = {}) {
  const fixture = await openSteps(t, {}, options)
  const { ticket } = await fixture.demanded()
  const { secret } = await fixture.setUp(ticket)
  const { recovery_codes } = await fixture.enter(ticket, fixture.code(secret))
  await fixture.side.kickout(USER, {})
  fixture.alter(one => ({ ...one, ...rest }))
  fixture.time.now += 2 * STEP
  fixture.events.length = 0
  fixture.lines.length = 0
  return { ...fixture, secret, recoveryCodes: recovery_codes!, now: () => fixture.code(secret) }
}

await t.test('who must have a second factor and has none sets it up in the login', async t => {
  const fixture = await openSteps(t)
  const { ticket, required } = await fixture.demanded()
  t.equal(required, 'second-factor-setup')
  const shown = await fixture.setUp(ticket)
  t.match(shown, { secret: /^[A-Z2-7]{32}$/, uri: /^otpauth:\/\/totp\//, qr: /^data:image\/png;base64,/ })
  t.same(Object.keys(shown).sort(), ['qr', 'secret', 'uri'])
  t.equal(fixture.accounts[0]!.secondFactor, undefined, 'nothing changes before the proof')
  t.same(await fixture.tokens(), [])
  const done = await fixture.enter(ticket, fixture.code(shown.secret))
  t.equal(done.recovery_codes?.length, 10)
  t.same(await fixture.tokens(), [done.token])
  t.match(fixture.accounts[0]!.secondFactor, /^[\w-]{12}\.[\w-]+$/)
  t.equal(await reasonOf(fixture.enter(ticket, fixture.code(shown.secret))), 'TICKET_INVALID')
})

await t.test('of the second factors that a set-up has shown the last one counts', async t => {
  const fixture = await openSteps(t)
  const { ticket } = await fixture.demanded()
  const [first, last] = [await fixture.setUp(ticket), await fixture.setUp(ticket)]
  t.equal(await reasonOf(fixture.enter(ticket, fixture.code(first.secret))), 'WRONG_CODE')
  t.ok((await fixture.enter(ticket, fixture.code(last.secret))).token)
})

await t.test('a set-up without a second factor shown before, or without a proof, stores nothing', async t => {
  const fixture = await openSteps(t)
  const { ticket } = await fixture.demanded()
  t.equal(await reasonOf(fixture.enter(ticket, '123456')), 'SETUP_GONE')
  const { secret } = await fixture.setUp(ticket)
  t.equal(await reasonOf(fixture.enter(ticket, fixture.wrong(secret))), 'WRONG_CODE')
  t.equal(fixture.accounts[0]!.secondFactor, undefined)
})

await t.test('a used ticket shows no further second factor, and a note beside it revives nothing', async t => {
  const fixture = await openSteps(t)
  const { ticket } = await fixture.demanded()
  const { secret } = await fixture.setUp(ticket)
  await fixture.enter(ticket, fixture.code(secret))
  t.equal(await reasonOf(fixture.setUp(ticket)), 'TICKET_INVALID')
})

await t.test('a code, or a recovery code, begins the session of who has a second factor', async t => {
  const fixture = await withFactor(t)
  for (const [i, code] of [fixture.now(), fixture.recoveryCodes[0]!].entries()) {
    const { ticket, required } = await fixture.demanded('ann', PASSWORD, { device_id: 'WEB_PC' })
    t.equal(required, 'second-factor')
    const done = await fixture.enter(ticket, code)
    t.same(done, { token: done.token, expires_in: 3600, ...(i > 0 && { wrong_codes: 1 }) })
    const found = await fixture.store.sessions.find('BUSINESS', done.token)
    t.match(found?.extra, { device_id: 'WEB_PC', login_ip: '192.0.2.1' })
    t.equal(await reasonOf(fixture.enter(ticket, code)), 'TICKET_INVALID')
    const again = await fixture.demanded()
    t.equal(await reasonOf(fixture.enter(again.ticket, code)), 'WRONG_CODE', 'it is worth once, on any ticket')
  }
})

await t.test(
  'a login says how many wrong codes were entered since the one before, and so does its session',
  async t => {
    const fixture = await withFactor(t, { mustChangePassword: true })
    const { ticket } = await fixture.demanded()
    for (let i = 0; i < 3; i++)
      t.equal(await reasonOf(fixture.enter(ticket, fixture.wrong(fixture.secret, i))), 'WRONG_CODE')
    const next = await fixture.demandOf(fixture.enter(ticket, fixture.now()))
    const done = await fixture.change(next.ticket)
    t.equal(done.wrong_codes, 3)
    t.equal((await fixture.store.sessions.find('BUSINESS', done.token))?.extra.wrong_codes, 3)
  },
)

await t.test('the wrong code that locks the step is an event with the time of the lock', async t => {
  const fixture = await withFactor(t)
  const { ticket } = await fixture.demanded()
  for (let i = 0; i < 5; i++) await reasonOf(fixture.enter(ticket, fixture.wrong(fixture.secret, i)))
  const locks = fixture.events.filter(({ event }) => event === 'second-factor-locked')
  t.match(locks, [{ login_id: USER, username: 'Ann', seconds: 300, address: '192.0.2.9' }])
  t.equal(locks.length, 1)
})

await t.test('that a second factor exists is shown after the right password only', async t => {
  const fixture = await withFactor(t)
  const answers = await Promise.all(
    ['ann', 'ben', 'unknown'].map(async name => {
      const { reason, data } = await refusalOf(fixture.login.login(await fixture.credentials(name, 'wrong')))
      return { reason, data }
    }),
  )
  for (const answer of answers) t.same(answer, { reason: 'WRONG_CREDENTIALS', data: null })
})

await t.test('the second factor comes first, then the new password, each with a ticket of its own', async t => {
  const fixture = await withFactor(t, { mustChangePassword: true })
  const first = await fixture.demanded()
  t.equal(first.required, 'second-factor')
  t.equal(await reasonOf(fixture.change(first.ticket)), 'TICKET_INVALID', 'the order cannot be changed')
  const second = await fixture.demandOf(fixture.enter(first.ticket, fixture.now()))
  t.equal(second.required, 'password')
  t.not(second.ticket, first.ticket)
  t.same(await fixture.tokens(), [])
  for (const code of [fixture.now(), fixture.recoveryCodes[0]!]) {
    t.equal(await reasonOf(fixture.enter(second.ticket, code)), 'TICKET_INVALID')
  }
  const { token } = await fixture.change(second.ticket)
  t.same(await fixture.tokens(), [token])
})

await t.test('the log of a login says that a recovery code proved the second factor, up to its last step', async t => {
  const fixture = await withFactor(t, { mustChangePassword: true })
  const { ticket } = await fixture.demandOf(fixture.enter((await fixture.demanded()).ticket, fixture.recoveryCodes[0]!))
  await fixture.change(ticket)
  await fixture.enter((await fixture.demanded('ann', NEW)).ticket, fixture.now())
  const lines = fixture.lines.filter(({ msg }) => msg === 'login')
  t.match(lines, [
    { granted: false, required: 'second-factor', proof: undefined },
    { granted: false, required: 'password', proof: 'recovery-code' },
    { granted: true, step: 'password', proof: 'recovery-code' },
    { granted: false, required: 'second-factor', proof: undefined },
    { granted: true, step: 'second-factor', proof: undefined },
  ])
})

await t.test('after a set-up whose login needs a new password, too, the recovery codes come at once', async t => {
  const fixture = await openSteps(t, { mustChangePassword: true })
  const { ticket } = await fixture.demanded()
  const { secret } = await fixture.setUp(ticket)
  const { required, recovery_codes, ...next } = await fixture.demandOf(fixture.enter(ticket, fixture.code(secret)))
  t.equal(required, 'password')
  t.equal(recovery_codes?.length, 10)
  t.same(Object.keys(await fixture.change(next.ticket)), ['token', 'expires_in'])
  fixture.time.now += STEP
  const again = await fixture.demanded('ann', NEW)
  t.ok((await fixture.enter(again.ticket, recovery_codes![0]!)).token)
})

await t.test('a password change does not stand in for the second factor', async t => {
  const fixture = await withFactor(t, { mustChangePassword: true })
  const second = await fixture.demandOf(fixture.enter((await fixture.demanded()).ticket, fixture.now()))
  await fixture.change(second.ticket)
  t.equal((await fixture.demanded('ann', NEW)).required, 'second-factor')
})

await t.test('four wrong codes leave a ticket valid, and the fifth uses it up', async t => {
  for (const [wrong, result] of [
    [4, 'granted'],
    [5, 'TICKET_INVALID'],
  ] as const) {
    const fixture = await withFactor(t)
    const { ticket } = await fixture.demanded()
    for (let i = 0; i < wrong; i++) {
      t.equal(await reasonOf(fixture.enter(ticket, fixture.wrong(fixture.secret, i))), 'WRONG_CODE')
    }
    t.equal(await reasonOf(fixture.enter(ticket, fixture.now())), result)
  }
})

await t.test('wrong codes for the proof of a set-up count, too', async t => {
  const fixture = await openSteps(t)
  const { ticket } = await fixture.demanded()
  const { secret } = await fixture.setUp(ticket)
  for (let i = 0; i < 5; i++) await reasonOf(fixture.enter(ticket, fixture.wrong(secret, i)))
  t.equal(await reasonOf(fixture.enter(ticket, fixture.code(secret))), 'TICKET_INVALID')
  t.equal(await reasonOf(fixture.setUp(ticket)), 'TICKET_INVALID', 'the ticket is used up')
})

await t.test('of 64 guesses at once on one ticket no more than five are checked', async t => {
  const fixture = await withFactor(t)
  const { ticket } = await fixture.demanded()
  const guesses = Array.from({ length: 64 }, (_, i) => fixture.wrong(fixture.secret, i))
  const results = await Promise.all(guesses.map(guess => reasonOf(fixture.enter(ticket, guess))))
  t.ok(results.filter(result => result === 'WRONG_CODE').length <= 5, results.join(' '))
  t.notOk(results.includes('granted'))
  t.equal(await reasonOf(fixture.enter(ticket, fixture.now())), 'TICKET_INVALID')
})

await t.test(
  'of 64 codes at once on one ticket five are checked, whatever the lockout of the second factor does',
  async t => {
    const { store } = await openSteps(t)
    const codes = createTicketCodes({ type: 'BUSINESS', attempts: store.attempts })
    const ticket = { id: 'a-ticket' } as OpenTicket
    const checked = { times: 0 }
    const check = async () => {
      checked.times += 1
      throw new Refusal('WRONG_CODE')
    }
    const attempt = { type: 'BUSINESS', address: '192.0.2.9', origin: {} } as const
    const results = await Promise.all(
      Array.from({ length: 64 }, () => reasonOf(codes.check(ticket, { ...attempt }, check))),
    )
    t.equal(checked.times, 5)
    t.equal(results.filter(result => result === 'TICKET_INVALID').length, 59)
  },
)

await t.test('64 uses of the right code at once give one token', async t => {
  const fixture = await withFactor(t)
  const tickets = await Promise.all(Array.from({ length: 4 }, async () => (await fixture.demanded()).ticket))
  const uses = Array.from({ length: 64 }, (_, i) => reasonOf(fixture.enter(tickets[i % 4]!, fixture.now())))
  const results = await Promise.all(uses)
  t.equal(results.filter(result => result === 'granted').length, 1, results.join(' '))
  t.equal((await fixture.tokens()).length, 1)
})

await t.test('a right code that is sent twice after three wrong ones gives a token', async t => {
  for (let round = 0; round < 4; round++) {
    const fixture = await withFactor(t)
    const { ticket } = await fixture.demanded()
    for (let i = 0; i < 3; i++)
      t.equal(await reasonOf(fixture.enter(ticket, fixture.wrong(fixture.secret, i))), 'WRONG_CODE')
    const results = await Promise.all([1, 2].map(() => reasonOf(fixture.enter(ticket, fixture.now()))))
    t.equal(results.filter(result => result === 'granted').length, 1, results.join(' '))
  }
})

await t.test(
  'codes that lock the second factor lock it on every ticket, and with the text of a locked password',
  async t => {
    const fixture = await withFactor(t)
    for (let i = 0; i < 5; i++) {
      const { ticket } = await fixture.demanded()
      t.equal(await reasonOf(fixture.enter(ticket, fixture.wrong(fixture.secret, i))), 'WRONG_CODE')
    }
    const { ticket } = await fixture.demanded()
    const refused = await refusalOf(fixture.enter(ticket, fixture.now()))
    t.match(refused, { reason: 'DISABLED', data: { disable_time: 300 } })
    t.equal(await fixture.side.isDisable(USER), false, 'apart from the lockout of passwords')
  },
)

await t.test('a wrong code is a failure of its address', async t => {
  const fixture = await withFactor(t, {}, { lockout: { address_failures: 2 } })
  const { ticket } = await fixture.demanded()
  for (let i = 0; i < 2; i++) await reasonOf(fixture.enter(ticket, fixture.wrong(fixture.secret, i)))
  t.equal(await reasonOf(fixture.enter(ticket, fixture.now())), 'TOO_MANY_ATTEMPTS')
})

await t.test('tickets of a second factor are void when it is another one, or none', async t => {
  for (const secondFactor of ['AAAAAAAAAAAA.sealed', undefined]) {
    const fixture = await withFactor(t)
    const { ticket } = await fixture.demanded()
    fixture.alter(({ secondFactor: _, ...one }) => ({ ...one, ...(secondFactor !== undefined && { secondFactor }) }))
    t.equal(await reasonOf(fixture.enter(ticket, fixture.now())), 'TICKET_INVALID')
  }
})

await t.test('a recovery code that is used does not void the other logins of its user', async t => {
  const fixture = await withFactor(t)
  const [one, other] = [await fixture.demanded(), await fixture.demanded()]
  await fixture.enter(one.ticket, fixture.recoveryCodes[0]!)
  t.ok((await fixture.enter(other.ticket, fixture.now())).token)
})

await t.test('a ticket accepts the codes of its own account only', async t => {
  const fixture = await withFactor(t)
  const { ticket } = await fixture.demanded('ben')
  const { secret } = await fixture.setUp(ticket)
  await fixture.enter(ticket, fixture.code(secret))
  fixture.time.now += 2 * STEP
  const { ticket: ben } = await fixture.demanded('ben')
  for (const code of [fixture.now(), fixture.recoveryCodes[0]!]) {
    t.equal(await reasonOf(fixture.enter(ben, code)), 'WRONG_CODE')
  }
})

await t.test('the settings say who needs a second factor', async t => {
  const roles = ['operator']
  for (const [secondFactorFor, expected] of [
    ['off', 'granted'],
    ['optional', 'granted'],
    [['other'], 'granted'],
    [roles, 'STEP_REQUIRED'],
    ['all', 'STEP_REQUIRED'],
  ] as const) {
    const fixture = await openLoginFixture({ secondFactorFor, accounts: [account('Ann')] })
    t.teardown(() => fixture.close())
    t.equal(await fixture.attempt('ann', PASSWORD), expected, String(secondFactorFor))
  }
})

await t.test('who must have a second factor, and cannot store one, is refused', async t => {
  const source = { find: async () => account('Ann'), highestCost: () => 4, close: async () => {} }
  const fixture = await openLoginFixture({ secondFactorFor: 'all', source })
  t.teardown(() => fixture.close())
  t.equal(await fixture.attempt('ann', PASSWORD), 'FACTOR_REQUIRED')
  t.equal(fixture.login.secondFactor, undefined)
})

await t.test('a second factor that is set up ends no session', async t => {
  const fixture = await openSteps(t)
  const older = await fixture.side.login(undefined, USER, {}, {})
  const { ticket } = await fixture.demanded()
  const { secret } = await fixture.setUp(ticket)
  const { token } = await fixture.enter(ticket, fixture.code(secret))
  t.same((await fixture.tokens()).sort(), [older, token].sort())
})

await t.test('log and events name the steps, and no code, secret or ticket', async t => {
  const fixture = await openSteps(t)
  const { ticket } = await fixture.demanded()
  const { secret, uri, qr } = await fixture.setUp(ticket)
  const wrong = fixture.wrong(secret)
  await reasonOf(fixture.enter(ticket, wrong))
  const code = fixture.code(secret)
  const { recovery_codes = [] } = await fixture.enter(ticket, code)
  const step = 'second-factor-setup'
  const lines = fixture.lines.filter(({ msg }) => msg === 'login')
  t.match(lines, [
    { granted: false, reason: 'STEP_REQUIRED', required: step },
    { step, login_id: USER },
    { granted: false, reason: 'WRONG_CODE', step, login_id: USER },
    { granted: true, step, login_id: USER },
  ])
  t.notOk('granted' in lines[1]!)
  t.match(fixture.events, [
    { event: 'second-factor-failed', reason: 'WRONG_CODE', login_id: USER, username: 'Ann' },
    { event: 'second-factor-on', login_id: USER, by: USER, username: 'Ann', address: '192.0.2.9' },
  ])
  const said = JSON.stringify([fixture.lines, fixture.events])
  for (const text of [ticket, secret, uri, qr, wrong, code, ...recovery_codes]) t.notOk(said.includes(text))
})

t.test('a second factor that no step here can prove is refused at once, and no password stands in for it', async t => {
  const ann = account('Ann', { secondFactor: `${'a'.repeat(12)}.${'b'.repeat(80)}` })
  const { updates, ...source } = sourceOf([ann, account('Ben')])
  const withoutFactors = { ...source, updates: { ...updates!, can: new Set(['password'] as const) } }
  for (const one of [source, withoutFactors]) {
    const fixture = await openLoginFixture({ source: one, secondFactorFor: 'optional' })
    t.teardown(() => fixture.close())
    t.equal(fixture.login.secondFactor, undefined)
    t.equal(await fixture.attempt('ann', PASSWORD), 'FACTOR_REQUIRED')
    t.equal(await fixture.attempt('ann', 'wrong'), 'WRONG_CREDENTIALS')
    t.equal(await fixture.attempt('ben', PASSWORD), 'granted')
  }
})
