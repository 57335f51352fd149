import t from 'tap'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN } from '../support/forward-fixture.ts'
import { startFixture } from '../support/gateway-fixture.ts'
import { PATIENCE, until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

const C = '/api/v1/c/things'
const HEALTH = { path: '/healthz?deep=1', interval: 20, timeout: PATIENCE, failures: 2, successes: 2 }

t.test('a target that fails its checks gets no requests until it passes them again', async t => {
  const broken = { is: false }
  const backends = await Promise.all(
    ['a', 'b'].map(name =>
      startUpstream({
        answer: (request, response) => {
          if (request.url === '/healthz?deep=1') response.statusCode = name === 'b' && broken.is ? 503 : 204
          response.end(name)
        },
      }),
    ),
  )
  const fixture = await openForwardFixture({ upstreams: [{ targets: backends.map(({ url }) => url), health: HEALTH }] })
  t.teardown(async () => {
    await fixture.close()
    for (const backend of backends) await backend.close()
  })
  const checks = () => backends[1]!.requests.filter(({ url }) => url === '/healthz?deep=1').length
  const ask = async () => (await call(fixture.url, { path: C, token: TOKEN.consumer })).text
  const answers = async (): Promise<string> => [await ask(), await ask(), await ask(), await ask()].sort().join('')
  const logged = (msg: string) => fixture.log.filter(line => line.msg === msg)

  t.ok(await until(() => checks() > 3))
  t.match(backends[1]!.requests[0], { method: 'GET', headers: { host: `127.0.0.1:${backends[1]!.port}` } })
  t.equal(await answers(), 'aabb')

  broken.is = true
  t.ok(await until(() => logged('target fails its health checks').length > 0))
  t.match(logged('target fails its health checks'), [
    { level: 40, upstream: 'backend', target: backends[1]!.url, err: { message: 'answered with 503' } },
  ])
  t.equal(await answers(), 'aaaa')
  t.match(fixture.table.status(), [{ targets: [{ state: 'up' }, { state: 'unhealthy' }] }])
  const seen = checks()
  t.ok(await until(() => checks() > seen + 3))

  broken.is = false
  t.ok(await until(() => logged('target passes its health checks').length > 0))
  t.equal(await answers(), 'aabb')
  t.equal(logged('target fails its health checks').length, 1, 'one line for one change')
})

t.test('unanswered checks fail, and leave no connections open', async t => {
  const backend = await startUpstream({ answer: () => {} })
  const fixture = await openForwardFixture({
    upstreams: [{ target: backend.url, health: { ...HEALTH, timeout: 100 } }],
  })
  t.teardown(async () => {
    await fixture.close()
    await backend.close()
  })
  t.ok(await until(() => fixture.log.some(line => line.msg === 'target fails its health checks')))
  t.ok((await backend.connections()) <= 2)
  backend.answer = (_request, response) => response.end('well')
  t.ok(await until(() => fixture.log.some(line => line.msg === 'target passes its health checks')))
})

t.test('/readyz shows every target, and a dead one does not make the gateway unready', async t => {
  const backend = await startUpstream()
  const gone = await startUpstream()
  await gone.close()
  const fixture = await startFixture({
    upstreams: [
      {
        name: 'shop',
        match: '/api/v1/c',
        targets: [backend.url, gone.url],
        health: { path: '/', interval: '1s', timeout: '5m' },
      },
      { name: 'echo', match: '/api/v1/x', target: 'builtin:echo' },
    ],
  })
  t.teardown(async () => {
    await fixture.close()
    await backend.close()
  })
  const ready = () => call(fixture.internal, { path: '/readyz' })
  t.ok(await until(async () => (await ready()).text.includes('unhealthy')))
  const answer = await ready()
  t.equal(answer.status, 200)
  t.match(answer.json(), {
    status: 'ok',
    upstreams: [
      {
        name: 'shop',
        targets: [
          { target: backend.url, state: 'up', open: 0, waiting: 0 },
          { target: gone.url, state: 'unhealthy', open: 0, waiting: 0 },
        ],
      },
      { name: 'echo', targets: [] },
      { name: 'recorder', targets: [{ state: 'up' }] },
    ],
  })
})
