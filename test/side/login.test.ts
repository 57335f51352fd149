import t from 'tap'
import { Refusal } from '../../src/base/refusal.ts'
import { MAX_SECONDS } from '../../src/side/input.ts'
import { openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { withoutRedisServer } from '../support/redis-server.ts'

/* The operation login: beside the end of other sessions of the same user, and with a lifetime of its own. */

const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

t.test('a login beside an end of all others begins after it', { skip: withoutRedisServer }, async t => {
  const fixture = await openFixture(t, { store: 'redis', config: { own_sessions: { consumer: true } } })
  const { consumer } = fixture.gateway.sides
  const user = someone()
  const own = await consumer.login(undefined, user)
  let isEnding = true
  const ending = (async () => {
    while (isEnding) {
      const answer = await fixture.call({ path: '/api/v1/c/session/exit-others', method: 'POST', token: own })
      if (!answer.json().success) throw new Error(answer.text)
    }
  })()
  const codes = new Set<number>()
  try {
    for (let i = 0; i < 300; i++) codes.add((await fixture.operate('consumer', 'login', { user_id: user })).code)
  } finally {
    isEnding = false
    await ending
  }
  t.same(codes, new Set([200]))
  t.ok(await consumer.isLogin(asRequest(own)))
})

t.test(
  'a login whose limit of sessions cannot be read leaves no session, and is no event',
  { skip: withoutRedisServer },
  async t => {
    const fixture = await openFixture(t, { store: 'redis' })
    const { consumer } = fixture.gateway.sides
    const user = someone()
    await fixture.redis!.cli('ACL', 'SETUSER', 'default', '-scard')
    await t.rejects(consumer.login(undefined, user), { name: 'Unavailable' })
    t.same(await fixture.store.sessions.tokens('CONSUMER', user), [])
    t.notOk(fixture.log.some(line => JSON.parse(line).event === 'login'))
    await fixture.redis!.cli('ACL', 'SETUSER', 'default', '+scard')
    await consumer.login(undefined, user)
    t.equal((await fixture.store.sessions.tokens('CONSUMER', user)).length, 1)
    t.equal(fixture.log.filter(line => JSON.parse(line).event === 'login').length, 1)
  },
)

withEveryStore(t, async (t, fixture) => {
  const { consumer } = fixture.gateway.sides

  t.test('seconds: the lifetime of one session, over HTTP and in process', async t => {
    const user = someone()
    const [day, decade] = [86_400, MAX_SECONDS]
    const { token } = (await fixture.operate('consumer', 'login', { user_id: user, seconds: day })).data
    const left = await fixture.store.sessions.tokenExpiresAt('CONSUMER', token)
    t.ok(Math.abs(left! - fixture.now() - day * 1000) < 60_000)
    const device = await consumer.login(undefined, user, { device_type: 'meter', session_seconds: 60 }, decade)
    const { data } = await fixture.operate('consumer', 'is-login', { token: device })
    t.same(data, { is_login: true })
    const end = await fixture.store.sessions.sessionExpiresAt('CONSUMER', user)
    t.ok(end! - fixture.now() > (decade - 60) * 1000, 'the set of its user lives as long')
    const plain = await consumer.login(undefined, user, { session_seconds: 60 })
    const ordinary = await fixture.store.sessions.tokenExpiresAt('CONSUMER', plain)
    t.ok(ordinary! - fixture.now() > 86_400_000, 'no client sets it otherwise')
  })

  t.test('seconds that are no lifetime are refused by name', async t => {
    for (const seconds of [0, -1, 1.5, MAX_SECONDS + 1, '60']) {
      const answer = await fixture.operate('consumer', 'login', { user_id: someone(), seconds })
      t.equal(answer.code, 400)
      t.match(answer.message, /seconds/)
    }
    await t.rejects(consumer.login(undefined, someone(), {}, 0), new Refusal('INVALID'))
  })
})
