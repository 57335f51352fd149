import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { forwardTo, TOKEN } from '../support/forward-fixture.ts'
import { until } from '../support/until.ts'
import { type Recorder, startUpstream } from '../support/upstream.ts'

const C = '/api/v1/c/things'
const LIMIT = 100_000

async function limited(t: Test, options: Parameters<typeof startUpstream>[0] = {}) {
  const backend: Recorder = await startUpstream(options)
  t.teardown(() => backend.close())
  const fixture = await forwardTo(t, backend.url, { body_limit: LIMIT })
  return {
    ...fixture,
    backend,
    open(headers: Record<string, string>): ClientRequest {
      const request = httpRequest(fixture.url + C, {
        method: 'POST',
        agent: false,
        headers: { authorization: TOKEN.consumer, ...headers },
      })
      request.on('error', () => {})
      return request
    },
  }
}

const CHUNKED = { 'transfer-encoding': 'chunked' }

async function answerTo(request: ClientRequest): Promise<{ status: number; text: string }> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode!, text }
}

t.test('bodies up to the limit arrive, to the byte', async t => {
  const { url, open, backend } = await limited(t)
  const body = 'x'.repeat(LIMIT)
  t.equal((await call(url, { method: 'POST', path: C, token: TOKEN.consumer, body })).status, 200)
  const request = open(CHUNKED)
  request.write(body.slice(0, 60_000))
  request.end(body.slice(60_000))
  t.equal((await answerTo(request)).status, 200)
  t.same(
    backend.requests.map(arrived => arrived.body.length),
    [LIMIT, LIMIT],
  )
})

t.test('a body with a larger Content-Length is refused before anything is forwarded', async t => {
  const { open, backend } = await limited(t)
  const request = open({ 'content-length': String(LIMIT + 1) })
  request.write('x')
  const { status, text } = await answerTo(request)
  t.equal(status, 413)
  t.match(JSON.parse(text), { code: 413, success: false })
  t.equal(backend.requests.length, 0)
  request.destroy()
})

t.test('a body that exceeds the limit while it is sent is cut off, without a failure of the target', async t => {
  const { open, backend, table } = await limited(t, { take: request => request.resume() })
  for (let i = 0; i < 8; i++) {
    const request = open(CHUNKED)
    request.write('x'.repeat(LIMIT))
    t.ok(await until(() => backend.requests.length === i + 1))
    request.write('y')
    const { status, text } = await answerTo(request)
    t.equal(status, 413)
    t.match(JSON.parse(text), { code: 413 })
    request.destroy()
    t.ok(await until(() => backend.open === 0), 'the upstream request is given up')
    t.notOk(backend.requests[i]!.complete)
  }
  t.ok(table.upstreams[0]!.targets[0]!.health.isUp)
})

t.test('if the answer has begun, it is cut off', async t => {
  const { open } = await limited(t, {
    take: (request, response) => {
      request.resume()
      response.write('begun')
    },
  })
  const request = open(CHUNKED)
  request.write('x'.repeat(LIMIT))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const broken = once(response, 'error')
  response.resume()
  request.write('y')
  t.match((await broken)[0], { code: 'ECONNRESET' })
})
