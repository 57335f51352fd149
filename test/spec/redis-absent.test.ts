import t from 'tap'
import { withoutRedis } from '../store/redis-server.ts'
import { openWorld } from '../support/gateway.ts'

t.test(
  'a gateway starts while Redis is away, is unavailable, and serves when Redis comes',
  { skip: withoutRedis },
  async t => {
    const world = await openWorld({ store: 'redis', redisDown: true })
    t.teardown(() => world.close())
    t.equal((await world.get('/api/v1/public/c/x')).status, 200)
    t.equal((await world.get('/api/v1/public/b/captcha')).json().code, 503)
    await world.redis!.restart()
    for (let tries = 0; tries < 100; tries++) {
      if ((await world.get('/api/v1/public/b/captcha')).json().code === 200) break
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    const token = await world.signIn()
    t.equal((await world.get('/api/v1/b/x', token)).status, 200)
  },
)
