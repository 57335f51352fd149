import { randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import type { Answer } from '../support/client.ts'
import { call } from '../support/client.ts'
import { ADMIN, type Fixture, type FixtureOptions, openFixture } from '../support/gateway-fixture.ts'
import { startRedis, withoutRedis } from '../support/redis-server.ts'
import { startSupervised } from '../support/supervised.ts'
import { PATIENCE, until } from '../support/until.ts'

/* The address that attempts are counted by: clients cannot choose it by a header, another worker or another gateway. */

const LOGIN = '/api/v1/public/b/login'
const CAPTCHA = '/api/v1/public/b/captcha'
const LIMIT = 3
const LIMITED = { rate_limit: { captcha: LIMIT, login: LIMIT, window: '600s' } }

async function open(t: Test, options: FixtureOptions): Promise<Fixture> {
  const fixture = await openFixture(t, options)
  return fixture
}

/** The codes of requests for captchas with these `X-Forwarded-For` headers, one after the other. */
async function codesOf(fixture: Fixture, chains: readonly (string | null)[]): Promise<number[]> {
  const codes: number[] = []
  for (const chain of chains) {
    const headers = chain === null ? {} : { 'x-forwarded-for': chain }
    codes.push((await fixture.call({ path: CAPTCHA, headers })).json().code)
  }
  return codes
}

/** Guesses at one name, twelve at once, of which as many are checked as lock it. A busy machine refuses some unchecked: others follow. */
async function expectLockBy(t: Test, failures: number, guess: (number: number) => Promise<number>): Promise<void> {
  const codes = await Promise.all(Array.from({ length: 12 }, (_, number) => guess(number)))
  while (codes.at(-1) !== 403) codes.push(await guess(codes.length))
  t.same(new Set(codes.filter(code => code !== 503)), new Set([400, 403]))
  t.equal(codes.filter(code => code === 400).length, failures)
}

t.test('without trusted proxies no header changes the address of a client', async t => {
  const fixture = await open(t, { config: { login: LIMITED } })
  const codes = await codesOf(fixture, ['192.0.2.1', '192.0.2.2', null, '192.0.2.3', '::1', 'unknown'])
  t.same(codes, [200, 200, 200, 429, 429, 429])
  for (const name of [
    'x-real-ip',
    'forwarded',
    'x-client-ip',
    'cf-connecting-ip',
    'true-client-ip',
    'x_forwarded_for',
  ]) {
    const answer = await fixture.call({ path: CAPTCHA, headers: { [name]: '192.0.2.9' } })
    t.equal(answer.json().code, 429, name)
  }
})

t.test(
  'the addresses of a request are compared with the trusted proxies once, however many its client has sent',
  async t => {
    const upstreams = [
      { name: 'echo', match: '/api/v1', target: 'builtin:echo', rate_limit: { requests: 9, window: '60s' } },
    ]
    const fixture = await open(t, { config: { trusted_proxies: ['127.0.0.1', '10.0.0.0/8'], upstreams } })
    let reads = 0
    const watch = (message: unknown): void => {
      const { headers } = (message as { request: IncomingMessage }).request
      let value = headers['x-forwarded-for']
      Object.defineProperty(headers, 'x-forwarded-for', {
        get() {
          reads++
          return value
        },
        set(changed: string) {
          value = changed
        },
      })
    }
    subscribe('http.server.request.start', watch)
    t.teardown(() => unsubscribe('http.server.request.start', watch))
    const chain = `192.0.2.1${', 10.0.0.7'.repeat(1500)}`
    const path = '/api/v1/public/b/once'
    t.equal((await fixture.call({ path, headers: { 'x-forwarded-for': chain } })).status, 200)
    const line = await until(() => fixture.log.map(text => JSON.parse(text)).find(line => line.path === path))
    t.equal(line.ip, '192.0.2.1')
    t.equal(reads, 3, 'for ports, whether it is there, and by Fastify')
  },
)

t.test('behind a trusted proxy the address that the proxy saw counts, not an address from the client', async t => {
  const fixture = await open(t, { config: { trusted_proxies: ['127.0.0.1'], login: LIMITED } })
  const forged = ['198.51.100.1', '198.51.100.2, 127.0.0.1', 'nonsense', '10.0.0.1, 198.51.100.3', ''].map(
    written => `${written}, 192.0.2.1`,
  )
  t.same(await codesOf(fixture, forged), [200, 200, 200, 429, 429])
  t.same(
    await codesOf(fixture, ['192.0.2.2', '192.0.2.2', '192.0.2.2', '192.0.2.2']),
    [200, 200, 200, 429],
    'another client',
  )
  t.same(
    await codesOf(fixture, ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::4']),
    [200, 200, 200, 429],
    'a /64',
  )
})

t.test('proxies in the trusted ranges are trusted, any number in a row', async t => {
  const fixture = await open(t, { config: { trusted_proxies: ['127.0.0.1', '10.0.0.0/8'], login: LIMITED } })
  const chains = ['192.0.2.7, 10.1.1.1, 10.2.2.2', '1.1.1.1, 192.0.2.7, 10.9.9.9', '10.3.3.3, 192.0.2.7', '192.0.2.7']
  t.same(await codesOf(fixture, chains), [200, 200, 200, 429])
  await fixture.call({ path: '/api/v1/public/c/x', headers: { 'x-forwarded-for': '1.1.1.1, 192.0.2.7, 10.9.9.9' } })
  t.equal(fixture.upstream.requests.at(-1)!.headers['x-forwarded-for'], '192.0.2.7', 'and the upstream gets the same')
})

t.test('gateways on one Redis count together', { skip: withoutRedis }, async t => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const options = { config: { store: { kind: 'redis', timeout: '20s', redis: { url: redis.url } }, login: LIMITED } }
  const [one, other] = [await open(t, options), await open(t, options)]
  const codes: number[] = []
  for (const fixture of [one, other, one, other, one]) codes.push((await fixture.get(CAPTCHA)).json().code)
  t.same(codes, [200, 200, 200, 429, 429])
})

t.test('workers of one gateway count together', async t => {
  const gateway = await startSupervised(t, {
    environment: { LOGIN__RATE_LIMIT__CAPTCHA: '5', LOGIN__RATE_LIMIT__LOGIN: '5', LOGIN__RATE_LIMIT__WINDOW: '600s' },
  })
  // Each on a connection of its own, so that both workers get some.
  const captchas = await Promise.all(Array.from({ length: 20 }, () => call(gateway.url, { path: CAPTCHA })))
  // On a busy machine some of so many pictures at once are refused, which counts all the same.
  t.equal(captchas.filter(answer => answer.json().code !== 429).length, 5)
  const body = { captcha_id: 'x', captcha_value: 'x', username: 'x', password: 'x' }
  const login = (): Promise<Answer> => call(gateway.url, { method: 'POST', path: LOGIN, body })
  const logins = await Promise.all(Array.from({ length: 20 }, login))
  t.equal(logins.filter(answer => answer.json().code !== 429).length, 5)
})

t.test('a name that an attacker locks cannot log in, but its sessions and those of others continue', async t => {
  const fixture = await open(t, { config: { trusted_proxies: ['127.0.0.1'] } })
  const attempt = async (address: string, username: string, password: string) => {
    const body = await fixture.credentials(username, password)
    const headers = { 'x-forwarded-for': address }
    return (await fixture.call({ method: 'POST', path: LOGIN, headers, body })).json()
  }
  const before = await fixture.signIn()
  for (let i = 0; i < 5; i++) t.equal((await attempt(`203.0.113.${i}`, ADMIN.username, 'guess')).code, 400)
  t.match(await attempt('192.0.2.1', ADMIN.username, ADMIN.password), { code: 403, message: 'Account disabled' })
  t.equal((await fixture.get('/api/v1/b/x', before)).status, 200, 'live sessions stay')
  t.notOk(await fixture.gateway.sides.consumer.isDisable('1'), 'the same id on the other side is another user')
  t.equal((await attempt('192.0.2.1', 'someone-else', 'guess')).code, 400, 'other names are not locked')
  await fixture.gateway.sides.business.untieDisable('1')
  t.equal((await attempt('192.0.2.1', ADMIN.username, ADMIN.password)).code, 200, 'an administrator ends it')
})

t.test('an address that guesses has to wait, and other addresses do not', async t => {
  const lockout = { failures: 1000, address_failures: 4, address_window: '600s' }
  const fixture = await open(t, { config: { trusted_proxies: ['127.0.0.1'], login: { lockout } } })
  const attempt = async (address: string, username: string, password: string) => {
    const body = await fixture.credentials(username, password)
    const headers = { 'x-forwarded-for': address }
    return (await fixture.call({ method: 'POST', path: LOGIN, headers, body })).json().code
  }
  // Names in turn: no name has many failures.
  for (let i = 0; i < 4; i++) t.equal(await attempt('203.0.113.1', `name-${i}`, 'guess'), 400)
  t.equal(await attempt('203.0.113.1', ADMIN.username, ADMIN.password), 429)
  t.equal(await attempt('192.0.2.1', ADMIN.username, ADMIN.password), 200)
})

t.test('failures at one gateway count at every other', { skip: withoutRedis }, async t => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const options = {
    config: {
      trusted_proxies: ['127.0.0.1'],
      store: { kind: 'redis', timeout: '20s', redis: { url: redis.url } },
      login: { lockout: { failures: 4, address_failures: 6, address_window: '600s' } },
    },
  }
  const fixtures = [await open(t, options), await open(t, options)]
  const attempt = async (i: number, address: string, username: string, password: string) => {
    const fixture = fixtures[i % 2]!
    const body = await fixture.credentials(username, password)
    const headers = { 'x-forwarded-for': address }
    return (await fixture.call({ method: 'POST', path: LOGIN, headers, body })).json().code
  }
  for (let i = 0; i < 4; i++) t.equal(await attempt(i, `203.0.113.${i}`, ADMIN.username, 'guess'), 400)
  for (let i = 0; i < 2; i++) {
    t.equal(await attempt(i, '192.0.2.1', ADMIN.username, ADMIN.password), 403, 'the name is locked')
  }
  await fixtures[0]!.gateway.sides.business.untieDisable('1')
  for (let i = 0; i < 2; i++) {
    t.equal(await attempt(i, '192.0.2.1', ADMIN.username, ADMIN.password), 200, 'and free again')
  }
  await expectLockBy(t, 4, number => attempt(number % 2, `203.0.113.${number}`, 'stranger', 'guess'))
  for (let i = 0; i < 6; i++) t.equal(await attempt(i, '198.51.100.1', `name-${i}`, 'guess'), 400)
  for (let i = 0; i < 2; i++) {
    t.equal(await attempt(i, '198.51.100.1', ADMIN.username, ADMIN.password), 429, 'the address has to wait')
  }
})

t.test('failures at one worker count at every other', async t => {
  const gateway = await startSupervised(t, {
    environment: { LOGIN__RATE_LIMIT: 'off', STORE__TIMEOUT: '20s' },
  })
  const store = await openEmbeddedStore(join(gateway.folder, 'data'), systemClock, PATIENCE)
  t.teardown(() => store.close())
  const attempt = async (): Promise<number> => {
    // Not drawn: on a busy machine so many pictures at once are refused.
    const captcha_id = randomUUID()
    await store.captchas.put('BUSINESS', captcha_id, 'abcd', systemClock.now() + 60_000)
    const body = { captcha_id, captcha_value: 'abcd', username: 'nobody', password: 'guess' }
    return (await call(gateway.url, { method: 'POST', path: LOGIN, body })).json().code
  }
  // Each on a connection of its own, so that both workers get some.
  await expectLockBy(t, 5, attempt)
  t.same(await Promise.all(Array.from({ length: 12 }, attempt)), Array(12).fill(403))
})
