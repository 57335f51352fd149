import t, { type Test } from 'tap'
import { redisAvailable } from '../store/redis-server.ts'
import { call } from '../support/client.ts'
import { openWorld, someone, type World } from '../support/gateway.ts'

const skip = redisAvailable() ? false : 'LEFT OUT: no redis-server on PATH and no REDIS_URL'

/** Asks until the answer is a 200 of the upstream; every answer on the way must be a 503. */
async function recovers(t: Test, world: World, path: string, token: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const answer = await world.get(path, token)
    if (answer.status === 200 && answer.json().code !== 401) return
    t.equal(answer.status, 503, 'until then it is 503, never 401')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  t.fail('it did not recover')
}

for (const fault of ['stopped', 'paused'] as const) {
  t.test(`Redis ${fault}: 503 within the timeout, public paths go on, recovery by itself`, { skip }, async t => {
    const world = await openWorld({ store: 'redis' })
    t.teardown(() => world.close())
    const redis = world.redis!
    const user = someone()
    const token = await world.gateway.sides.consumer.login(undefined, user)
    t.equal((await world.get('/api/v1/c/x', token)).status, 200)

    if (fault === 'paused') redis.pause()
    else await redis.kill()
    // What is remembered is served until Redis was not heard for a heartbeat, and not for a request longer.
    const lost = Date.now()
    for (let asked = lost; (await world.get('/api/v1/c/x', token)).status === 200; asked = Date.now()) {
      if (asked - lost > world.settings.session_cache.heartbeat) return t.fail('served for longer than a heartbeat')
    }
    const answers = []
    for (let i = 0; i < 5; i++) {
      const started = performance.now()
      const answer = await world.get('/api/v1/c/x', token)
      answers.push(answer)
      t.ok(performance.now() - started < 3000, 'nothing waits much longer than store.timeout')
    }
    for (const answer of answers) {
      t.equal(answer.status, 503)
      t.match(answer.json(), { code: 503, success: false, data: null })
    }
    t.equal((await world.get('/api/v1/public/c/x')).status, 200, 'public paths go on')
    t.equal((await world.get('/api/v1/public/b/sm2/public-key')).json().code, 200)
    t.equal((await world.get('/api/v1/c/x')).json().code, 401, 'without a token there is nothing to ask the store')
    t.equal((await call(world.internal, { path: '/livez' })).status, 200)
    t.equal((await call(world.internal, { path: '/readyz' })).status, 503)
    t.equal((await world.operate('consumer', 'kickout', { user_id: user })).code, 503)
    t.equal((await world.get('/api/v1/public/b/captcha')).json().code, 503)

    if (fault === 'paused') {
      redis.resume()
      // The kickout that timed out may still have happened: it was answered as unknown.
      await recovers(t, world, '/api/v1/public/c/x', token)
    } else {
      await redis.restart()
    }
    const later = await retried(() => world.gateway.sides.consumer.login(undefined, someone()))
    await recovers(t, world, '/api/v1/c/x', later)
    t.equal((await call(world.internal, { path: '/readyz' })).status, 200)
  })
}

async function retried<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if ((error as { reason?: string }).reason !== 'UNAVAILABLE' || tries > 100) throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}
