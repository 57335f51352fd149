import t from 'tap'
import { faultsOf } from '../settings/folder.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'

t.test('another program finds the captchas under login.captcha.key', { skip: withoutRedis }, async t => {
  const fixture = await openFixture(t, {
    store: 'redis',
    config: { login: { captcha: { key: '{type}:captcha:{id}' } } },
  })
  const { captcha_id } = (await fixture.get('/api/v1/public/b/captcha')).json().data
  t.match(await fixture.redis!.cli('GET', `BUSINESS:captcha:${captcha_id}`), /^[A-Z0-9]{4}$/)
  t.equal(await fixture.redis!.cli('EXISTS', `svc:auth:BUSINESS:captcha:${captcha_id}`), '0')
  t.type(await fixture.signIn(ADMIN.username), 'string', 'and the gateway itself accepts them')
})

t.test('without the setting, captchas are stored under the prefix', { skip: withoutRedis }, async t => {
  const fixture = await openFixture(t, { store: 'redis' })
  const { captcha_id } = (await fixture.get('/api/v1/public/b/captcha')).json().data
  t.equal(await fixture.redis!.cli('EXISTS', `svc:auth:BUSINESS:captcha:${captcha_id}`), '1')
})

const REFUSED = [
  '{id}',
  'captcha:{id}',
  '{type}:{id}',
  '{prefix}:{type}:token:{id}',
  '{type}:captcha:{id}:x',
  '{type}:captcha:{name}',
  '{type}:captcha:{id}{id}',
  ' {type}:captcha:{id}',
  '*{type}:captcha:{id}',
]
for (const key of REFUSED) {
  t.test(`an invalid captcha key: ${key}`, async t => {
    t.match(faultsOf(t, `login: { captcha: { key: "${key}" } }`), [/login\.captcha\.key: must be a key with \{type\}/])
  })
}
