import { once } from 'node:events'
import { get } from 'node:http'
import t, { type Test } from 'tap'
import { createEdits } from '../../src/upstream/headers/header-edits.ts'
import { responseTrailers } from '../../src/upstream/headers/response-headers.ts'
import { call } from '../support/client.ts'
import { forwardTo, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { startRawUpstream, startUpstream } from '../support/upstream.ts'

/* What the settings of an upstream change in the headers of its requests and responses. */

const C = '/api/v1/c/x'

async function open(t: Test, written: WrittenUpstream) {
  const backend = await startUpstream({
    answer: (_request, response) => {
      response.writeHead(200, ['Server', 'secret/1.0', 'X-Frame-Options', 'ALLOW', 'Set-Cookie', 'a=1', 'X-Kept', 'k'])
      response.end('whole')
    },
  })
  t.teardown(() => backend.close())
  return { backend, ...(await forwardTo(t, backend.url, written)) }
}

t.test('requests get what is set instead of what the client sent, and lose what is removed', async t => {
  const { backend, url } = await open(t, {
    request_headers: { set: { 'X-Env': 'prod', Authorization: 'Basic b3Vycw==' }, remove: ['X-Debug'] },
  })
  const headers = { 'x-env': 'test', x_env: 'test', 'x-debug': '1', 'X.Debug': '2', 'x-other': 'kept' }
  t.equal((await call(url, { path: C, token: TOKEN.consumer, headers })).status, 200)
  const [arrived] = backend.requests
  t.match(arrived!.headers, { 'x-env': 'prod', authorization: 'Basic b3Vycw==', 'x-other': 'kept', host: /^127/ })
  const names = arrived!.rawHeaders.filter((_, index) => index % 2 === 0).map(name => name.toLowerCase())
  t.equal(names[0], 'host', 'Host comes first')
  for (const name of ['x-debug', 'x.debug', 'x_env']) t.notOk(names.includes(name), name)
  t.match(arrived!.headers, { 'x-login-id': 'user-7', 'x-login-type': 'CONSUMER' })
})

t.test('responses get what is set, and lose what is removed', async t => {
  const { url } = await open(t, {
    response_headers: { set: { 'X-Frame-Options': 'DENY', 'X-New': 'n' }, remove: ['server', 'Set_Cookie'] },
  })
  const answer = await call(url, { path: C, token: TOKEN.consumer })
  t.equal(answer.text, 'whole')
  t.match(answer.headers, { 'x-frame-options': 'DENY', 'x-new': 'n', 'x-kept': 'k' })
  t.notOk('server' in answer.headers || 'set-cookie' in answer.headers)
})

t.test('what is removed comes in no trailer section either', async t => {
  const edits = createEdits({ set: {}, remove: ['X-Sum'] })
  t.same(responseTrailers(['x-sum', '1', 'x-count', '2'], edits), [['x-count', '2']])
})

t.test('without Link there are no early hints either', async t => {
  for (const [remove, hints] of [
    [['X-Other'], ['</a>']],
    [['LINK'], []],
  ] as const) {
    const backend = await startUpstream({
      answer: (_request, response) => {
        response.writeEarlyHints({ link: '</a>' }, () => response.end('whole'))
      },
    })
    t.teardown(() => backend.close())
    const { port } = await forwardTo(t, backend.url, { response_headers: { set: {}, remove: [...remove] } })
    const seen: unknown[] = []
    const headers = { authorization: TOKEN.consumer }
    const request = get({ port, path: C, headers }).on('information', ({ headers }) => seen.push(headers.link))
    const [response] = await once(request, 'response')
    t.equal(response.resume().statusCode, 200)
    t.same(seen, hints)
  }
})

t.test('the gateway’s own refusals are not edited', async t => {
  const { backend, url } = await open(t, { response_headers: { set: { 'X-New': 'n' }, remove: [] } })
  await backend.close()
  const answer = await call(url, { path: C, token: TOKEN.consumer })
  t.equal(answer.status, 502)
  t.notOk('x-new' in answer.headers)
})

t.test('a request that goes to the next target is edited the same', async t => {
  const dead = await startRawUpstream(() => {})
  await dead.close()
  const backend = await startUpstream()
  t.teardown(() => backend.close())
  const fixture = await forwardTo(t, '', {
    targets: [dead.url, backend.url],
    request_headers: { set: { 'X-Env': 'prod' }, remove: [] },
  })
  t.equal((await call(fixture.url, { path: C, token: TOKEN.consumer })).status, 200)
  t.match(backend.requests[0]!.headers, { 'x-env': 'prod', host: `127.0.0.1:${backend.port}` })
})
