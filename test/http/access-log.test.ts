import { connect } from 'node:net'
import t from 'tap'
import { call, callRaw } from '../support/client.ts'
import { startFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

t.test('lines of the access log', async t => {
  const backend = await startUpstream({
    answer: ({ url = '' }, response) => {
      if (url.endsWith('/silent')) return
      if (url.endsWith('/events')) response.write('event')
      else response.end(url.endsWith('/large') ? Buffer.alloc(20_000_000) : url.repeat(500))
    },
  })
  const fixture = await startFixture({ upstreams: [{ name: 'backend', match: '/api/v1', target: backend.url }] })
  t.teardown(() => Promise.all([fixture.close(), backend.close()]))
  const { token } = (await fixture.operate('consumer', 'login', { user_id: '7' })).data
  const host = (url: string): string => new URL(url).host

  /** The fields of the requests that are logged while something happens. */
  const logged = async (count: number, happens: () => Promise<unknown>): Promise<Record<string, unknown>[]> => {
    const before = fixture.log.length
    await happens()
    const lines = () =>
      fixture.log.slice(before).flatMap(line => (line.includes('"msg":"request"') ? [JSON.parse(line)] : []))
    t.ok(await until(() => lines().length === count), `${count} lines`)
    return lines()
  }

  t.test('count the bytes of each answer, also of several on one connection', async t => {
    const head = (path: string, more = ''): string =>
      `GET ${path} HTTP/1.1\r\nHost: ${host(fixture.url)}\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`
    let answers: string[] = []
    const lines = await logged(5, async () => {
      const paths = ['/api/v1/c/first', '/elsewhere', '/nowhere', '/api/v1/c/a/longer/path']
      const bytes = [...paths.map(path => head(path)), head('/api/v1/public/b/x', 'Connection: close\r\n')].join('')
      answers = (await callRaw(fixture.url, bytes)).split(/(?=HTTP\/1\.1 )/)
    })
    t.same(
      lines.map(({ status, bytes }) => [status, bytes]),
      answers.map(answer => [Number(answer.slice(9, 12)), answer.length]),
    )
    t.ok((lines[3]!.bytes as number) > 10_000, 'with the body')
  })

  t.test('count only the bytes of the refusal at the internal listener, which logs no other answers', async t => {
    const head = (path: string, more = ''): string =>
      `GET ${path} HTTP/1.1\r\nHost: ${host(fixture.internal)}\r\n${more}\r\n`
    let refusal = ''
    const [line] = await logged(1, async () => {
      const said = await callRaw(
        fixture.internal,
        head('/metrics') + head('/verify/api/v1/c/x', 'Connection: close\r\n'),
      )
      refusal = said.slice(said.lastIndexOf('HTTP/1.1 '))
    })
    t.equal(line!.bytes, refusal.length)
  })

  t.test('are there for requests whose client leaves, too, each once and counted', async t => {
    const counted = async (status: string): Promise<number> => {
      const { text } = await call(fixture.internal, { path: '/metrics' })
      const found = text.matchAll(
        new RegExp(
          `dualgate_requests_total\\{rule="4",side="CONSUMER",upstream="backend",status="${status}"\\} (\\d+)`,
          'g',
        ),
      )
      return Number([...found][0]?.[1] ?? 0)
    }
    for (const [path, text, expected] of [
      ['/api/v1/c/silent', '', { status: 499, refused: 'CLIENT_LEFT', bytes: 0 }],
      ['/api/v1/c/events', 'event', { status: 200, incomplete: true }],
      ['/api/v1/c/large', 'HTTP/1.1 200', { status: 200, incomplete: true }],
    ] as const) {
      const before = await counted(`${Math.floor(expected.status / 100)}xx`)
      const arrived = backend.requests.length
      const [line] = await logged(1, async () => {
        const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1')
        let heard = ''
        socket.on('data', chunk => {
          heard += chunk
          if (heard.includes(text)) socket.pause()
        })
        socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\n\r\n`)
        await until(() => backend.requests.length > arrived && heard.includes(text))
        socket.resetAndDestroy()
      })
      t.match(line, { path, upstream: 'backend', login_id: '7', ...expected })
      t.equal(await counted(`${Math.floor(expected.status / 100)}xx`), before + 1, path)
    }
    const [line] = await logged(1, () => call(fixture.url, { path: '/api/v1/c/x', token }))
    t.notOk(Object.hasOwn(line!, 'incomplete'))
  })

  t.test('are there for targets that no router can read, with the id of the answer', async t => {
    const { hostname } = new URL(fixture.url)
    for (const target of ['/api/v1/%zz', '/%ff?x', '/%', '*', 'http:///x', `http://${hostname}/#x`]) {
      let answer = ''
      const [line] = await logged(1, async () => {
        answer = await callRaw(fixture.url, `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
      })
      const { trace_id } = JSON.parse(answer.slice(answer.indexOf('{')))
      t.match(answer, `x-request-id: ${trace_id}`, target)
      t.match(line, { status: 400, refused: 'BAD_PATH', trace_id, bytes: answer.length })
    }
    const answer = await call(fixture.internal, { path: '/verify/api/v1/%zz' })
    t.match(
      answer,
      { status: 403, headers: { 'x-request-id': answer.json().trace_id } },
      'as other paths that are refused',
    )
  })

  t.test('are there for what is no request', async t => {
    for (const [sent, status, refused] of [
      ['nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
      ['CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
      [`GET / HTTP/1.1\r\nHost: h\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
      ['POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400, 'BAD_REQUEST'],
    ] as const) {
      let answer = ''
      const [line] = await logged(1, async () => {
        answer = await callRaw(fixture.url, sent)
      })
      const { trace_id } = JSON.parse(answer.slice(answer.indexOf('{')))
      t.match(line, { status, refused, trace_id, bytes: answer.length, ip: '127.0.0.1' })
    }
    const { text } = await call(fixture.internal, { path: '/metrics' })
    t.match(text, /dualgate_refusals_total\{reason="HEADERS_TOO_LARGE"\} 1\n/)
  })

  t.test('have the user agent, shortened and without what could control a terminal', async t => {
    const path = '/api/v1/c/x'
    for (const [sent, expected] of [
      ['curl/8.5.0', 'curl/8.5.0'],
      ['a "quoted"\tone', 'a "quoted"one'],
      [`\x80x\x9b31m${'y'.repeat(500)}`, `x31m${'y'.repeat(250)}`],
    ] as const) {
      const [line] = await logged(1, () => call(fixture.url, { path, token, headers: { 'user-agent': sent } }))
      t.equal(line!.user_agent, expected)
    }
    const [line] = await logged(1, () => call(fixture.url, { path, token }))
    t.notOk(Object.hasOwn(line!, 'user_agent'))
  })
})
