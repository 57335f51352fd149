import t from 'tap'
import { openFixture, untilConnected } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

t.test(
  'a gateway starts while Redis is away, is unavailable, and serves when Redis comes',
  { skip: withoutRedis },
  async t => {
    const fixture = await openFixture(t, { store: 'redis', redisDown: true })
    t.equal((await fixture.get('/api/v1/public/c/x')).status, 200)
    t.equal((await fixture.get('/api/v1/public/b/captcha')).json().code, 503)
    await fixture.redis!.restart()
    await until(async () => (await fixture.get('/api/v1/public/b/captcha')).json().code === 200)
    await untilConnected(fixture.internal, fixture.store)
    const token = await fixture.signIn()
    t.equal((await fixture.get('/api/v1/b/x', token)).status, 200)
  },
)
