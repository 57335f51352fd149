import t, { type Test } from 'tap'
import { createKey } from '../../src/upstream/balance/hash-key.ts'
import { createUpstreamTable } from '../../src/upstream/table.ts'
import type { HttpTarget } from '../../src/upstream/targets.ts'
import type { Upstream } from '../../src/upstream/upstream.ts'
import { clockOf, createTestClock } from '../support/clock.ts'
import { upstreamSettings, type WrittenUpstream } from '../support/forward-fixture.ts'

/* The same client goes to the same target, and moves only with its target. */

const IDS = Array.from({ length: 100_000 }, (_, index) => `CONSUMER user-${index}`)
const URLS = Array.from({ length: 10 }, (_, index) => `http://10.0.0.${index + 1}:3000`)

function open(t: Test, targets: NonNullable<WrittenUpstream['targets']>, clock = clockOf(() => 0)): Upstream {
  const table = createUpstreamTable([upstreamSettings({ targets, balance: { hash: 'login-id' } })], { clock })
  t.teardown(() => table.close())
  return table.upstreams[0]!
}

const placesOf = (upstream: Upstream): string[] => IDS.map(id => upstream.next(id)!.url)

const eject = (target: HttpTarget): void => {
  const { era } = target.health
  for (let i = 0; i < 5; i++) target.failed(era, new Error('failed'))
}

/** The share of the ids that are at another target. */
const moved = (before: string[], after: string[]): number =>
  before.filter((url, index) => url !== after[index]).length / IDS.length

t.test('100 000 ids over ten targets: shares within 5 %', async t => {
  const places = placesOf(open(t, URLS))
  for (const url of URLS) {
    const share = places.filter(place => place === url).length / IDS.length
    t.ok(Math.abs(share - 0.1) <= 0.005, `${url} has ${share}`)
  }
  t.same(placesOf(open(t, URLS.toReversed())), places, 'in any order, and in every process')
})

t.test('when one of ten targets goes, its ids move and no others, to all of the rest', async t => {
  const before = placesOf(open(t, URLS))
  const [gone, ...rest] = URLS
  const after = placesOf(open(t, rest))
  const share = moved(before, after)
  t.ok(Math.abs(share - 0.1) <= 0.02, `${share} moved`)
  t.ok(before.every((url, index) => url === gone || url === after[index]))
  const heirs = after.filter((_, index) => before[index] === gone)
  for (const url of rest) {
    const inherited = heirs.filter(place => place === url).length / heirs.length
    t.ok(Math.abs(inherited - 1 / 9) <= 0.02, `${url} gets ${inherited} of them`)
  }
})

t.test('an ejected target loses its ids until it is back', async t => {
  const clock = createTestClock(0)
  const upstream = open(t, URLS, clock)
  const before = placesOf(upstream)
  const out = upstream.targets[3]!
  eject(out)
  const during = placesOf(upstream)
  t.ok(during.every((url, index) => url !== out.url && (before[index] === out.url || url === before[index])))
  clock.time = 10_000
  const [theirs] = IDS.filter((_, index) => before[index] === out.url)
  t.equal(upstream.next(theirs!), out, 'it is tried by one of its own')
  t.not(upstream.next(theirs!), out, 'and by one only')
  out.succeeded(out.health.era)
  t.same(placesOf(upstream), before)
})

t.test('shares are by weight, and a changed weight moves no more than it must', async t => {
  const weighted = (weights: number[]) => URLS.slice(0, 3).map((url, index) => ({ url, weight: weights[index]! }))
  const before = placesOf(open(t, weighted([1, 2, 7])))
  for (const [index, expected] of [0.1, 0.2, 0.7].entries()) {
    const share = before.filter(place => place === URLS[index]).length / IDS.length
    t.ok(Math.abs(share - expected) <= 0.05 * expected, `weight ${expected * 10} has ${share}`)
  }
  const without = placesOf(open(t, weighted([0, 2, 7])))
  t.ok(
    before.every((url, index) => url === URLS[0] || url === without[index]),
    'weight 0 is a target that went',
  )
  const heavier = placesOf(open(t, weighted([5, 2, 7])))
  t.ok(
    heavier.every((url, index) => url === URLS[0] || url === before[index]),
    'a heavier one only gains',
  )
})

t.test('a failed request goes where its client goes without that target', async t => {
  const upstream = open(t, URLS)
  for (const id of IDS.slice(0, 100)) {
    const own = upstream.next(id)!
    const next = upstream.another([own], id)!
    t.equal(
      next.url,
      open(
        t,
        URLS.filter(url => url !== own.url),
      ).next(id)!.url,
    )
  }
  t.equal(upstream.another(upstream.targets, 'x'), null)
})

t.test('where all targets are down, each client has its own', async t => {
  const upstream = open(t, URLS)
  const before = placesOf(upstream)
  for (const target of upstream.targets) eject(target)
  t.same(placesOf(upstream), before)
})

t.test('requests without a key go to the targets in turn', async t => {
  const upstream = open(t, URLS.slice(0, 3))
  t.same(
    Array.from({ length: 6 }, () => upstream.next(null)!.url),
    [...URLS.slice(0, 3), ...URLS.slice(0, 3)],
  )
  t.equal(upstream.another(upstream.targets.slice(1), null), upstream.targets[0])
})

const RECORD = { created_at: '', extra: {} }

t.test('the key is the login id with its side, a header, or the address', async t => {
  const session = (type: 'BUSINESS' | 'CONSUMER') => ({ record: { ...RECORD, type, user_id: '7' } })
  const request = { session: session('CONSUMER'), headers: { 'x-tenant': 'red', 'x-empty': '' }, client: '10.0.0.1' }
  const login = createKey('login-id')
  t.not(login(request), login({ ...request, session: session('BUSINESS') }))
  t.equal(login(request), login({ ...request, headers: {}, client: '10.0.0.2' }))
  t.equal(login({ ...request, session: null }), null)
  t.equal(createKey('address')({ ...request, session: null }), '10.0.0.1')
  t.equal(createKey('header:X-Tenant')(request), 'red')
  t.equal(createKey('header:X-Empty')(request), null)
  t.equal(createKey('header:X-Other')(request), null)
})
