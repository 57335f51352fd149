import t, { type Test } from 'tap'
import { createPasswordPolicy } from '../../src/account/password-policy.ts'
import type { AccountSource, PasswordUpdate } from '../../src/account/source.ts'
import { changeSince, versionOf, versionsIn } from '../../src/account/version.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import type { SessionEvent } from '../../src/event/event.ts'
import { createCurrentPassword } from '../../src/login/own-account/current-password.ts'
import { createChangePassword } from '../../src/login/own-account/own-password.ts'
import { createLockout } from '../../src/login/protection/lockout.ts'
import { createRateLimit } from '../../src/login/protection/login-rate-limit.ts'
import type { Session } from '../../src/side/side.ts'
import { asToken } from '../../src/token/bearer.ts'
import { clockOf } from '../support/clock.ts'
import { account, openLoginFixture, reasonOf, refusalOf } from '../support/login-fixture.ts'

const ORIGIN = { address: '192.0.2.1', by: 'id-jane', trace_id: 'a'.repeat(32) }
const PRESENT = 'the present one'
const LOCKOUT = { failures: 5, window: 300_000, disable: 300_000, address_failures: 100, address_window: 900_000 }
const ROLES = { roles: ['operator'] }

/** Versions as accounts have them, with the password in the place of its hash. */
const versionFor = (passwordHash: string): string => versionOf({ passwordHash, extra: ROLES })

/**
 * Own passwords of one account on a real store, for two workers. `watch` does what an account watch of any worker does at any
 * time: it ends the sessions whose version is not that of the account.
 */
async function open(t: Test) {
  const fixture = await openLoginFixture({ accounts: [account('jane')] })
  t.teardown(fixture.close)
  const { side, store } = fixture
  const clock = clockOf(() => fixture.time.now)
  const kept = { password: PRESENT, changedAt: 0 }
  const seen = { verified: 0, running: 0, atOnce: 0 }
  const events: SessionEvent[] = []
  const watch = () =>
    side.kickoutWhere('id-jane', ({ extra }) => changeSince(versionsIn(extra), versionFor(kept.password)))

  const accounts: Pick<AccountSource, 'find' | 'verify'> = {
    async find(username) {
      if (username !== 'jane') return null
      return { id: 'id-jane', username, status: 'ACTIVE', extra: ROLES, version: versionFor(kept.password) }
    },
    async verify(account, password) {
      seen.verified += 1
      seen.running += 1
      seen.atOnce = Math.max(seen.atOnce, seen.running)
      await new Promise(setImmediate)
      seen.running -= 1
      return account !== null && password === kept.password
    },
  }
  const updates = {
    can: new Set(['password'] as const),
    password: async (_: unknown, { password, changedAt }: PasswordUpdate) => ({
      version: versionFor(password),
      async store() {
        await watch()
        Object.assign(kept, { password, changedAt })
        await watch()
        return true
      },
    }),
    secondFactor: () => {
      throw new Error('not asked for')
    },
  }
  const sm2 = { decrypt: async (text: string) => (text === 'zz' ? null : text) }
  const publish = (event: SessionEvent) => void events.push(event)
  const policy = createPasswordPolicy({ min_length: 10, classes: 0, common: 'refuse' })
  const workers = [1, 2].map(() => {
    const lockout = createLockout({
      side,
      attempts: store.attempts,
      settings: LOCKOUT,
      clock,
    })
    const rateLimit = createRateLimit('BUSINESS', store.attempts, 'off', clock)
    const current = createCurrentPassword({ side, accounts, sm2, lockout, rateLimit, publish })
    return createChangePassword({ side, updates, current, sm2, policy, keys: null, clock, publish })
  })

  async function signIn(
    extra: object = { username: 'jane', account_version: versionFor(PRESENT) },
    id = 'id-jane',
  ): Promise<Session> {
    const token = await side.login(undefined, id, { ...extra }, ORIGIN)
    return (await side.inspect(asToken(token)!))!
  }
  const change = (session: Session, current_password: string, new_password: string, worker = 0) =>
    workers[worker]!(session, { current_password, new_password }, ORIGIN)
  const lives = async ({ token }: Session): Promise<boolean> => (await side.inspect(token)) !== null
  return { ...fixture, kept, seen, events, watch, signIn, change, lives }
}

t.test('a changed password ends every other session of the user, and answers how many', async t => {
  const { signIn, change, lives, kept, watch, events, time, side } = await open(t)
  const own = await signIn()
  const others = [await signIn(), await signIn({}), await signIn()]
  t.same(await change(own, PRESENT, 'battery staple 7'), { ended: 3 })
  t.match(kept, { password: 'battery staple 7', changedAt: time.now })
  await watch()
  t.equal(await lives(own), true)
  for (const other of others) t.equal(await lives(other), false)
  const { extra } = (await side.inspect(own.token))!.record
  t.same(versionsIn(extra), [versionFor('battery staple 7')], 'it carries the new version alone')
  t.match(events, [{ event: 'password-changed', login_id: 'id-jane', username: 'jane', ...ORIGIN }])
})

t.test('a store that fails once behind the change keeps neither the other sessions nor the event', async t => {
  const { signIn, change, lives, kept, watch, events, side } = await open(t)
  const [own, other] = [await signIn(), await signIn({})]
  const { replaceExtra } = side
  let times = 0
  side.replaceExtra = async (...args) => {
    if (++times === 2) throw new Unavailable('the store of this test')
    return replaceExtra(...args)
  }
  t.same(await change(own, PRESENT, 'battery staple 7'), { ended: 1 })
  t.equal(kept.password, 'battery staple 7')
  t.equal(await lives(other), false)
  t.match(events, [{ event: 'password-changed', login_id: 'id-jane' }])
  await watch()
  t.equal(await lives(own), true)
})

t.test('a session that ended before the change is stored changes nothing', async t => {
  const { signIn, change, kept, side } = await open(t)
  const own = await signIn()
  await side.kickout('id-jane', {})
  t.equal(await reasonOf(change(own, PRESENT, 'battery staple 7')), 'NOT_LOGGED_IN')
  t.equal(kept.password, PRESENT)
})

t.test('guesses of the current password lock the name, also at once and in two workers', async t => {
  const { signIn, change, seen, attempt, side } = await open(t)
  const own = await signIn()
  const guesses = Array.from({ length: 60 }, (_, i) => reasonOf(change(own, `guess ${i}`, 'battery staple 7', i % 2)))
  const reasons = await Promise.all(guesses)
  t.equal(seen.verified, 5)
  t.equal(reasons.filter(reason => reason === 'WRONG_CREDENTIALS').length, 5)
  t.equal(reasons.filter(reason => reason === 'DISABLED').length, 55)
  t.equal(await reasonOf(change(own, PRESENT, 'battery staple 7')), 'DISABLED', 'the right one, too')
  t.equal(await attempt('jane', 'any'), 'DISABLED', 'at the login, too')
  t.equal(await side.getDisableTime('id-jane'), 300)
})

t.test('wrong passwords at the login and in a session count together', async t => {
  const { signIn, change, attempt } = await open(t)
  const own = await signIn()
  for (let i = 0; i < 3; i++) t.equal(await attempt('jane', 'wrong'), 'WRONG_CREDENTIALS')
  for (let i = 0; i < 2; i++) t.equal(await reasonOf(change(own, 'zz', 'battery staple 7')), 'WRONG_CREDENTIALS')
  t.equal(await reasonOf(change(own, PRESENT, 'battery staple 7')), 'DISABLED')
})

t.test('the right current password deletes the failures', async t => {
  const { signIn, change } = await open(t)
  const own = await signIn()
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 4; i++) t.equal(await reasonOf(change(own, 'wrong', 'battery staple 7')), 'WRONG_CREDENTIALS')
    t.equal(await reasonOf(change(own, PRESENT, 'short')), 'PASSWORD_NOT_ALLOWED')
  }
})

t.test('a disabled user changes no password', async t => {
  const { signIn, change, side, seen } = await open(t)
  const own = await signIn()
  await side.disable('id-jane', 60, {})
  t.equal(await reasonOf(change(own, PRESENT, 'battery staple 7')), 'DISABLED')
  t.equal(seen.verified, 0)
})

t.test('all faults of the new password come at once, after the current one was right', async t => {
  const { signIn, change, kept } = await open(t)
  const own = await signIn()
  t.match(await refusalOf(change(own, 'wrong', 'short')), { reason: 'WRONG_CREDENTIALS', data: null })
  t.match(await refusalOf(change(own, PRESENT, PRESENT)), { data: { faults: ['same'] } })
  t.match(await refusalOf(change(own, PRESENT, 'jane')), { data: { faults: ['min_length', 'common', 'username'] } })
  t.match(await refusalOf(change(own, PRESENT, 'zz')), { reason: 'INVALID', params: { field: 'new_password' } })
  t.equal(kept.password, PRESENT)
})

t.test('a session of a user without an account has no password', async t => {
  const { signIn, change } = await open(t)
  for (const extra of [{}, { username: 'nobody' }, { username: 7 }]) {
    const own = await signIn(extra)
    t.equal(await reasonOf(change(own, PRESENT, 'battery staple 7')), 'WRONG_CREDENTIALS')
  }
})

t.test(
  'a user without an account, whose login id is the name of one, neither locks it nor gives back guesses',
  async t => {
    const { signIn, change, side } = await open(t)
    const [own, stranger] = [await signIn(), await signIn({}, 'jane')]
    const fail = async (session: Session, times: number): Promise<string[]> => {
      const reasons: string[] = []
      for (let i = 0; i < times; i++) reasons.push(await reasonOf(change(session, 'wrong', 'battery staple 7')))
      return reasons
    }
    t.same(await fail(own, 4), Array(4).fill('WRONG_CREDENTIALS'))
    t.same(await fail(stranger, 6), [...Array(5).fill('WRONG_CREDENTIALS'), 'DISABLED'])
    t.equal(await side.isDisable('id-jane'), false)
    t.same(await fail(own, 2), ['WRONG_CREDENTIALS', 'DISABLED'])
  },
)

t.test('a wrong current password is published as a failed login, with who asked', async t => {
  const { signIn, change, events } = await open(t)
  await reasonOf(change(await signIn(), 'wrong', 'battery staple 7'))
  t.match(events, [{ event: 'login-failed', login_id: 'id-jane', reason: 'WRONG_CREDENTIALS', ...ORIGIN }])
})
