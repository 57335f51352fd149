import t from 'tap'
import { networkOf } from '../../src/login/address.ts'
import { openDesk, PASSWORD, refusalOf } from './desk.ts'

const NETWORKS: readonly (readonly [string, string])[] = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002:ffff::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', ''],
  ['unix:', 'unix:'],
]

t.test('attempts are counted by IPv4 address, and by the /64 of an IPv6 address', async t => {
  for (const [address, network] of NETWORKS) t.equal(networkOf(address), network, address)
})

t.test('captchas and logins are limited apart, per address, and told when to come again', async t => {
  const desk = await openDesk({ rateLimit: { captcha: 3, login: 2, window: 60_000 } })
  t.teardown(desk.close)
  for (let i = 0; i < 3; i++) await desk.login.issueCaptcha('192.0.2.1')
  desk.time.now += 15_000
  const refusal = await refusalOf(desk.login.issueCaptcha('192.0.2.1'))
  t.match(refusal, { reason: 'TOO_MANY_ATTEMPTS', params: { seconds: 45 }, retryAfter: 45 })
  t.ok(await desk.login.issueCaptcha('192.0.2.2'))
  t.equal(await desk.attempt('admin', PASSWORD), 'granted')
  t.equal(await desk.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await desk.attempt('admin', PASSWORD), 'TOO_MANY_ATTEMPTS', 'right passwords are attempts too')
  desk.time.now += 60_000
  t.equal(await desk.attempt('admin', PASSWORD), 'granted')
  t.ok(await desk.login.issueCaptcha('192.0.2.1'))
})

t.test('another address of the same /64 is the same caller', async t => {
  const desk = await openDesk({ rateLimit: { captcha: 1, login: 1, window: 60_000 } })
  t.teardown(desk.close)
  await desk.login.issueCaptcha('2001:db8::1')
  t.match(await refusalOf(desk.login.issueCaptcha('2001:db8::2')), { reason: 'TOO_MANY_ATTEMPTS' })
  t.ok(await desk.login.issueCaptcha('2001:db8:0:1::1'))
})

t.test('an attempt over the limit does not use up its captcha', async t => {
  const desk = await openDesk({ rateLimit: { captcha: 9, login: 1, window: 60_000 } })
  t.teardown(desk.close)
  await desk.attempt('admin', 'wrong')
  const request = await desk.credentials('admin', PASSWORD)
  t.match(await refusalOf(desk.login.login(request)), { reason: 'TOO_MANY_ATTEMPTS' })
  desk.time.now += 60_000
  t.ok(await desk.login.login(request))
})
