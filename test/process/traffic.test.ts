import t from 'tap'
import { call } from '../support/client.ts'
import { startSupervised } from '../support/supervised.ts'
import { startUpstream } from '../support/upstream.ts'

/* What a reload changes in the traffic to the upstreams, with two workers. */

t.test('with a hash, both workers send a user to the same target, before and after a reload', async t => {
  const backends = await Promise.all(
    ['a', 'b', 'c'].map(name => startUpstream({ answer: (_request, response) => void response.end(name) })),
  )
  t.teardown(() => Promise.all(backends.map(backend => backend.close())))
  const gateway = await startSupervised(t)
  const names = new Set<string>()
  for (let reload = 0; reload < 2; reload++) {
    const targets = JSON.stringify(backends.map(({ url }) => url))
    const entry = `{ name: hashed, match: /api, targets: ${targets}, balance: { hash: login-id } }`
    gateway.write('config/upstreams.yaml', `upstreams: [${entry}]\n`)
    t.equal((await gateway.reload()).code, 0)
    for (let i = 0; i < 20; i++) {
      names.add((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).text)
    }
  }
  t.equal(names.size, 1)
})

t.test('a reload takes an upstream out of service and back, for both workers', async t => {
  const gateway = await startSupervised(t)
  const statuses = async (): Promise<number[]> => {
    const asked = Array.from({ length: 12 }, () => call(gateway.url, { path: '/api/v1/c/x', token: gateway.token }))
    return [...new Set((await Promise.all(asked)).map(({ status }) => status))]
  }
  t.same(await statuses(), [200])
  const entry = `{ name: backend, match: /api, target: "${gateway.backend.url}", maintenance: { retry_after: 90s } }`
  gateway.write('config/upstreams.yaml', `upstreams: [${entry}]\n`)
  t.equal((await gateway.reload()).code, 0)
  t.same(await statuses(), [503])
  gateway.writeUpstream('second')
  t.equal((await gateway.reload()).code, 0)
  t.same(await statuses(), [200])
})

t.test('weights are shares of both workers together, and a reload changes them', async t => {
  const backends = await Promise.all(
    ['a', 'b'].map(name => startUpstream({ answer: (_request, response) => void response.end(name) })),
  )
  t.teardown(() => Promise.all(backends.map(backend => backend.close())))
  const gateway = await startSupervised(t)

  /** Of 80 requests on as many connections. */
  const sharesOf = async (weights: readonly number[]): Promise<number[]> => {
    const targets = backends.map(({ url }, index) => `{ url: "${url}", weight: ${weights[index]} }`)
    gateway.write('config/upstreams.yaml', `upstreams: [{ name: shared, match: /api, targets: [${targets}] }]\n`)
    t.equal((await gateway.reload()).code, 0)
    const names: string[] = []
    for (let i = 0; i < 80; i++) {
      names.push((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).text)
    }
    return ['a', 'b'].map(name => names.filter(one => one === name).length)
  }

  // Each worker begins a round of its own.
  for (const [weights, [a = 0]] of [
    [[1, 3], [20]],
    [[3, 1], [60]],
  ] as const) {
    const [first = 0, second = 0] = await sharesOf(weights)
    t.equal(first + second, 80)
    t.ok(Math.abs(first - a) <= 4, `${first} of 80 for ${weights}`)
  }
  t.same(await sharesOf([1, 0]), [80, 0])
  const ready = (await call(gateway.internal, { path: '/readyz' })).json()
  t.match(ready.upstreams, [{ name: 'shared', targets: [{ weight: 1 }, { weight: 0 }] }])
})

t.test('two workers share a rate limit, and a reload changes it', async t => {
  const gateway = await startSupervised(t)
  /** How many of 60 requests, each on a connection of its own, are admitted. */
  const admitted = async (requests: number): Promise<number> => {
    const limit = `{ requests: ${requests}, window: 3600s }`
    const entry = `{ name: backend, match: /api, target: "${gateway.backend.url}", rate_limit: ${limit} }`
    gateway.write('config/upstreams.yaml', `upstreams: [${entry}]\n`)
    t.equal((await gateway.reload()).code, 0)
    const statuses: number[] = []
    for (let i = 0; i < 60; i++) {
      statuses.push((await call(gateway.url, { path: '/api/v1/c/x', token: gateway.token })).status)
    }
    t.same([...new Set(statuses)].sort(), [200, 429])
    return statuses.filter(status => status === 200).length
  }
  t.equal(await admitted(20), 20)
  t.equal(await admitted(31), 30, 'half of it in each worker, whole requests')
})
