import t from 'tap'
import { MAX_SECONDS } from '../../src/side/input.ts'
import { call } from '../support/client.ts'
import { openFixture, someone } from '../support/gateway-fixture.ts'
import { redisAvailable } from '../support/redis-server.ts'
import { isLeftOf } from '../support/time-left.ts'

/* The key and value shapes of the specification, literally, as another program sees them in Redis. */

const skip = redisAvailable() ? false : 'LEFT OUT: no redis-server on PATH and no REDIS_URL'

for (const profile of [1, 2] as const) {
  t.test(`profile ${profile}: what other programs see in Redis`, { skip }, async t => {
    const fixture = await openFixture(t, { profile, store: 'redis' })
    const cli = (...args: string[]) => fixture.redis!.cli(...args)

    for (const [side, type, path] of [
      ['business', 'BUSINESS', '/api/v1/b/x'],
      ['consumer', 'CONSUMER', '/api/v1/c/x'],
    ] as const) {
      t.test(`session token record: svc:auth:${type}:token:<token> holds the specified JSON`, async t => {
        const user = someone()
        const began = fixture.now()
        const token = await fixture.gateway.sides[side].login(undefined, user, { role: 'r', nickname: 'N' })
        const value = JSON.parse(await cli('GET', `svc:auth:${type}:token:${token}`))
        t.same(Object.keys(value), ['user_id', 'type', 'created_at', 'extra'])
        t.match(value, { user_id: user, type, created_at: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/ })
        t.same(value.extra, { role: 'r', nickname: 'N' })
        const ttl = Number(await cli('TTL', `svc:auth:${type}:token:${token}`))
        t.ok(isLeftOf(2_592_000, ttl, fixture.now() - began), `${ttl} seconds`)
      })

      t.test(
        `user session set: svc:auth:${type}:session:<user_id> holds the user's tokens as long as they live`,
        async t => {
          const user = someone()
          const token = await fixture.gateway.sides[side].login(undefined, user)
          t.equal((await cli('TYPE', `svc:auth:${type}:session:${user}`)).trim(), 'set')
          t.same((await cli('SMEMBERS', `svc:auth:${type}:session:${user}`)).trim().split('\n'), [token])
          const ttl = Number(await cli('PTTL', `svc:auth:${type}:session:${user}`))
          t.ok(ttl >= Number(await cli('PTTL', `svc:auth:${type}:token:${token}`)) - 50)
        },
      )

      t.test(`disable record: a key of its own beside token and session, ${type}`, async t => {
        const user = someone()
        const began = fixture.now()
        await fixture.gateway.sides[side].disable(user, 100)
        t.equal((await cli('GET', `svc:auth:${type}:disable:${user}`)).trim(), '1')
        const ttl = Number(await cli('TTL', `svc:auth:${type}:disable:${user}`))
        t.ok(isLeftOf(100, ttl, fixture.now() - began), `${ttl} seconds`)
      })

      t.test(`a record that another program wrote authenticates, is listed and is kicked out, ${type}`, async t => {
        const user = someone()
        // The other program shares the secret: it signs a token of its own and writes the record and the set.
        const token = await fixture.gateway.sides[side].login(undefined, someone())
        const record = { user_id: user, type, created_at: '2026-01-02T03:04:05+08:00', extra: { nickname: 'Other' } }
        await cli('SET', `svc:auth:${type}:token:${token}`, JSON.stringify(record), 'EX', '1000')
        await cli('SADD', `svc:auth:${type}:session:${user}`, token)
        const served = await fixture.get(path, token)
        t.equal(served.status, 200)
        t.equal(fixture.upstream.requests.at(-1)!.headers['x-login-id'], user)
        t.same(
          (await fixture.store.sessions.tokens(type, user)).map(entry => entry.token),
          [token],
        )
        await fixture.gateway.sides[side].kickout(user)
        t.equal((await fixture.get(path, token)).json().code, 401)
        t.equal((await cli('EXISTS', `svc:auth:${type}:token:${token}`)).trim(), '0')
      })
    }

    t.test('the captcha answer: svc:auth:BUSINESS:captcha:<id>, gone after the first try', async t => {
      const began = fixture.now()
      const { captcha_id } = (await fixture.get('/api/v1/public/b/captcha')).json().data
      t.match((await cli('GET', `svc:auth:BUSINESS:captcha:${captcha_id}`)).trim(), /^[A-Za-z0-9]{4}$/)
      const left = Number(await cli('TTL', `svc:auth:BUSINESS:captcha:${captcha_id}`))
      t.ok(isLeftOf(300, left, fixture.now() - began))
      await fixture.post('/api/v1/public/b/login', { captcha_id, captcha_value: '!', username: 'x', password: 'y' })
      t.equal((await cli('EXISTS', `svc:auth:BUSINESS:captcha:${captcha_id}`)).trim(), '0')
    })

    t.test('no key without a lifetime', async t => {
      await fixture.signIn()
      // -1: no lifetime. A key may have ended since it was listed: -2.
      for (const key of (await cli('KEYS', '*')).trim().split('\n'))
        t.not(Number(await cli('TTL', key)), -1, key.slice(0, 40))
    })
  })
}

t.test('a login id that another program has disabled without an end is disabled', { skip }, async t => {
  const config = { disable: { enforce: 'request' } }
  const fixture = await openFixture(t, { profile: 2, store: 'redis', config })
  const { business } = fixture.gateway.sides
  const user = someone()
  const token = await business.login(undefined, user)
  await fixture.redis!.cli('SET', `svc:auth:BUSINESS:disable:${user}`, '1')
  t.equal(await business.isDisable(user), true)
  await t.rejects(business.checkDisable!(user), { message: 'DISABLED' })
  t.equal(await business.getDisableTime!(user), MAX_SECONDS)
  const refused = { code: 403, data: { disable_time: MAX_SECONDS } }
  t.match(await fixture.operate('business', 'login', { user_id: user }), refused)
  t.match((await fixture.get('/api/v1/b/x', token)).json(), refused, 'on requests, too')
  const explain = { method: 'POST', path: '/operations/v1/explain', token: fixture.settings.internal.secret }
  const body = { method: 'GET', target: '/api/v1/b/x', token }
  t.match((await call(fixture.internal, { ...explain, body })).text, 'the login id, without an end')
  t.equal(await business.untieDisable(user), true)
  t.equal((await fixture.get('/api/v1/b/x', token)).status, 200)
})

t.test('the prefix is configurable, to share a Redis with programs that use another', { skip }, async t => {
  const fixture = await openFixture(t, { store: 'redis', environment: { STORE__PREFIX: 'hei:auth' } })
  const token = await fixture.gateway.sides.business.login(undefined, 'u1')
  t.equal((await fixture.redis!.cli('EXISTS', `hei:auth:BUSINESS:token:${token}`)).trim(), '1')
  t.same(await fixture.redis!.cli('KEYS', 'svc:*').then(keys => keys.trim()), '')
})
