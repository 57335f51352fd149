import t, { type Test } from 'tap'
import { createUpstreamTable } from '../../src/upstream/table.ts'
import type { HttpTarget } from '../../src/upstream/targets.ts'
import type { Upstream } from '../../src/upstream/upstream.ts'
import { createTestClock } from '../support/clock.ts'
import { upstreamSettings, type WrittenUpstream } from '../support/forward-fixture.ts'
import { startRawUpstream } from '../support/upstream.ts'

/** Three targets that are never asked, `a` to `c`, and a clock that stands until it is set. */
function threeTargets(t: Test, written: WrittenUpstream = {}) {
  const clock = createTestClock(0)
  const targets = ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://127.0.0.1:3']
  const table = createUpstreamTable([upstreamSettings({ targets, ...written })], { clock })
  t.teardown(() => table.close())
  const upstream = table.upstreams[0]!
  return { upstream, clock, ...namesOf(upstream) }
}

function namesOf(upstream: Upstream) {
  const nameOf = (target: HttpTarget | null): string =>
    target === null ? '-' : 'abc'[upstream.targets.indexOf(target)]!
  return { nameOf, turns: (count: number) => Array.from({ length: count }, () => nameOf(upstream.next(null))).join('') }
}

function eject(target: HttpTarget): void {
  const { era } = target.health
  for (let i = 0; i < 5; i++) target.failed(era, new Error('failed'))
}

for (const balance of ['round-robin', 'least-pending'] as const) {
  t.test(`${balance}: ejected targets are skipped, and tried when their time is over`, async t => {
    const { upstream, clock, turns } = threeTargets(t, { balance })
    t.equal(turns(6), 'abcabc')
    eject(upstream.targets[1]!)
    t.notMatch(turns(12), 'b')
    clock.time = 10_000
    t.equal(turns(12).replaceAll(/[ac]/g, ''), 'b', 'by one request')
    clock.time = 11_000
    t.equal(turns(12).replaceAll(/[ac]/g, ''), 'b', 'a second')
    upstream.targets[1]!.succeeded(upstream.targets[1]!.health.era)
    t.match(turns(3), 'b', 'and get their share when one is answered')
  })

  t.test(`${balance}: a request that came before the targets changed goes on to one of the new ones`, async t => {
    const { upstream, nameOf } = threeTargets(t, { balance })
    t.match(nameOf(upstream.another([], null)), /[abc]/)
  })

  t.test(`${balance}: an ejection lasts no longer where the clock is set back`, async t => {
    const { upstream, clock, turns } = threeTargets(t, { balance })
    eject(upstream.targets[1]!)
    clock.setBack = 3_600_000
    clock.time = 10_000
    t.match(turns(12), 'b')
  })

  t.test(`${balance}: when no target is up, all are tried`, async t => {
    const { upstream, turns } = threeTargets(t, { balance })
    for (const target of upstream.targets) eject(target)
    t.same(new Set(turns(3)), new Set('abc'))
  })
}

t.test('a failed request goes to healthy targets first, and to each target once', async t => {
  const { upstream, nameOf } = threeTargets(t)
  const [a, b, c] = upstream.targets as [HttpTarget, HttpTarget, HttpTarget]
  t.equal(upstream.next(null), a)
  eject(b)
  t.equal(nameOf(upstream.another([a], null)), 'c')
  t.equal(nameOf(upstream.another([a, c], null)), 'b', 'better a chance than none')
  t.equal(upstream.another([a, b, c], null), null)
})

const WEIGHTED = ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://127.0.0.1:3'].map((url, index) => ({
  url,
  weight: [5, 1, 1][index]!,
}))

/** How often each letter occurs. */
const sharesOf = (turns: string): number[] => [...'abc'].map(letter => turns.split(letter).length - 1)

t.test('requests are shared by weight, without bursts to the heavy target', async t => {
  const { turns } = threeTargets(t, { targets: WEIGHTED })
  t.equal(turns(14), 'aabacaaaabacaa')
  t.same(sharesOf(turns(700)), [500, 100, 100])
})

t.test('weights that are all equal are no weights', async t => {
  const { turns } = threeTargets(t, { targets: WEIGHTED.map(({ url }) => ({ url, weight: 7 })) })
  t.equal(turns(6), 'abcabc')
})

t.test('a target without a weight has weight 1', async t => {
  const { turns } = threeTargets(t, { targets: ['http://127.0.0.1:1', { url: 'http://127.0.0.1:2', weight: 3 }] })
  t.same(sharesOf(turns(400)), [100, 300, 0])
})

for (const balance of ['round-robin', 'least-pending'] as const) {
  t.test(`${balance}: without the heavy target, the others share by their own weights`, async t => {
    const { upstream, clock, turns } = threeTargets(t, { targets: WEIGHTED, balance })
    const [heavy] = upstream.targets as [HttpTarget]
    eject(heavy)
    t.same(sharesOf(turns(100)), [0, 50, 50])
    clock.time = 10_000
    t.equal(turns(12).replaceAll(/[bc]/g, ''), 'a', 'it is tried by one request')
    heavy.succeeded(heavy.health.era)
    t.same(sharesOf(turns(700)), [500, 100, 100], 'and has its share again when one is answered')
  })

  t.test(`${balance}: weight 0 takes no new requests, whatever happens to the others`, async t => {
    const { upstream, nameOf, turns } = threeTargets(t, {
      targets: WEIGHTED.map(({ url }, index) => ({ url, weight: [2, 0, 1][index]! })),
      balance,
    })
    t.same(sharesOf(turns(300)), [200, 0, 100])
    const [a, , c] = upstream.targets as [HttpTarget, HttpTarget, HttpTarget]
    t.equal(nameOf(upstream.another([a], null)), 'c')
    t.equal(upstream.another([a, c], null), null)
    eject(a)
    eject(c)
    t.same(sharesOf(turns(300)), [200, 0, 100])
    t.match(upstream.targets[1]!.status(), { state: 'up', weight: 0 })
  })
}

t.test('where all are down, they are used by weight', async t => {
  const { upstream, turns } = threeTargets(t, { targets: WEIGHTED })
  for (const target of upstream.targets) eject(target)
  t.same(sharesOf(turns(700)), [500, 100, 100])
})

t.test('an upstream whose targets all have weight 0 is an error', async t => {
  t.throws(() => threeTargets(t, { targets: WEIGHTED.map(({ url }) => ({ url, weight: 0 })) }), /backend has no target/)
})

/** Servers that take requests and never answer. */
async function silent(t: Test, written: WrittenUpstream) {
  const servers = await Promise.all([1, 2, 3].map(() => startRawUpstream(() => {})))
  const table = createUpstreamTable([upstreamSettings({ targets: servers.map(({ url }) => url), ...written })])
  t.teardown(() => {
    table.close()
    return Promise.all(servers.map(server => server.close()))
  })
  const upstream = table.upstreams[0]!
  const ask = (target: HttpTarget): void =>
    target.dispatch(
      { method: 'GET', path: '/', headers: ['host', 'h'], body: null, client: 'c' },
      { onConnect() {}, onHeaders() {}, onData() {}, onAwait() {}, onComplete() {}, onError() {} },
    )
  return { upstream, ask, ...namesOf(upstream) }
}

t.test('least-pending: the target with the fewest requests in progress is next', async t => {
  const { upstream, ask, nameOf, turns } = await silent(t, { balance: 'least-pending' })
  const [a, b, c] = upstream.targets as [HttpTarget, HttpTarget, HttpTarget]
  for (const target of [a, a, b, b, b, c]) ask(target)
  t.equal(turns(4), 'cccc')
  for (const target of [c, c, c]) ask(target)
  t.equal(turns(2), 'aa')
  for (let i = 0; i < 9; i++) ask(upstream.next(null)!)
  t.same([a, b, c].map(nameOf), ['a', 'b', 'c'])
  t.same(
    [a, b, c].map(target => target.open),
    [6, 6, 6],
  )
})

t.test('least-pending: a target of weight 3 holds three times as many requests', async t => {
  const servers = await Promise.all([1, 2].map(() => startRawUpstream(() => {})))
  t.teardown(() => Promise.all(servers.map(server => server.close())))
  const targets = servers.map(({ url }, index) => ({ url, weight: [1, 3][index]! }))
  const { upstream, ask } = await silent(t, { balance: 'least-pending', targets })
  for (let i = 0; i < 40; i++) ask(upstream.next(null)!)
  t.same(
    upstream.targets.map(target => target.open),
    [10, 30],
  )
})

t.test('a target without a free connection is skipped while another has one', async t => {
  const { upstream, ask, turns } = await silent(t, { connections: { limit: 2 } })
  const [a, b, c] = upstream.targets as [HttpTarget, HttpTarget, HttpTarget]
  for (const target of [b, b]) ask(target)
  t.notMatch(turns(9), 'b')
  for (const target of [a, a, c, c]) ask(target)
  t.same(new Set(turns(3)), new Set('abc'), 'when none has, they wait in turn')
})
