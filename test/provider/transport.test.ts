import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCertificate } from '../support/certificate.ts'
import { createTestClock } from '../support/clock.ts'
import { type Answer, type Endpoint, json, SUBJECT, startHostileProvider } from '../support/hostile-provider.ts'
import { fixtureOf, KEY, openHostile } from './hostile-fixture.ts'

const ENDPOINTS: readonly Endpoint[] = ['discovery', 'jwks', 'token', 'userinfo']
const HOUR = 3_600_000
const MAX_ANSWER = 1_048_576
/** Short, so that a message that quotes the beginning of an answer has all of it. */
const SECRET = 'kq7Zx2'

const html = (response: ServerResponse, content: string, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'text/html' }).end(content)

/** What is sent instead of an answer. Each holds a secret, where it holds anything. */
const NONSENSE: Readonly<Record<string, Answer>> = {
  HTML: (_, response) => html(response, `<html>${SECRET}</html>`),
  nothing: (_, response) => void response.end(),
  'no JSON': (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(SECRET),
  'a list': (_, response) => json(response, [SECRET]),
  null: (_, response) => json(response, null),
  'more than 1 MiB': (_, response) => json(response, { secret: SECRET, padding: 'x'.repeat(MAX_ANSWER) }),
  'status 500': (_, response) => json(response, { error: 'server_error', error_description: SECRET }, 500),
  'status 404': (_, response) => html(response, SECRET, 404),
  'status 201': (_, response) => json(response, { access_token: SECRET }, 201),
  'a redirect': (_, response) => void response.writeHead(307, { location: '?again' }).end(SECRET),
  'the end of the connection': (_, response) => void response.socket!.destroy(),
  'half an answer': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 })
    response.write(`{ "secret": "${SECRET}`, () => response.socket!.destroy())
  },
  'no HTTP': (_, response) =>
    void response.socket!.end(`HTTP/1.1 200 OK\r\nx: y\r\n${SECRET}\u0001 {"a": "${SECRET}"}\r\n\r\n`),
}

for (const endpoint of ENDPOINTS)
  t.test(`nonsense of ${endpoint} makes the provider unavailable, and reaches no message`, async t => {
    for (const [name, answer] of Object.entries(NONSENSE))
      await t.test(name, async t => {
        const { hostile, isUnavailable, signIn } = await openHostile(t)
        hostile.secrets.push(SECRET)
        hostile.answers[endpoint] = answer
        await isUnavailable(signIn(['email']))
        t.equal(hostile.count(endpoint), 1)
      })
  })

const FORMS: readonly (readonly [endpoint: Endpoint, content: unknown])[] = [
  ['discovery', {}],
  ['jwks', {}],
  ['jwks', { keys: {} }],
  ['token', {}],
  ['token', { access_token: 7, token_type: 'Bearer' }],
  ['token', { access_token: SECRET }],
  ['token', { access_token: SECRET, token_type: 'mac' }],
]

t.test('JSON of another form makes the provider unavailable', async t => {
  for (const [endpoint, content] of FORMS) {
    const { hostile, isUnavailable } = await openHostile(t)
    hostile.secrets.push(SECRET)
    hostile.answers[endpoint] = (_, response) => json(response, content)
    await isUnavailable()
  }
})

t.test('a provider that is down is unavailable, and works again when it is back', async t => {
  const { hostile, provider, isUnavailable, signIn } = await openHostile(t)
  hostile.answers.discovery = NONSENSE['status 500']!
  await isUnavailable()
  hostile.answers = {}
  t.match(await signIn(), { sub: SUBJECT })
  const down = await openHostile(t)
  await down.hostile.stop()
  t.match(await down.isUnavailable(), /ECONNREFUSED/)
  await down.isUnavailable(down.provider.reach())
  await provider.close()
})

t.test('a provider whose answer does not end is unavailable after the time limit', async t => {
  const answers: readonly Answer[] = [
    () => undefined,
    (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders(),
    (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write(`{"a": "${SECRET}`),
  ]
  const cases = ENDPOINTS.flatMap(endpoint => answers.map(answer => ({ endpoint, answer })))
  await Promise.all(
    cases.map(async ({ endpoint, answer }) => {
      const { hostile, isUnavailable, signIn } = await openHostile(t, { timeout: 500 })
      hostile.secrets.push(SECRET)
      hostile.answers[endpoint] = answer
      t.match(await isUnavailable(signIn(['email'])), /no answer within 500 ms/)
    }),
  )
})

t.test('an answer of 1 MiB is read', async t => {
  const { hostile, signIn } = await openHostile(t)
  const length = JSON.stringify({ ...hostile.metadata, padding: '' }).length
  hostile.metadata.padding = 'x'.repeat(MAX_ANSWER - length)
  t.match(await signIn(), { sub: SUBJECT })
})

t.test('a provider that says it is another issuer is unavailable (DiscoveryIssuerMismatch)', async t => {
  for (const issuer of [
    'https://other.example.com',
    '{issuer}/',
    '{issuer}?',
    '{tenantid}',
    '',
    undefined,
    7,
    ['{issuer}'],
  ]) {
    const { hostile, isUnavailable } = await openHostile(t)
    hostile.metadata.issuer = typeof issuer === 'string' ? issuer.replace('{issuer}', hostile.issuer) : issuer
    await isUnavailable()
    t.equal(hostile.count('token'), 0)
  }
  const { hostile, isUnavailable } = await openHostile(t)
  hostile.metadata.issuer = 'https://other.example.com/\n'
  t.match(await isUnavailable(), /its issuer is https:\/\/other\.example\.com\/\\+u\{a\}/)
})

t.test('a provider without a needed address, or with another than by HTTP, is unavailable', async t => {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'])
    for (const address of [undefined, '', 7, '/relative', 'file:///etc/passwd', 'javascript:alert(1)']) {
      const { hostile, isUnavailable } = await openHostile(t)
      hostile.metadata[name] = address
      t.match(await isUnavailable(), new RegExp(name))
    }
})

t.test('simultaneous uses share one discovery and one request for keys', async t => {
  const { hostile, signIn } = await openHostile(t)
  const identities = await Promise.all([1, 2, 3, 4, 5].map(() => signIn()))
  t.equal(identities.length, 5)
  t.match([hostile.count('discovery'), hostile.count('jwks'), hostile.count('token')], [1, 1, 5])
})

t.test('the configuration is fetched anew after an hour, and the last one stays while that fails', async t => {
  const { hostile, clock, lines, signIn } = await openHostile(t)
  await signIn()
  clock.time += HOUR - 1
  await signIn()
  t.equal(hostile.count('discovery'), 1)
  clock.time += 1
  hostile.answers.discovery = NONSENSE['status 500']!
  t.match(await signIn(), { sub: SUBJECT })
  t.equal(hostile.count('discovery'), 2)
  t.match(lines.join(), /the last configuration of the provider stays in use/)
  clock.time += 59_999
  await signIn()
  t.equal(hostile.count('discovery'), 2)
  clock.time += 1
  hostile.answers = {}
  hostile.metadata.end_session_endpoint = undefined
  await signIn()
  t.equal(hostile.count('discovery'), 3)
})

/** A provider behind TLS, with a certificate of its own authority. */
async function startTls(t: Test) {
  const folder = t.testdir()
  const ca = createCertificate(folder)
  const clock = createTestClock(Date.now())
  const tls = { cert: readFileSync(ca), key: readFileSync(join(folder, 'key.pem')) }
  const hostile = await startHostileProvider(clock, KEY, tls)
  t.teardown(() => hostile.stop())
  return { ca, clock, hostile }
}

t.test('a provider by TLS needs a certificate of a trusted authority, and addresses by TLS', async t => {
  const { ca, clock, hostile } = await startTls(t)
  t.match(await fixtureOf(t, hostile, clock).isUnavailable(), /self-signed certificate/)
  t.equal(hostile.requests.length, 0)
  t.match(await fixtureOf(t, hostile, clock, { ca }).signIn(), { sub: SUBJECT })
  const plain = hostile.issuer.replace('https:', 'http:')
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri']) {
    const address = hostile.metadata[name]
    hostile.metadata[name] = `${plain}/x`
    t.match(await fixtureOf(t, hostile, clock, { ca }).isUnavailable(), new RegExp(name))
    hostile.metadata[name] = address
  }
  hostile.metadata.userinfo_endpoint = `${plain}/userinfo`
  const other = fixtureOf(t, hostile, clock, { ca })
  await other.isUnavailable(other.signIn(['email']))
  hostile.metadata.end_session_endpoint = `${plain}/logout`
  t.equal(await fixtureOf(t, hostile, clock, { ca }).provider.endSessionUrl('token', 'https://a.example.com/'), null)
})

t.test('a provider is reached through the proxy of the settings', async t => {
  const { ca, clock, hostile } = await startTls(t)
  const tunnels: string[] = []
  const server = createServer().on('connect', (request, socket) => {
    tunnels.push(request.url!)
    const [host, port] = request.url!.split(':')
    const target = connect(Number(port), host)
    for (const one of [socket, target]) one.on('error', () => undefined)
    target.on('connect', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      target.pipe(socket).pipe(target)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.match(await fixtureOf(t, hostile, clock, { ca, proxy }).signIn(), { sub: SUBJECT })
  t.same([...new Set(tunnels)], [new URL(hostile.issuer).host])
})
