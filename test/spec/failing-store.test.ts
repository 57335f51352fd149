import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { type Fixture, openFixture, someone } from '../support/gateway-fixture.ts'
import { redisAvailable } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

const skip = redisAvailable() ? false : 'LEFT OUT: no redis-server on PATH and no REDIS_URL'

/** Asks until the answer is a 200 of the upstream; every answer on the way must be a 503. */
async function recovers(t: Test, fixture: Fixture, path: string, token: string): Promise<void> {
  await until(async () => {
    const answer = await fixture.get(path, token)
    if (answer.status === 200 && answer.json().code !== 401) return true
    t.equal(answer.status, 503, 'until then it is 503, never 401')
    return false
  })
}

for (const fault of ['stopped', 'paused'] as const) {
  t.test(`Redis ${fault}: 503 within the timeout, public paths go on, recovery by itself`, { skip }, async t => {
    const fixture = await openFixture(t, { store: 'redis', environment: { STORE__TIMEOUT: '1s' } })
    const redis = fixture.redis!
    const user = someone()
    // A busy Redis may take longer than the timeout.
    const token = await retried(() => fixture.gateway.sides.consumer.login(undefined, user))
    await recovers(t, fixture, '/api/v1/c/x', token)

    if (fault === 'paused') redis.pause()
    else await redis.kill()
    // What is remembered is served until Redis was not heard for a heartbeat, and not for a request longer.
    const lost = Date.now()
    for (let asked = lost; (await fixture.get('/api/v1/c/x', token)).status === 200; asked = Date.now()) {
      if (asked - lost > fixture.settings.session_cache.heartbeat) return t.fail('served for longer than a heartbeat')
    }
    // These end because of store.timeout: the fault lasts until all of them are answered.
    for (let i = 0; i < 5; i++) {
      const answer = await fixture.get('/api/v1/c/x', token)
      t.equal(answer.status, 503)
      t.match(answer.json(), { code: 503, success: false, data: null })
    }
    t.equal((await fixture.get('/api/v1/public/c/x')).status, 200, 'public paths go on')
    t.equal((await fixture.get('/api/v1/public/b/sm2/public-key')).json().code, 200)
    t.equal((await fixture.get('/api/v1/c/x')).json().code, 401, 'without a token there is nothing to ask the store')
    t.equal((await call(fixture.internal, { path: '/livez' })).status, 200)
    t.equal((await call(fixture.internal, { path: '/readyz' })).status, 503)
    t.equal((await fixture.operate('consumer', 'kickout', { user_id: user })).code, 503)
    t.equal((await fixture.get('/api/v1/public/b/captcha')).json().code, 503)

    if (fault === 'paused') {
      redis.resume()
      // The kickout that timed out may still have happened: it was answered as unknown.
      await recovers(t, fixture, '/api/v1/public/c/x', token)
    } else {
      await redis.restart()
    }
    const later = await retried(() => fixture.gateway.sides.consumer.login(undefined, someone()))
    await recovers(t, fixture, '/api/v1/c/x', later)
    t.ok(await until(async () => (await call(fixture.internal, { path: '/readyz' })).status === 200))
  })
}

const retried = (act: () => Promise<string>): Promise<string> =>
  until(() =>
    act().catch(error => {
      if ((error as { reason?: string }).reason !== 'UNAVAILABLE') throw error
      return null
    }),
  )
