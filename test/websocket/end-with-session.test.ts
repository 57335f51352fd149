import { type IncomingMessage, request } from 'node:http'
import t, { type Test } from 'tap'
import { type Fixture, openFixture, type StoreKind } from '../support/gateway-fixture.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'
import { type Recorder, startUpstream } from '../support/upstream.ts'

/* Long responses, such as event streams: they arrive as they are sent, and end with their session if configured. */

interface Stream {
  status: number
  text: string
  /** Whether its end was that of the response, or a connection that was broken off; `null` while it is under way. */
  end: 'whole' | 'broken' | null
}

async function openWebSocketFixture(t: Test, store: StoreKind): Promise<{ fixture: Fixture; backend: Recorder }> {
  const backend = await startUpstream({
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: first\n\n')
    },
  })
  t.teardown(() => backend.close())
  const target = backend.url
  const fixture = await openFixture(t, {
    store,
    upstreams: [
      { name: 'events', match: '/api/v1/c/events', target, end_with_session: 'on' },
      { name: 'public', match: '/api/v1/public/c/events', target, end_with_session: 'on' },
      { name: 'downloads', match: '/api/v1/c/downloads', target },
    ],
  })
  return { fixture, backend }
}

function listen(t: Test, fixture: Fixture, path: string, token?: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const asked = request(fixture.url + path, { headers, agent: false }, (response: IncomingMessage) => {
      const stream: Stream = { status: response.statusCode ?? 0, text: '', end: null }
      response.on('data', chunk => {
        stream.text += chunk
      })
      response.on('error', () => {})
      response.on('close', () => {
        stream.end = response.complete ? 'whole' : 'broken'
      })
      resolve(stream)
    })
    t.teardown(() => asked.destroy())
    asked.on('error', reject).end()
  })
}

const login = async (fixture: Fixture, user_id: string): Promise<string> =>
  (await fixture.operate('consumer', 'login', { user_id })).data.token

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(
    `a response in progress ends with its session if end_with_session is on, ${store} store`,
    { skip },
    async t => {
      const { fixture, backend } = await openWebSocketFixture(t, store)
      const [token, other] = [await login(fixture, 'u1'), await login(fixture, 'u2')]
      const cut = await listen(t, fixture, '/api/v1/c/events', token)
      const kept = {
        bystander: await listen(t, fixture, '/api/v1/c/events', other),
        elsewhere: await listen(t, fixture, '/api/v1/c/downloads', token),
        nobody: await listen(t, fixture, '/api/v1/public/c/events'),
      }
      t.ok(await until(() => cut.text === 'data: first\n\n'), 'events arrive while the response is under way')
      t.equal(backend.open, 4)
      await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
      t.ok(await until(() => cut.end !== null))
      t.equal(cut.end, 'broken', 'it does not look like a whole one')
      t.ok(await until(() => backend.open === 3), 'and the upstream stops working for it')
      await new Promise(resolve => setTimeout(resolve, 300))
      for (const [name, { end }] of Object.entries(kept)) t.equal(end, null, name)
      t.ok(fixture.log.some(line => line.includes('response ended with its session')))
      t.notOk(
        fixture.log.some(line => line.includes('ejected') || line.includes('broken off')),
        'it does not count as a failure',
      )
    },
  )
}

t.test('a session that ended while the upstream thought about its answer gets none to the end', async t => {
  const { fixture, backend } = await openWebSocketFixture(t, 'embedded')
  const token = await login(fixture, 'u1')
  const answers: (() => void)[] = []
  const { answer } = backend
  backend.answer = (...words) => void answers.push(() => answer(...words))
  const asked = listen(t, fixture, '/api/v1/c/events', token)
  t.ok(await until(() => answers.length === 1))
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  answers[0]!()
  const stream = await asked
  t.ok(await until(() => stream.end === 'broken'))
})

t.test('a response that ends in time is whole', async t => {
  const { fixture, backend } = await openWebSocketFixture(t, 'embedded')
  const token = await login(fixture, 'u1')
  backend.answer = (_request, response) => {
    response.write('the beginning, ')
    setTimeout(() => response.end('the end'), 50)
  }
  const stream = await listen(t, fixture, '/api/v1/c/events', token)
  t.ok(await until(() => stream.end !== null))
  t.match(stream, { text: 'the beginning, the end', end: 'whole' })
})
