import t from 'tap'
import { createEdits } from '../../src/upstream/headers/header-edits.ts'
import {
  type ResponseCircumstances,
  responseHead,
  responseTrailers,
} from '../../src/upstream/headers/response-headers.ts'

type Headers = [name: string, value: string][]

const raw = (headers: Headers): string[] => headers.flat()

const PLAIN: ResponseCircumstances = {
  status: 200,
  ours: {},
  passCors: true,
  mayTrail: true,
  edits: null,
  isPersonal: false,
}

function received(headers: Headers, circumstances: Partial<ResponseCircumstances> = {}): Headers {
  const flat = responseHead(raw(headers), { ...PLAIN, ...circumstances }).headers
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!])
}

t.test('CORS headers of an upstream are dropped if cors is on, in every spelling', async t => {
  const headers: [string, string][] = [
    ['Access-Control-Allow-Origin', '*'],
    ['access_control_allow_origin', '*'],
    ['ACCESS-CONTROL-MAX-AGE', '5'],
    ['Access', 'kept'],
    ['Vary', 'Origin'],
  ]
  const ours = { 'access-control-allow-origin': 'https://admin.example', vary: 'Origin' }
  t.same(
    received(headers, { passCors: false }).map(([name]) => name),
    ['Access', 'Vary'],
  )
  t.same(
    received(headers, { passCors: false, ours }).map(([name]) => name),
    ['Access', 'Vary', ...Object.keys(ours)],
  )
  t.equal(received(headers).length, headers.length)
})

t.test('headers of an upstream arrive unchanged', async t => {
  const headers: Headers = [
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Set-Cookie', 'a=1; Path=/'],
    ['set-cookie', 'b=2'],
    ['ETag', '"x"'],
    ['X-Umlaut', 'grün'],
    ['Content-Length', '12'],
  ]
  t.same(received(headers), headers)
})

t.test('hop-by-hop headers and identity headers do not arrive', async t => {
  const names = [
    'Connection',
    'Keep-Alive',
    'Proxy-Authenticate',
    'Proxy-Connection',
    'TE',
    'Upgrade',
    'X-Login-Id',
    'x_login_id',
    'X-Login-Type',
    'X.Login.Extra',
    'X-Login-Signature',
    'Content_Length',
  ]
  for (const name of names) t.same(received([[name, 'secret']]), [], name)
  t.same(received([['Transfer-Encoding', 'chunked']]), [])
})

t.test('what Connection names does not arrive, unless it is about the message', async t => {
  const headers: Headers = [
    ['X-Secret', 'internal'],
    ['Connection', 'X-Secret, close'],
    ['CONNECTION', 'x-other'],
    ['X-Other', 'internal'],
    ['X-Public', 'yes'],
  ]
  t.same(received(headers), [['X-Public', 'yes']])
  for (const name of ['Content-Length', 'Content-Type', 'Set-Cookie', 'Cache-Control']) {
    t.same(
      received([
        [name, '1'],
        ['Connection', name],
      ] as Headers),
      [[name, '1']],
    )
  }
})

t.test('our own headers replace those of the same name; Vary and cookies add up', async t => {
  const upstream: Headers = [
    ['X-Request-Id', 'theirs'],
    ['Access-Control-Allow-Origin', '*'],
    ['Vary', 'Accept-Encoding'],
    ['Set-Cookie', 'a=1'],
  ]
  const ours = {
    'x-request-id': 'ours',
    'access-control-allow-origin': 'https://admin.example',
    vary: 'Origin',
    'set-cookie': ['b=2', 'c=3'],
    'access-control-max-age': 60,
    absent: undefined,
  }
  t.same(received(upstream, { ours }), [
    ['Vary', 'Accept-Encoding'],
    ['Set-Cookie', 'a=1'],
    ['Cache-Control', 'private'],
    ['x-request-id', 'ours'],
    ['access-control-allow-origin', 'https://admin.example'],
    ['vary', 'Origin'],
    ['set-cookie', 'b=2'],
    ['set-cookie', 'c=3'],
    ['access-control-max-age', '60'],
  ])
})

t.test('a coding that would arrive unannounced is a failure', async t => {
  for (const coding of ['gzip, chunked', 'gzip', 'identity', 'chunked, chunked', '']) {
    t.throws(() => received([['Transfer-Encoding', coding]]), /transfer coding/, coding)
  }
  t.same(received([['transfer-encoding', ' Chunked ']]), [])
})

t.test('204 and 101 have no length, 304 keeps it', async t => {
  const length: Headers = [['Content-Length', '5']]
  t.same(received(length, { status: 204 }), [])
  t.same(received(length, { status: 101 }), [])
  t.same(received(length, { status: 304 }), length)
})

t.test('the head reports whether the length is known', async t => {
  t.equal(responseHead(raw([['content-length', '5']]), PLAIN).hasLength, true)
  t.equal(responseHead(raw([['transfer-encoding', 'chunked']]), PLAIN).hasLength, false)
})

t.test('a session cookie of the gateway is dropped, and reported; other cookies pass', async t => {
  const head = (value: string) => responseHead(raw([['Set-Cookie', value]]), PLAIN)
  const own = [
    '__Host-dualgate-b=x; Path=/',
    ' dualgate-c = x',
    '=__Host-dualgate-b=x',
    '__Secure-dualgate-c',
    'dualgate-b=',
  ]
  for (const value of own) t.match(head(value), { headers: [], dropped: 'cookie' }, value)
  for (const value of ['xdualgate-b=1', 'a=1; Path=/dualgate-b', 'a=dualgate-b=1'])
    t.match(head(value), { headers: ['Set-Cookie', value], dropped: null }, value)
})

t.test('a trailer section is announced only where one can follow', async t => {
  const announced: Headers = [
    ['Trailer', 'X-Sum'],
    ['Transfer-Encoding', 'chunked'],
  ]
  t.same(received(announced), [['Trailer', 'X-Sum']])
  t.same(received(announced, { mayTrail: false }), [])
  t.same(
    received([
      ['Trailer', 'X-Sum'],
      ['Content-Length', '1'],
    ] as Headers),
    [['Content-Length', '1']],
  )
})

t.test('a trailer section brings nothing that was decided with the head', async t => {
  const trailers: Headers = [
    ['X-Sum', 'abc'],
    ['X-Login-Id', '1'],
    ['X_Login_Id', '1'],
    ['Content-Length', '0'],
    ['Transfer-Encoding', 'chunked'],
    ['Set-Cookie', 'a=1'],
    ['Connection', 'close'],
    ['Server-Timing', 'db;dur=1'],
  ]
  t.same(responseTrailers(raw(trailers), null), [
    ['X-Sum', 'abc'],
    ['Server-Timing', 'db;dur=1'],
  ])
})

t.test('a personal answer is private, unless upstream or settings say what shared caches may do with it', async t => {
  t.same(received([['X', '1']], { isPersonal: true }), [
    ['X', '1'],
    ['Cache-Control', 'private'],
  ])
  const said: Headers = [['cache-control', 'public, max-age=60']]
  t.same(received(said, { isPersonal: true }), said)
  for (const shared of ['max-age=60, s-maxage=5', 'Private', 'no-store', 'no-cache, no-store']) {
    const decided: Headers = [['cache-control', shared]]
    t.same(received(decided, { isPersonal: true }), decided, shared)
  }
  // What a cache does with an answer to `Authorization` it cannot do with one to a cookie: it does not know that it has to.
  for (const unaware of ['max-age=60', 'max-age=60, must-revalidate', 'no-cache', 'private="X-A", max-age=60']) {
    const kept = received([['Cache-Control', unaware]], { isPersonal: true })
    t.same(kept, [
      ['Cache-Control', unaware],
      ['Cache-Control', 'private'],
    ])
  }
  const set = createEdits({ set: { 'Cache-Control': 'public, max-age=60' }, remove: [] })
  t.same(received([['X', '1']], { isPersonal: true, edits: set }), [
    ['X', '1'],
    ['Cache-Control', 'public, max-age=60'],
  ])
  const removed = createEdits({ set: {}, remove: ['Cache-Control'] })
  t.same(received(said, { isPersonal: true, edits: removed }), [['Cache-Control', 'private']])
  t.same(received([['X', '1']]), [['X', '1']])
})
