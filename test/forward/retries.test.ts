import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { PATIENCE } from '../support/until.ts'
import { type Recorder, startRawUpstream, startUpstream } from '../support/upstream.ts'

const C = '/api/v1/c/things'

/** An upstream whose first targets misbehave, each in its way, and whose last one answers. */
async function misbehavingFirst(t: Test, written: WrittenUpstream, speak: Parameters<typeof startRawUpstream>[0]) {
  const bad = await startRawUpstream(speak)
  const good: Recorder = await startUpstream({ answer: (_request, response) => response.end('good') })
  const fixture = await openForwardFixture({
    upstreams: [{ targets: [bad.url, good.url], timeouts: { response: PATIENCE }, ...written }],
  })
  t.teardown(async () => {
    await fixture.close()
    await bad.close()
    await good.close()
  })
  return {
    ...fixture,
    bad,
    good,
    ask: (method = 'GET', body?: string) => call(fixture.url, { method, path: C, token: TOKEN.consumer, body }),
  }
}

const resets = (socket: { resetAndDestroy(): unknown }): void => void socket.resetAndDestroy()

t.test('a written request is sent once, unless retries are configured', async t => {
  const { ask, good } = await misbehavingFirst(t, {}, resets)
  t.equal((await ask()).status, 502)
  t.equal(good.requests.length, 0)
})

for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
  t.test(`with retries, a ${method} without a body goes to another target, with its host`, async t => {
    const { ask, good } = await misbehavingFirst(t, { retries: 1 }, resets)
    t.equal((await ask(method)).status, 200)
    t.equal(good.requests.length, 1)
    t.equal(good.requests[0]!.headers.host, `127.0.0.1:${good.port}`)
  })
}

t.test('with retries, a request that is not idempotent or has a body is still sent once', async t => {
  for (const [method, body] of [['POST'], ['PATCH'], ['PUT', 'body'], ['DELETE', 'body']] as const) {
    const { ask, good } = await misbehavingFirst(t, { retries: 3 }, resets)
    t.equal((await ask(method, body)).status, 502, method)
    t.equal(good.requests.length, 0)
  }
})

t.test('with retries, a slow target counts as one that did not answer', async t => {
  const { ask } = await misbehavingFirst(t, { retries: 1, timeouts: { response: 10_000 } }, () => {})
  t.match(await ask(), { status: 200, text: 'good' })
})

t.test('nothing is sent again once an answer began', async t => {
  const { ask, good } = await misbehavingFirst(t, { retries: 3 }, socket =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'),
  )
  await t.rejects(ask())
  t.equal(good.requests.length, 0)
})

t.test('the number of retries is the configured one, with a single target too', async t => {
  let asked = 0
  const bad = await startRawUpstream(socket => {
    asked++
    socket.resetAndDestroy()
  })
  const fixture = await openForwardFixture({ upstreams: [{ target: bad.url, retries: 2, ejection: 'off' }] })
  t.teardown(async () => {
    await fixture.close()
    await bad.close()
  })
  t.equal((await call(fixture.url, { path: C, token: TOKEN.consumer })).status, 502)
  t.equal(asked, 3)
})
