import t from 'tap'
import { openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'

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
    const fixture = await openFixture()
    t.teardown(() => fixture.close())
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

t.test('max_tokens_per_user: 0 is no limit', async t => {
  const fixture = await openFixture({ config: { sessions: { max_tokens_per_user: 0 } } })
  t.teardown(() => fixture.close())
  const user = someone()
  const { consumer } = fixture.gateway.sides
  for (let n = 0; n < 11; n++) await Promise.all(Array.from({ length: 100 }, () => consumer.login(undefined, user)))
  t.equal(await fixture.store.sessions.count('CONSUMER', user), 1100)
})

t.test('idle_timeout: a session that is used lives on, one that is not ends', async t => {
  const fixture = await openFixture({
    config: { sessions: { idle_timeout: '1500ms' } },
  })
  t.teardown(() => fixture.close())
  const used = await fixture.gateway.sides.consumer.login(undefined, someone())
  const unused = await fixture.gateway.sides.consumer.login(undefined, someone())
  for (let i = 0; i < 10; i++) {
    await fixture.elapse(250)
    t.equal((await fixture.get('/api/v1/c/x', used)).json().code, undefined, 'served')
  }
  t.equal((await fixture.get('/api/v1/c/x', unused)).json().code, 401)
})

t.test('idle_timeout never lengthens a session beyond its lifetime', async t => {
  const fixture = await openFixture({
    config: { sessions: { idle_timeout: '10m' } },
    environment: { JWT__EXPIRE_SECONDS: '2' },
  })
  t.teardown(() => fixture.close())
  const token = await fixture.gateway.sides.consumer.login(undefined, someone())
  for (let i = 0; i < 5; i++) {
    await fixture.get('/api/v1/c/x', token)
    await fixture.elapse(450)
  }
  t.equal((await fixture.get('/api/v1/c/x', token)).json().code, 401)
})

t.test('auto_renew: a session in use outlives its first lifetime', async t => {
  const fixture = await openFixture({
    config: { sessions: { consumer: { auto_renew: '100ms' } } },
    environment: { JWT__EXPIRE_SECONDS: '2' },
  })
  t.teardown(() => fixture.close())
  const c = await fixture.gateway.sides.consumer.login(undefined, someone())
  const b = await fixture.gateway.sides.business.login(undefined, someone())
  for (let i = 0; i < 12; i++) {
    await fixture.elapse(250)
    t.equal((await fixture.get('/api/v1/c/x', c)).json().code, undefined, 'served')
  }
  t.equal((await fixture.get('/api/v1/b/x', b)).json().code, 401, 'the other side has no such policy')
})
