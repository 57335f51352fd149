import t from 'tap'
import { networkOf, siteOf } from '../../src/login/protection/network.ts'
import { openLoginFixture, PASSWORD, reasonOf, refusalOf } from '../support/login-fixture.ts'

const NETWORKS: readonly (readonly [string | undefined, string])[] = [
  [undefined, ''],
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
  ['unix:', ''],
  ['192.0.2.1:80', ''],
]

t.test('attempts are counted by IPv4 address, and by the /64 of an IPv6 address', async t => {
  for (const [address, network] of NETWORKS) t.equal(networkOf(address), network, String(address))
})

const SITES: readonly (readonly [string, string | null])[] = [
  ['192.0.2.1', '192.0.2.0/24'],
  ['192.0.2.255', '192.0.2.0/24'],
  ['192.0.3.1', '192.0.3.0/24'],
  ['::ffff:192.0.2.1', '192.0.2.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['2001:db8:1:ffff::', '2001:db8:1::/48'],
  ['2001:db8:2::', '2001:db8:2::/48'],
  ['fe80::1%eth0', 'fe80:0:0::/48'],
  ['', null],
  ['unix:', null],
]

t.test('the site around an address is its /24, or the /48 of an IPv6 address', async t => {
  for (const [address, site] of SITES) t.equal(siteOf(address), site, address)
})

const FLOODS: readonly (readonly [string, (i: number) => string, string, string])[] = [
  ['/64 networks of one /48', i => `2001:db8:1:${i.toString(16)}::1`, '2001:db8:1:ffff::1', '2001:db8:2::1'],
  ['addresses of one /24', i => `192.0.2.${i % 256}`, '192.0.2.200', '192.0.3.1'],
]

for (const [what, addressOf, within, outside] of FLOODS) {
  t.test(`many ${what} together get as many captchas as 32 addresses, and their neighbours go on`, async t => {
    const fixture = await openLoginFixture({ rateLimit: { captcha: 2, login: 1, window: 60_000 } })
    t.teardown(fixture.close)
    const reasons: string[] = []
    for (let i = 0; i < 100; i++) reasons.push(await reasonOf(fixture.login.issueCaptcha(addressOf(i))))
    t.equal(reasons.filter(reason => reason === 'granted').length, 64)
    t.match(await refusalOf(fixture.login.issueCaptcha(within)), { reason: 'TOO_MANY_ATTEMPTS', retryAfter: 60 })
    t.ok(await fixture.login.issueCaptcha(outside))
    fixture.time.now += 60_000
    t.ok(await fixture.login.issueCaptcha(within))
  })
}

t.test('refused attempts of an address do not count for its site', async t => {
  const fixture = await openLoginFixture({ rateLimit: { captcha: 1, login: 1, window: 60_000 } })
  t.teardown(fixture.close)
  for (let i = 0; i < 200; i++) await reasonOf(fixture.login.issueCaptcha('192.0.2.1'))
  t.ok(await fixture.login.issueCaptcha('192.0.2.2'))
})

t.test('captchas and logins have separate limits per address, with Retry-After', async t => {
  const fixture = await openLoginFixture({ rateLimit: { captcha: 3, login: 2, window: 60_000 } })
  t.teardown(fixture.close)
  for (let i = 0; i < 3; i++) await fixture.login.issueCaptcha('192.0.2.1')
  fixture.time.now += 15_000
  const refusal = await refusalOf(fixture.login.issueCaptcha('192.0.2.1'))
  t.match(refusal, { reason: 'TOO_MANY_ATTEMPTS', params: { seconds: 45 }, retryAfter: 45 })
  t.ok(await fixture.login.issueCaptcha('192.0.2.2'))
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
  t.equal(await fixture.attempt('admin', 'wrong'), 'WRONG_CREDENTIALS')
  t.equal(await fixture.attempt('admin', PASSWORD), 'TOO_MANY_ATTEMPTS', 'right passwords are attempts too')
  fixture.time.now += 60_000
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
  t.ok(await fixture.login.issueCaptcha('192.0.2.1'))
})

t.test('another address of the same /64 is the same client', async t => {
  const fixture = await openLoginFixture({ rateLimit: { captcha: 1, login: 1, window: 60_000 } })
  t.teardown(fixture.close)
  await fixture.login.issueCaptcha('2001:db8::1')
  t.match(await refusalOf(fixture.login.issueCaptcha('2001:db8::2')), { reason: 'TOO_MANY_ATTEMPTS' })
  t.ok(await fixture.login.issueCaptcha('2001:db8:0:1::1'))
})

t.test('an attempt over the limit does not consume its captcha', async t => {
  const fixture = await openLoginFixture({ rateLimit: { captcha: 9, login: 1, window: 60_000 } })
  t.teardown(fixture.close)
  await fixture.attempt('admin', 'wrong')
  const request = await fixture.credentials('admin', PASSWORD)
  t.match(await refusalOf(fixture.login.login(request)), { reason: 'TOO_MANY_ATTEMPTS' })
  fixture.time.now += 60_000
  t.ok(await fixture.login.login(request))
})

t.test('a window lasts no longer where the clock is set back', async t => {
  const fixture = await openLoginFixture({ rateLimit: { captcha: 100, login: 2, window: 60_000 } })
  t.teardown(fixture.close)
  for (let i = 0; i < 2; i++) await fixture.attempt('admin', PASSWORD)
  t.equal(await fixture.attempt('admin', PASSWORD), 'TOO_MANY_ATTEMPTS')
  fixture.time.now -= 3_600_000
  for (let i = 0; i < 2; i++) t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
  t.equal(await fixture.attempt('admin', PASSWORD), 'TOO_MANY_ATTEMPTS')
  fixture.time.now += 60_000
  t.equal(await fixture.attempt('admin', PASSWORD), 'granted')
})
