import t from 'tap'
import { call, callRaw } from '../support/client.ts'
import { startFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

t.test('lines of the access log', async t => {
  const backend = await startUpstream({ answer: ({ url = '' }, response) => response.end(url.repeat(500)) })
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
