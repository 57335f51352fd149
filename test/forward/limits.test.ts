import { request as httpRequest } from 'node:http'
import t, { type Test } from 'tap'
import { type Answer, call } from '../support/client.ts'
import { openForwardFixture, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { PATIENCE, until } from '../support/until.ts'
import { type Recorder, startUpstream } from '../support/upstream.ts'

const C = '/api/v1/c/things'

/** Backends that answer when they are told to. */
async function holding(t: Test, written: WrittenUpstream, count = 1) {
  const waiting: (() => void)[] = []
  const backends: Recorder[] = []
  for (let i = 0; i < count; i++) {
    const backend = await startUpstream({ answer: (_request, response) => waiting.push(() => response.end(`${i}`)) })
    backends.push(backend)
  }
  const fixture = await openForwardFixture({ upstreams: [{ targets: backends.map(({ url }) => url), ...written }] })
  t.teardown(async () => {
    await fixture.close()
    for (const backend of backends) await backend.close()
  })
  const { targets } = fixture.table.upstreams[0]!
  return {
    ...fixture,
    backend: backends[0]!,
    waiting,
    targets,
    ask: (method = 'GET', body?: string): Promise<Answer> =>
      call(fixture.url, { method, path: C, token: TOKEN.consumer, body }),
    /** Requests that a backend has, and all that the gateway has. */
    held: (arrived: number, open: number) =>
      until(() => waiting.length === arrived && targets.reduce((sum, target) => sum + target.open, 0) === open),
  }
}

t.test('requests beyond the limit of connections wait, and are served in their order', async t => {
  const { ask, held, waiting, backend } = await holding(t, { connections: { limit: 2, idle: PATIENCE } })
  const order: number[] = []
  const answers: Promise<unknown>[] = []
  for (let i = 0; i < 6; i++) {
    answers.push(ask('POST', `body ${i}`).then(() => order.push(i)))
    t.ok(await held(Math.min(i + 1, 2), i + 1))
  }
  t.equal(await backend.connections(), 2)
  for (let i = 0; i < 6; i++) {
    t.ok(await until(() => waiting.length > 0))
    waiting.shift()!()
    t.ok(await until(() => order.length === i + 1))
  }
  await Promise.all(answers)
  t.same(order, [0, 1, 2, 3, 4, 5])
  t.same(
    backend.requests.map(({ body }) => body),
    [0, 1, 2, 3, 4, 5].map(i => `body ${i}`),
  )
  t.equal(await backend.connections(), 2)
})

t.test('a full queue is 503 at once, and waiting requests are not affected', async t => {
  const { ask, held, waiting, log, targets } = await holding(t, { connections: { limit: 1, queue: 1 } })
  const served = [ask()]
  t.ok(await held(1, 1))
  served.push(ask())
  t.ok(await held(1, 2))
  for (const [method, body] of [['GET'], ['POST', 'body']] as const) {
    const refused = await ask(method, body)
    t.equal(refused.status, 503)
    t.match(refused.json(), { code: 503, message: 'The upstream is too busy, try again', success: false })
  }
  t.match(
    log.find(line => line.msg === 'not served'),
    { reason: 'UPSTREAM_BUSY' },
  )
  t.equal(targets[0]!.health.isUp, true)
  for (const answer of served) {
    t.ok(await until(() => waiting.length > 0))
    waiting.shift()!()
    t.match(await answer, { status: 200, text: '0' })
  }
})

t.test('without a queue requests do not wait', async t => {
  const { ask, held } = await holding(t, { connections: { limit: 1, queue: 0 } })
  ask().catch(() => {})
  t.ok(await held(1, 1))
  t.equal((await ask()).status, 503)
})

t.test('waiting ends with its time limit', async t => {
  const { ask, held, waiting } = await holding(t, { connections: { limit: 1, wait: 300 } })
  const served = ask()
  t.ok(await held(1, 1))
  t.match((await ask()).json(), { code: 503 })
  waiting.shift()!()
  t.equal((await served).status, 200)
})

t.test('a client who leaves while waiting leaves the queue', async t => {
  const { ask, url, held, waiting, backend } = await holding(t, { connections: { limit: 1, queue: 1 } })
  const served = [ask()]
  t.ok(await held(1, 1))
  const leaving = httpRequest(url + C, { agent: false, headers: { authorization: TOKEN.consumer } })
  leaving.on('error', () => {})
  leaving.end()
  t.ok(await held(1, 2))
  leaving.destroy()
  t.ok(await held(1, 1))
  served.push(ask('POST', 'mine'))
  t.ok(await held(1, 2))
  for (const answer of served) {
    t.ok(await until(() => waiting.length > 0))
    waiting.shift()!()
    t.equal((await answer).status, 200)
  }
  t.same(
    backend.requests.map(({ method }) => method),
    ['GET', 'POST'],
  )
})

t.test('waiting requests get a new connection when one dies', async t => {
  const { ask, held, waiting, backend } = await holding(t, { connections: { limit: 1 } })
  const dying = ask()
  t.ok(await held(1, 1))
  const served = ask()
  t.ok(await held(1, 2))
  // What it held is gone with the connection.
  waiting.length = 0
  backend.closeConnections()
  t.equal((await dying).status, 502)
  t.ok(await until(() => waiting.length === 1))
  waiting.shift()!()
  t.match(await served, { status: 200 })
})

t.test('a request goes where there is a connection, before it waits', async t => {
  const { ask, held, targets } = await holding(t, { connections: { limit: 1, queue: 1 } }, 2)
  const answers = Array.from({ length: 4 }, () => ask().catch(() => {}))
  t.ok(await held(2, 4))
  t.same(
    targets.map(({ open }) => open),
    [2, 2],
  )
  t.equal((await ask()).status, 503, 'and is refused when both queues are full')
  t.equal(answers.length, 4)
})
