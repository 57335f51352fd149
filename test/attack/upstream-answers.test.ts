import type { Socket } from 'node:net'
import t from 'tap'
import { openFixture } from '../support/gateway-fixture.ts'
import { startRawUpstream } from '../support/upstream.ts'
import { converse } from './conversation.ts'
import { fieldOf, type Message } from './http-reader.ts'

/*
 * What a compromised backend may answer: the bytes that it sends, and those that arrive at its client and at the
 * next one. `test/forward/` and `test/upstream/` have many more for the reader of answers by itself.
 */

/** What becomes of it: the status of a refusal, the body and header lines that arrive, or a connection that breaks off. */
type Outcome = 502 | 504 | 'broken off' | { body: string; headers: string[] }

const OK = 'HTTP/1.1 200 OK\r\n'
const EVIL = `${OK}Content-Length: 4\r\n\r\nevil`
const GOOD = { body: 'good', headers: ['content-length: 4'] }
const HUGE = `X-A: ${'a'.repeat(1000)}\r\n`.repeat(10_000)

const ANSWERS: Readonly<Record<string, [answer: string, outcome: Outcome]>> = {
  'two responses': [`${OK}Content-Length: 4\r\n\r\ngood${EVIL}`, GOOD],
  'two responses, the first without a body': [
    `HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n${EVIL}`,
    { body: '', headers: ['X-A: 1'] },
  ],
  'a response inside a response': [
    `${OK}Content-Length: ${EVIL.length}\r\n\r\n${EVIL}`,
    { body: EVIL, headers: [`content-length: ${EVIL.length}`] },
  ],
  'a length and chunks': [`${OK}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n`, 502],
  'two lengths': [`${OK}Content-Length: 4\r\nContent-Length: 0\r\n\r\nevil`, 502],
  'a length with zeros before it': [`${OK}Content-Length: 0004\r\n\r\nevil`, 502],
  'a length of several zeros': [`${OK}Content-Length: 0000\r\n\r\n`, 502],
  'status 099': ['HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n', 502],
  'a control byte in a header': [`${OK}X-A: a\x01\r\nContent-Length: 0\r\n\r\n`, 502],
  'a line end in a header': [`${OK}X-A: a\rSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n`, 502],
  'a folded header': [`${OK}X-A: a\r\n Set-Cookie: a=1\r\nContent-Length: 0\r\n\r\n`, 502],
  '10 MB of headers': [`${OK}${HUGE}Content-Length: 0\r\n\r\n`, 502],
  'informational responses and nothing else': ['HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n'.repeat(20_000), 502],
  'a few informational responses and nothing else': ['HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n'.repeat(900), 504],
  'early hints with what is not theirs': [
    `HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=1\r\nX-Login-Id: 1\r\n\r\n${OK}Content-Length: 4\r\n\r\ngood`,
    GOOD,
  ],
  'early hints with a line end in a link': [
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\rX-A: 1\r\n\r\n${OK}Content-Length: 4\r\n\r\ngood`,
    502,
  ],
  'early hints with a folded link': [
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n HTTP/1.1 200 OK\r\n\r\n${OK}Content-Length: 4\r\n\r\ngood`,
    502,
  ],
  'early hints behind its response': [
    `${OK}Content-Length: 4\r\n\r\ngoodHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n`,
    GOOD,
  ],
  'nothing, for longer than it may': [`${OK}X-A: 1\r\n`, 504],
  'half a body, and then nothing': [`${OK}Content-Length: 100\r\n\r\nhalf`, 'broken off'],
  'half a chunk, and then nothing': [`${OK}Transfer-Encoding: chunked\r\n\r\n64\r\nhalf`, 'broken off'],
  'headers for itself alone': [
    `${OK}Connection: X-Secret, close\r\nX-Secret: 1\r\nKeep-Alive: timeout=9\r\nProxy-Authenticate: Basic\r\n` +
      'Upgrade: h2c\r\nX-Kept: 1\r\nContent-Length: 4\r\n\r\ngood',
    { body: 'good', headers: ['X-Kept: 1', 'content-length: 4'] },
  ],
  'an identity of its own': [
    `${OK}X-Login-Id: 1\r\nX_Login_Type: BUSINESS\r\nx.login.extra: e30\r\nX-Login-Signature: v1=00\r\n` +
      'Content-Length: 4\r\n\r\ngood',
    GOOD,
  ],
  'trailers with an identity': [
    `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\nX-Login-Id: 1\r\nSet-Cookie: a=1\r\n\r\n`,
    { body: 'good', headers: ['transfer-encoding: chunked'] },
  ],
}

/** What the gateway says of the answer and of the connection. */
const OURS = /^(?:connection|keep-alive|date|x-request-id)$/

const othersIn = ({ headers }: Message): string[] =>
  headers
    .filter(header => !OURS.test(fieldOf(header)[0]))
    .map(header => header.replace(/^(?:content-length|transfer-encoding)/i, name => name.toLowerCase()))
    .sort()

let answer = ''
const upstream = await startRawUpstream((socket: Socket, request) => {
  if (/x-case: evil/i.test(request)) return void socket.write(answer, 'latin1')
  const id = /^x-login-id: (.*)$/im.exec(request)?.[1] ?? ''
  socket.write(`${OK}Content-Length: ${id.length}\r\n\r\n${id}`)
})
t.teardown(() => upstream.close())
/** Short limits are for the answers that have to exceed one: a stall of the machine ends no other request. */
const PATHS = { 504: '/api/v1/c/late', 'broken off': '/api/v1/c/cut', others: '/api/v1/c/x' }
const target = upstream.url
const fixture = await openFixture(t, {
  config: {
    upstreams: [
      { name: 'late', match: PATHS[504], target, timeouts: { response: '1s' } },
      { name: 'cut', match: PATHS['broken off'], target, timeouts: { idle: '1s' } },
      { name: 'others', match: '/api', target },
    ],
  },
})
const { business, consumer } = fixture.gateway.sides
const tokens = { evil: await consumer.login(undefined, 'victim'), next: await business.login(undefined, 'next') }

const requestOf = (path: string, about: 'evil' | 'next'): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Case: ${about}\r\nAuthorization: Bearer ${tokens[about]}\r\n\r\n`

const ask = (bytes: string, enough: number) => converse(fixture.url, bytes, { methods: ['GET', 'GET'], enough })

for (const [what, [sent, outcome]] of Object.entries(ANSWERS)) {
  t.test(`a backend that answers with ${what} harms no other client`, async t => {
    answer = sent
    // The second request on the connection is refused by the gateway itself: its answer does not come from the backend.
    const path = outcome === 504 || outcome === 'broken off' ? PATHS[outcome] : PATHS.others
    const both = requestOf(path, 'evil') + requestOf('/api/v1/c//x', 'evil')
    const { responses, rest } = await ask(both, 2)
    const [first, second] = responses
    if (outcome === 'broken off') {
      t.same(responses, [])
      t.match(rest, /^HTTP\/1\.1 200 OK\r\n.*half(?:\r\n)?$/s)
    } else if (typeof outcome === 'number') {
      t.match(first!.line, new RegExp(`^HTTP/1\\.1 ${outcome} `))
      t.match(JSON.parse(first!.body), { code: outcome, success: false, data: null })
      t.same(
        othersIn(first!).filter(header => /^(?:x-|set-)/i.test(header)),
        [],
        'nothing of its headers arrives',
      )
    } else {
      t.same({ body: first!.body, headers: othersIn(first!) }, outcome)
      t.same(first!.trailers, [])
    }
    if (second !== undefined) t.match(JSON.parse(second.body), { code: 400 })
    for (let i = 0; i < 3; i++) {
      const { responses } = await ask(requestOf('/api/v1/b/x', 'next'), 1)
      t.equal(responses[0]?.body, 'next', 'the next client is answered, and told who it is')
    }
  })
}

t.test('none of these inputs caused a fault of the gateway', async t => {
  t.notOk(fixture.log.some(line => line.includes('internal fault')))
})
