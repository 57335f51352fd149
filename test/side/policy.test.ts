import t from 'tap'
import { inEveryWorld, openWorld, someone } from '../world.ts'

const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const soon = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

inEveryWorld(
  t,
  async (t, world) => {
    const { business, consumer } = world.gateway.sides

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

t.test('idle_timeout: a session that is used lives on, one that is not ends', async t => {
  const world = await openWorld({ config: { sessions: { idle_timeout: '1500ms' } } })
  t.teardown(() => world.close())
  const used = await world.gateway.sides.consumer.login(undefined, someone())
  const unused = await world.gateway.sides.consumer.login(undefined, someone())
  for (let i = 0; i < 10; i++) {
    await soon(250)
    t.equal((await world.get('/api/v1/c/x', used)).json().code, undefined, 'served')
  }
  t.equal((await world.get('/api/v1/c/x', unused)).json().code, 401)
})

t.test('idle_timeout never lengthens a session beyond its lifetime', async t => {
  const world = await openWorld({
    config: { sessions: { idle_timeout: '10m' } },
    environment: { JWT__EXPIRE_SECONDS: '2' },
  })
  t.teardown(() => world.close())
  const token = await world.gateway.sides.consumer.login(undefined, someone())
  for (let i = 0; i < 5; i++) {
    await world.get('/api/v1/c/x', token)
    await soon(450)
  }
  t.equal((await world.get('/api/v1/c/x', token)).json().code, 401)
})

t.test('auto_renew: a session in use outlives its first lifetime', async t => {
  const world = await openWorld({
    config: { sessions: { consumer: { auto_renew: '100ms' } } },
    environment: { JWT__EXPIRE_SECONDS: '2' },
  })
  t.teardown(() => world.close())
  const c = await world.gateway.sides.consumer.login(undefined, someone())
  const b = await world.gateway.sides.business.login(undefined, someone())
  for (let i = 0; i < 12; i++) {
    await soon(250)
    t.equal((await world.get('/api/v1/c/x', c)).json().code, undefined, 'served')
  }
  t.equal((await world.get('/api/v1/b/x', b)).json().code, 401, 'the other side has no such policy')
})
