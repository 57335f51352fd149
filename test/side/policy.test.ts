import t, { type Test } from 'tap'
import type { Account } from '../../src/account/source.ts'
import { createTimestampFormat } from '../../src/base/timestamp.ts'
import { keepSession } from '../../src/login/own-account/keep-session.ts'
import type { Extra } from '../../src/session/record.ts'
import { MAX_SECONDS } from '../../src/side/input.ts'
import { createPolicy, type PolicyOptions } from '../../src/side/policy.ts'
import type { Session } from '../../src/side/side.ts'
import type { SessionStore } from '../../src/store/store.ts'
import { createClockAhead } from '../support/clock.ts'
import { openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

const soon = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

withEveryStore(
  t,
  async (t, fixture) => {
    const { business, consumer } = fixture.gateway.sides

    t.test('max_tokens_per_user: with one more login the oldest token ends', async t => {
      const user = someone()
      const tokens: string[] = []
      for (let i = 0; i < 5; i++) {
        tokens.push(await consumer.login(undefined, user))
        await soon(2)
      }
      const live = await Promise.all(tokens.map(token => consumer.isLogin(asRequest(token))))
      t.same(live, [false, false, true, true, true])
    })

    t.test('max_tokens_per_user: logins at once leave exactly the allowed number', async t => {
      const user = someone()
      const tokens = await Promise.all(Array.from({ length: 10 }, () => consumer.login(undefined, user)))
      const live = await Promise.all(tokens.map(token => consumer.isLogin(asRequest(token))))
      t.equal(live.filter(Boolean).length, 3)
    })

    t.test('a policy of one side leaves the other alone', async t => {
      const user = someone()
      const tokens = []
      for (let i = 0; i < 5; i++) tokens.push(await business.login(undefined, user))
      for (const token of tokens) t.ok(await business.isLogin(asRequest(token)))
    })
  },
  { config: { sessions: { consumer: { max_tokens_per_user: 3 } } } },
)

withEveryStore(
  t,
  async (t, fixture) => {
    const { business, consumer } = fixture.gateway.sides
    const onDevices = async (side: typeof business, user: string, devices: (string | undefined)[]) => {
      const tokens: string[] = []
      for (const device of devices) {
        tokens.push(await side.login(undefined, user, device === undefined ? {} : { device_type: device }))
        await soon(2)
      }
      return Promise.all(tokens.map(token => side.isLogin(asRequest(token))))
    }

    t.test('per_device: the limit holds for each device type by itself, and for sessions without one', async t => {
      const devices = ['app', 'web', undefined, 'web', 'app', undefined, 'web', undefined]
      t.same(await onDevices(consumer, someone(), devices), [true, false, false, true, true, true, true, true])
    })

    t.test('per_device: a side without it counts all device types together', async t => {
      t.same(await onDevices(business, someone(), ['app', 'web', 'app', 'tv']), [false, false, true, true])
    })
  },
  { config: { sessions: { max_tokens_per_user: 2, consumer: { per_device: 'on' } } } },
)

t.test(
  'max_tokens_per_user: unless it is set, a user has 1000 sessions, and thousands too many end at once',
  async t => {
    const fixture = await openFixture(t)
    const { consumer } = fixture.gateway.sides
    const user = someone()
    const extra = { login_ip: '192.0.2.1' }
    const record = { user_id: user, type: 'CONSUMER' as const, created_at: '2025-01-31 12:00:00', extra }
    const add = (n: number) =>
      fixture.store.sessions.add(
        'CONSUMER',
        `eyJhbGciOiJIUzI1NiJ9.${n}.${'s'.repeat(43)}`,
        record,
        Date.now() + 600_000,
      )
    for (let n = 0; n < 2500; n += 100) await Promise.all(Array.from({ length: 100 }, (_, i) => add(n + i)))
    const newest = await consumer.login(undefined, user)
    t.equal(await fixture.store.sessions.count('CONSUMER', user), 1000)
    t.equal(await consumer.isLogin(asRequest(newest)), true)
  },
)

t.test('max_tokens_per_user: the older token ends, whatever the clocks of time zones show', async t => {
  const config = { timezone: 'Europe/Berlin', sessions: { max_tokens_per_user: 1 } }
  const fixture = await openFixture(t, { config })
  const { consumer } = fixture.gateway.sides
  const signIn = (user: string) => consumer.login(undefined, user)
  const live = async (...tokens: string[]) => Promise.all(tokens.map(token => consumer.isLogin(asRequest(token))))

  // The last Sunday of October: at 01:00 UTC it is 02:00 again.
  const twice = new Date(Date.UTC(new Date(fixture.now()).getUTCFullYear() + 1, 9, 31, 1))
  twice.setUTCDate(31 - twice.getUTCDay())
  await fixture.elapse(twice.getTime() - 600_000 - fixture.now())
  const user = someone()
  const before = await signIn(user)
  await fixture.elapse(1_200_000)
  t.same(await live(before, await signIn(user)), [false, true], '02:10 is after 02:50')

  const other = someone()
  const moved = await signIn(other)
  const created_at = createTimestampFormat('Asia/Shanghai').write(fixture.now())
  const record = { user_id: other, type: 'CONSUMER' as const, created_at, extra: {} }
  await fixture.store.sessions.add('CONSUMER', moved, record, fixture.now() + 600_000)
  t.same(await live(moved, await signIn(other)), [false, true], 'the zone was another one')
})

t.test('max_tokens_per_user: a login after the clock was set back ends the older sessions', async t => {
  const fixture = await openFixture(t, { config: { sessions: { max_tokens_per_user: 2 } } })
  const { consumer } = fixture.gateway.sides
  for (const seconds of [60, 3600]) {
    const user = someone()
    const tokens: string[] = []
    const signIn = async () => void tokens.push(await consumer.login(undefined, user))
    const live = async () => {
      const listed = await fixture.store.sessions.tokens('CONSUMER', user)
      return tokens.map(token => listed.some(stored => stored.token === token))
    }
    for (let i = 0; i < 2; i++) await signIn()
    fixture.setBack(seconds * 1000)
    for (let i = 0; i < 2; i++) await signIn()
    t.same(await live(), [false, false, true, true], `by ${seconds} s`)
    await signIn()
    t.same(await live(), [false, false, false, true, true])
  }
})

t.test('max_tokens_per_user: 0 is no limit', async t => {
  const fixture = await openFixture(t, { config: { sessions: { max_tokens_per_user: 0 } } })
  const user = someone()
  const { consumer } = fixture.gateway.sides
  for (let n = 0; n < 11; n++) await Promise.all(Array.from({ length: 100 }, () => consumer.login(undefined, user)))
  t.equal(await fixture.store.sessions.count('CONSUMER', user), 1100)
})

/** A side whose clock a test moves; times in seconds. */
async function openClock(t: Test, sessions: Record<string, unknown>) {
  const fixture = await openFixture(t, { config: { sessions }, environment: { JWT__EXPIRE_SECONDS: '3600' } })
  const { business, consumer } = fixture.gateway.sides
  return {
    business,
    elapse: (seconds: number) => fixture.elapse(seconds * 1000),
    setBack: (seconds: number) => fixture.setBack(seconds * 1000),
    login: (seconds?: number) => consumer.login(undefined, someone(), {}, seconds),
    renew: (token: string, seconds?: number) => consumer.renewTimeout(asRequest(token), seconds),
    isServed: async (path: string, token: string) => (await fixture.get(path, token)).json().code === undefined,
    /** Whether the session of a token is left so long after a request, which does not wait for the renewal that it brings. */
    async hasAfterUse(token: string, seconds: number): Promise<boolean> {
      t.equal((await fixture.get('/api/v1/c/x', token)).json().code, undefined, 'served')
      return until(async () => {
        const end = await fixture.store.sessions.tokenExpiresAt('CONSUMER', token)
        return Math.abs((end! - fixture.now()) / 1000 - seconds) < 60
      })
    },
  }
}

t.test('idle_timeout: a session that is used lives on, one that is not ends', async t => {
  const { login, elapse, hasAfterUse, isServed } = await openClock(t, { idle_timeout: '10m' })
  const [used, unused] = [await login(), await login()]
  for (let i = 0; i < 4; i++) {
    await elapse(400)
    t.ok(await hasAfterUse(used, 600))
  }
  t.notOk(await isServed('/api/v1/c/x', unused))
})

t.test('idle_timeout never lengthens a session beyond its lifetime', async t => {
  const { login, elapse, hasAfterUse, isServed } = await openClock(t, { idle_timeout: '2h' })
  const token = await login()
  await elapse(1600)
  t.ok(await hasAfterUse(token, 2000))
  await elapse(1600)
  t.ok(await hasAfterUse(token, 400))
  await elapse(600)
  t.notOk(await isServed('/api/v1/c/x', token))
})

t.test('idle_timeout ends a session with a lifetime of its own, too, and does not lengthen it', async t => {
  const { login, elapse, hasAfterUse, isServed } = await openClock(t, { idle_timeout: '10m' })
  const [used, unused] = [await login(1000), await login(MAX_SECONDS)]
  await elapse(400)
  t.ok(await hasAfterUse(used, 600))
  await elapse(400)
  t.notOk(await isServed('/api/v1/c/x', unused))
  t.ok(await hasAfterUse(used, 200))
  await elapse(400)
  t.notOk(await isServed('/api/v1/c/x', used))
})

t.test('idle_timeout: the end of a session in use moves as often where the clock is set back', async t => {
  const { login, elapse, setBack, hasAfterUse } = await openClock(t, { idle_timeout: '10m' })
  const token = await login()
  setBack(200)
  t.ok(await hasAfterUse(token, 600))
  await elapse(100)
  setBack(200)
  t.ok(await hasAfterUse(token, 600))
})

t.test('auto_renew: a session in use outlives its first lifetime', async t => {
  const { business, login, elapse, hasAfterUse, isServed } = await openClock(t, { consumer: { auto_renew: '1m' } })
  const c = await login()
  const b = await business.login(undefined, someone())
  for (let i = 0; i < 2; i++) {
    await elapse(3000)
    t.ok(await hasAfterUse(c, 3600))
  }
  t.notOk(await isServed('/api/v1/b/x', b), 'the other side has no such policy')
})

t.test('auto_renew gives a session its own lifetime again, a shorter and a longer one', async t => {
  const { login, elapse, hasAfterUse, isServed } = await openClock(t, { auto_renew: '1m' })
  const [short, long] = [await login(600), await login(86_400)]
  for (let i = 0; i < 3; i++) {
    await elapse(400)
    t.ok(await hasAfterUse(short, 600))
    t.ok(await hasAfterUse(long, 86_400))
  }
  await elapse(700)
  t.notOk(await isServed('/api/v1/c/x', short), 'not for the hour of the others')
  t.ok(await isServed('/api/v1/c/x', long))
})

t.test(
  'idle_timeout: a session in use lives as long as a renewal has set, and one that is not in use ends',
  async t => {
    const { login, renew, elapse, hasAfterUse, isServed } = await openClock(t, { idle_timeout: '20m' })
    const [longer, shorter, unused] = [await login(), await login(), await login()]
    for (const token of [longer, shorter, unused]) t.ok(await hasAfterUse(token, 1200))
    await elapse(1000)
    t.ok(await renew(unused))
    t.ok(await renew(shorter, 300))
    for (let i = 0; i < 3; i++) {
      t.ok(await renew(longer))
      await elapse(1100)
      t.ok(await hasAfterUse(longer, 1200))
      for (const token of [shorter, unused]) if (i > 0) t.notOk(await isServed('/api/v1/c/x', token))
    }
  },
)

t.test('auto_renew: the use of a session does not bring nearer the end that a renewal has set', async t => {
  const { login, renew, elapse, hasAfterUse } = await openClock(t, { auto_renew: '1m' })
  const token = await login()
  t.ok(await renew(token, 86_400))
  await elapse(3000)
  t.ok(await hasAfterUse(token, 83_400))
  t.ok(await renew(token, 600))
  await elapse(300)
  t.ok(await hasAfterUse(token, 3600), 'its whole lifetime again')
})

withEveryStore(
  t,
  async (t, fixture) => {
    t.test('a renewal by use does not take the place of the requested one', async t => {
      const { consumer } = fixture.gateway.sides
      for (let i = 0; i < 10; i++) {
        const token = await consumer.login(undefined, someone())
        t.ok(await consumer.renewTimeout(asRequest(token), MAX_SECONDS))
        const end = await fixture.store.sessions.tokenExpiresAt('CONSUMER', token)
        t.ok(end! - fixture.now() > (MAX_SECONDS - 60) * 1000)
      }
    })
  },
  { config: { sessions: { auto_renew: '1ms' } } },
)

withEveryStore(
  t,
  async (t, fixture) => {
    t.test('a renewal by use that has read the session before a requested one does not take its place', async t => {
      const { consumer } = fixture.gateway.sides
      const { sessions } = fixture.store
      const token = await consumer.login(undefined, someone())
      const read = { token, claims: { jti: '', iat: 1 }, record: await sessions.find('CONSUMER', token) } as Session
      t.ok(await consumer.renewTimeout(asRequest(token), MAX_SECONDS))
      const renewals: Promise<boolean>[] = []
      const renew: SessionStore['renew'] = (...args) => {
        const renewal = sessions.renew(...args)
        renewals.push(renewal)
        return renewal
      }
      const policy = createPolicy({
        type: 'CONSUMER',
        store: { renew } as SessionStore,
        clock: createClockAhead(),
        policy: { auto_renew: 1, idle_timeout: 'off', max_tokens_per_user: 0, per_device: false },
        expireSeconds: 3600,
      } as unknown as PolicyOptions)
      policy.used(read)
      t.same(await Promise.all(renewals), [true])
      const end = await sessions.tokenExpiresAt('CONSUMER', token)
      t.ok(end! - fixture.now() > (MAX_SECONDS - 60) * 1000)
    })
  },
  { config: { sessions: { auto_renew: '1h' } } },
)

withEveryStore(
  t,
  async (t, fixture) => {
    t.test('a renewal while the user changes the own account is kept, and so is the session', async t => {
      const { sessions } = fixture.store
      const { consumer } = fixture.gateway.sides
      const user = someone()
      const token = await consumer.login(undefined, user)
      const session = { token, record: await sessions.find('CONSUMER', token) } as Session
      const replaceExtra = (_session: unknown, extraOf: (stored: Extra) => Extra) =>
        sessions.replaceRecord('CONSUMER', user, token, extraOf)
      const store = (): Promise<boolean> => consumer.renewTimeout(asRequest(token), MAX_SECONDS)
      t.ok(await keepSession({ replaceExtra }, session, { version: 'before' } as Account, { version: 'after', store }))
      const { extra } = (await sessions.find('CONSUMER', token))!
      t.match(extra, { account_version: 'after', session_renewed_end: Number })
      t.notOk('account_version_next' in extra)
    })
  },
  { config: { sessions: { idle_timeout: '20m' } } },
)
