import t from 'tap'
import { Refusal } from '../../src/base/refusal.ts'
import { RateLimit, type RateLimitSettings } from '../../src/gate/rate-limit.ts'
import type { LoginType } from '../../src/session/sides.ts'
import { createTestClock } from '../support/clock.ts'

/* The token bucket of a client, by a clock of the test. */

const START = 1_000_000

function open(settings: Partial<RateLimitSettings>, workers = 1) {
  const clock = createTestClock(START)
  const limit = new RateLimit({ requests: 10, window: 1000, per: 'login-id', ...settings }, workers, clock)
  const take = (network: string | null, session: { record: object } | null = null): Refusal | null => {
    try {
      limit.take({ session, network } as Parameters<RateLimit['take']>[0])
      return null
    } catch (refusal) {
      if (refusal instanceof Refusal) return refusal
      throw refusal
    }
  }
  /** How many of so many requests are admitted. */
  const admitted = (count: number, network: string): number =>
    Array.from({ length: count }, () => take(network)).filter(refusal => refusal === null).length
  return { clock, limit, take, admitted }
}

const userOf = (user_id: string, type: LoginType = 'CONSUMER') => ({ record: { user_id, type } })

t.test('a bucket holds `requests`, unless `burst` says otherwise, and fills evenly over the window', async t => {
  for (const [settings, size] of [
    [{}, 10],
    [{ burst: 3 }, 3],
    [{ burst: 30 }, 30],
  ] as const) {
    const { clock, admitted } = open(settings)
    t.equal(admitted(50, 'a'), size)
    clock.time += 99
    t.equal(admitted(5, 'a'), 0)
    clock.time += 1
    t.equal(admitted(5, 'a'), 1, 'one in a tenth of the window')
    clock.time += 300
    t.equal(admitted(50, 'a'), 3)
    clock.time += 3_600_000
    t.equal(admitted(50, 'a'), size, 'never more than it holds')
  }
})

t.test('a refused request is not counted: a client that keeps asking gets what the limit says', async t => {
  const { clock, take } = open({ requests: 10, burst: 1 })
  let admitted = 0
  for (let i = 0; i < 10_000; i++, clock.time++) if (take('a') === null) admitted++
  t.equal(admitted, 100)
})

t.test('each worker admits its share, and at least one request', async t => {
  const { clock, admitted } = open({ requests: 100, burst: 21 }, 4)
  t.equal(admitted(50, 'a'), 5)
  clock.time += 1000
  t.equal(admitted(50, 'a'), 5)
  clock.time += 40
  t.equal(admitted(50, 'a'), 1, '25 per second')
  t.equal(open({ requests: 1 }, 4).admitted(50, 'a'), 1)
})

t.test('login ids of each side, and networks without a session, are clients of their own', async t => {
  const { take } = open({ requests: 1 })
  t.equal(take('10.0.0.1', userOf('7')), null)
  t.match(take('10.0.0.2', userOf('7')), { reason: 'RATE_LIMITED' }, 'from everywhere')
  t.equal(take('10.0.0.1', userOf('8')), null)
  t.equal(take('10.0.0.1', userOf('7', 'BUSINESS')), null)
  t.equal(take('10.0.0.1'), null)
  t.match(take('10.0.0.1'), { reason: 'RATE_LIMITED' })
  t.equal(take('CONSUMER 9'), null)
  t.equal(take(null), null, 'an address that is not known')
  t.equal(take(null), null)
  const byAddress = open({ requests: 1, per: 'address' })
  t.equal(byAddress.take('10.0.0.1', userOf('7')), null)
  t.match(byAddress.take('10.0.0.1', userOf('8')), { reason: 'RATE_LIMITED' })
  t.equal(byAddress.take('10.0.0.2', userOf('7')), null)
})

t.test('a refusal says when to come back, whole seconds and none too early', async t => {
  const { clock, take } = open({ requests: 2, window: 10_000 })
  take('a')
  take('a')
  clock.time += 1500
  t.match(take('a'), {
    retryAfter: 4,
    headers: { 'ratelimit-policy': '"login-id";q=2;w=10', ratelimit: '"login-id";r=0;t=4' },
  })
  clock.time += 3499
  t.match(take('a'), { retryAfter: 1 })
  clock.time++
  t.equal(take('a'), null)
})

t.test('an explanation counts nothing', async t => {
  const { limit, take } = open({ requests: 1 })
  const client = { session: null, network: 'a' }
  for (let i = 0; i < 3; i++) limit.inspect(client)
  t.equal(limit.size, 0)
  t.equal(take('a'), null)
  t.throws(() => limit.inspect(client), { message: 'RATE_LIMITED' })
})

t.test('a clock that is set back locks no client out for longer than its bucket takes to fill', async t => {
  const { clock, take, admitted } = open({})
  admitted(50, 'a')
  clock.setBack = 3_600_000
  t.match(take('a'), { retryAfter: 1 })
  clock.time += 2000
  t.equal(admitted(50, 'a'), 10)
})

t.test('memory is bounded, and clients with a full bucket need none', async t => {
  const { clock, limit, take, admitted } = open({})
  for (let i = 0; i < 250_000; i++) take(`client ${i}`)
  t.ok(limit.size <= 100_000, `${limit.size}`)
  clock.time += 2001
  take('one')
  clock.time += 2001
  take('one')
  t.equal(limit.size, 1)
  t.equal(admitted(50, 'one'), 9)
})

t.test('a client in use keeps its bucket however many others come', async t => {
  const { take, admitted } = open({})
  t.equal(admitted(50, 'busy'), 10)
  for (let i = 0; i < 120_000; i++) {
    take(`client ${i}`)
    if (i % 10_000 === 0) t.match(take('busy'), { reason: 'RATE_LIMITED' })
  }
})
