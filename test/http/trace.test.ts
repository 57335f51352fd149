import t from 'tap'
import { openFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`
const PATH = '/api/v1/public/b/traced'

t.test('a traceparent reaches the upstream as it came, and the log, whatever the request id is', async t => {
  const upstreams = [{ name: 'echo', match: '/api/v1', target: 'builtin:echo' }]
  const fixture = await openFixture(t, { config: { upstreams } })
  const lineOf = async (headers: Record<string, string>) => {
    const lines = () => fixture.log.map(line => JSON.parse(line)).filter(line => line.path === PATH)
    const before = lines().length
    const { json } = await fixture.call({ path: PATH, headers })
    await until(() => lines().length > before)
    return { upstream: json().headers, line: lines().at(-1) }
  }
  const alone = await lineOf({ traceparent: TRACEPARENT })
  t.match(alone.line, { trace_id: TRACE, traceparent: TRACEPARENT })
  t.match(alone.upstream, { traceparent: TRACEPARENT, 'x-request-id': TRACE, trace_id: TRACE })

  const both = await lineOf({ traceparent: TRACEPARENT, tracestate: 'a=1', 'x-request-id': 'order-7-of-ann' })
  t.match(both.line, { trace_id: 'order-7-of-ann', traceparent: TRACEPARENT })
  t.match(both.upstream, {
    traceparent: TRACEPARENT,
    tracestate: 'a=1',
    'x-request-id': 'order-7-of-ann',
    trace_id: 'order-7-of-ann',
  })

  for (const traceparent of [undefined, 'x', `${TRACEPARENT}"}`, `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
    const { line } = await lineOf(traceparent === undefined ? {} : { traceparent })
    t.match(line.trace_id, /^[0-9a-f]{32}$/)
    t.notOk('traceparent' in line, 'an invalid one is not logged')
  }
})

t.test('an upstream gets Via unless it is off, and answers do not name the gateway', async t => {
  const upstreams = [
    { name: 'quiet', match: '/api/v1/public/b', target: 'builtin:echo', via: 'off' },
    { name: 'echo', match: '/api/v1', target: 'builtin:echo' },
  ]
  const fixture = await openFixture(t, { config: { upstreams } })
  const named = await fixture.get('/api/v1/public/c/x')
  t.equal(named.json().headers.via, '1.1 dualgate')
  t.notOk('via' in named.headers)
  t.notOk('via' in (await fixture.get(PATH)).json().headers)
})
