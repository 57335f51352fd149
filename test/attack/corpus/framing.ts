import { type Attack, asConsumer, request } from '../attack.ts'

/*
 * Where one request ends and the next begins: a second reader must not find another one. `smuggled` is what the attacker
 * wants to arrive as a request of its own.
 */

const POST = 'POST /api/v1/public/c/x HTTP/1.1'
const smuggled = 'GET /api/v1/sys/smuggled HTTP/1.1\r\nHost: x\r\nX-Login-Id: 1\r\n\r\n'
const chunked = `0\r\n\r\n${smuggled}`

const post = (framing: readonly string[], body: string): string => request([POST, 'Host: x', ...framing], body)

/** Refused, and nothing behind it is answered. */
const REFUSED: Readonly<Record<string, string>> = {
  'a length and chunks': post(['Content-Length: 6', 'Transfer-Encoding: chunked'], chunked),
  'chunks and a length': post(['Transfer-Encoding: chunked', 'Content-Length: 6'], chunked),
  'chunks and no length': post(['Transfer-Encoding: chunked', 'Content-Length: 0'], chunked),
  'two lengths': post(['Content-Length: 0', `Content-Length: ${smuggled.length}`], smuggled),
  'two equal lengths': post(['Content-Length: 5', 'Content-Length: 5'], 'hello'),
  'a list of lengths': post(['Content-Length: 5, 5'], 'hello'),
  'a length with a sign': post(['Content-Length: +5'], 'hello'),
  'a negative length': post(['Content-Length: -5'], 'hello'),
  'a length with zeros before it': post(['Content-Length: 0005'], 'hello'),
  'a length of several zeros': post(['Content-Length: 00'], ''),
  'a length with a sign and zeros': post(['Content-Length: +03'], 'abc'),
  'a length with digits of another alphabet': post(['Content-Length: \xd9\xa3'], 'abc'),
  'a length with a space within': post(['Content-Length: 1 0'], '0123456789'),
  'a length in hex': post(['Content-Length: 0x5'], 'hello'),
  'a length with a fraction': post(['Content-Length: 5.0'], 'hello'),
  'a length beyond all numbers': post(['Content-Length: 18446744073709551621'], 'hello'),
  'an empty length': post(['Content-Length: '], 'hello'),
  'a length that is a word': post(['Content-Length: five'], 'hello'),
  'a space before the colon of a length': post(['Content-Length : 5'], 'hello'),
  'a space before the colon of a coding': post(['Transfer-Encoding : chunked'], chunked),
  'a folded coding': post(['Transfer-Encoding:', ' chunked'], chunked),
  'a folded header': post(['X-A: 1', ' X-Login-Id: 1', 'Content-Length: 0'], ''),
  'a folded first header': request([POST, ' Host: x'], ''),
  'a bare LF behind the request line': `${POST}\nHost: x\r\n\r\n`,
  'a bare LF behind a header': `${POST}\r\nHost: x\r\nX-A: 1\nContent-Length: 0\r\n\r\n`,
  'a bare LF at the end of the head': `${POST}\r\nHost: x\r\nContent-Length: 0\r\n\n`,
  'a bare CR in a value': `${POST}\r\nHost: x\r\nX-A: 1\rX-Login-Id: 1\r\n\r\n`,
  'a bare CR before a header': `${POST}\r\nHost: x\r\n\rX-Login-Id: 1\r\n\r\n`,
  'a NUL in a value': post(['X-A: 1\0', 'Content-Length: 0'], ''),
  'a control in a value': post(['X-A: 1\x01', 'Content-Length: 0'], ''),
  'a NUL in a name': post(['X\0A: 1', 'Content-Length: 0'], ''),
  'a space in a name': post(['X A: 1', 'Content-Length: 0'], ''),
  'a name of another alphabet': post(['X\xe9: 1', 'Content-Length: 0'], ''),
  'an empty name': post([': 1', 'Content-Length: 0'], ''),
  'a header without a colon': post(['nonsense', 'Content-Length: 0'], ''),
  'a chunk size that is not a number': post(['Transfer-Encoding: chunked'], `zz\r\n${chunked}`),
  'a chunk size with a sign': post(['Transfer-Encoding: chunked'], `-1\r\n${chunked}`),
  'a chunk size with 0x': post(['Transfer-Encoding: chunked'], `0x5\r\nhello\r\n${chunked}`),
  'a chunk size beyond all numbers': post(['Transfer-Encoding: chunked'], `fffffffffffffffff\r\nhello\r\n${chunked}`),
  'an empty chunk size': post(['Transfer-Encoding: chunked'], `\r\nhello\r\n${chunked}`),
  'a space before a chunk size': post(['Transfer-Encoding: chunked'], ` 5\r\nhello\r\n${chunked}`),
  'a chunk longer than its size': post(['Transfer-Encoding: chunked'], `3\r\nhello\r\n${chunked}`),
  'a chunk that ends with a bare LF': post(['Transfer-Encoding: chunked'], `5\r\nhello\n${chunked}`),
  'a chunk size that ends with a bare LF': post(['Transfer-Encoding: chunked'], `5\nhello\r\n${chunked}`),
  'a chunk extension with a bare LF': post(['Transfer-Encoding: chunked'], `5;a\nb\r\nhello\r\n${chunked}`),
  'a last chunk with a bare LF': post(['Transfer-Encoding: chunked'], `0\n\n${smuggled}`),
  'a coding in a version that has none': `POST /api/v1/public/c/x HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
  'a version that does not exist': request(['GET /api/v1/c/x HTTP/1.2', 'Host: x']),
  'a version in lower case': request(['GET /api/v1/c/x http/1.1', 'Host: x']),
  'the beginning of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a request of HTTP/0.9': 'GET /api/v1/c/x\r\n\r\n',
  'another protocol': 'SSH-2.0-OpenSSH_9.6\r\n\r\n',
  'the beginning of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
}

const OVERLOOKED = new Set([
  'a bare LF behind the request line',
  'a bare LF at the end of the head',
  'a bare CR before a header',
  'a space in a name',
  'an empty name',
])

const refused = Object.entries(REFUSED).map(
  ([kind, send]): Attack => ({
    claim: `${kind}: refused`,
    send,
    answers: [400],
    severs: true,
    isOverlooked: OVERLOOKED.has(kind),
  }),
)

/** Codings that some parsers read as `chunked` and others do not. Node’s parser refuses some of them by itself. */
const CODINGS: Readonly<Record<string, number>> = {
  'gzip, chunked': 501,
  gzip: 501,
  identity: 501,
  xchunked: 501,
  'chunked;q=1': 501,
  '"chunked"': 501,
  ', chunked': 501,
  'chunked, identity': 400,
  'chunked, chunked': 400,
  'chunked,': 400,
  'chu\x0bnked': 400,
}

const codings = Object.entries(CODINGS).map(
  ([coding, code]): Attack => ({
    claim: `the transfer coding ${JSON.stringify(coding)} is refused`,
    send: post([`Transfer-Encoding: ${coding}`], chunked),
    answers: [code],
    severs: true,
  }),
)

/** Bodies in unusual, valid form: one request arrives, with the body that was meant. */
const BODIES: Readonly<Record<string, [send: string, body: string]>> = {
  'a request inside a body stays a body': [post([`Content-Length: ${smuggled.length}`], smuggled), smuggled],
  'a request inside a chunk stays a body': [
    post(['Transfer-Encoding: chunked'], `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`),
    smuggled,
  ],
  'chunk sizes are read in either case, with zeros before them': [
    post(['Transfer-Encoding: CHUNKED'], `0000A\r\n0123456789\r\n00a\r\n0123456789\r\n0\r\n\r\n`),
    '01234567890123456789',
  ],
  'chunk extensions are not passed on': [
    post(['Transfer-Encoding: chunked'], `5;a="b;c";d\r\nhello\r\n0;x=y\r\n\r\n`),
    'hello',
  ],
  'trailers are not passed on, least of all an identity': [
    post(
      ['Transfer-Encoding: chunked', 'Trailer: X-Login-Id'],
      `5\r\nhello\r\n0\r\nX-Login-Id: 1\r\nHost: evil\r\n\r\n`,
    ),
    'hello',
  ],
}

const bodies = Object.entries(BODIES).map(
  ([claim, [send, body]]): Attack => ({ claim, send, answers: ['upstream'], arrives: [{ line: POST, body }] }),
)

const GET = 'GET /api/v1/c/x HTTP/1.1'

export default [
  ...refused,
  ...codings,
  ...bodies,
  ...['0000', '00', '0003'].map(
    (length): Attack => ({
      claim: `a length of ${length} behind another request in one packet: refused, and nothing behind it is served`,
      send: `${asConsumer(GET)}${post([`Content-Length: ${length}`], 'abc'.slice(0, Number(length)))}`,
      answers: ['upstream', 400],
      arrives: [{ line: GET, as: 'CONSUMER' }],
      severs: true,
    }),
  ),
  {
    claim: 'the body of a GET does not become a request',
    send: `${asConsumer(GET, `Content-Length: ${smuggled.length}`)}${smuggled}`,
    answers: ['upstream'],
    arrives: [{ line: GET, as: 'CONSUMER', body: smuggled }],
  },
  {
    claim: 'trailers without end are refused',
    send: post(['Transfer-Encoding: chunked'], `0\r\n${'X-Long: y\r\n'.repeat(3000)}\r\n`),
    answers: [431],
  },
  {
    claim: 'chunk extensions without end are refused',
    send: post(['Transfer-Encoding: chunked'], `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
    answers: [400],
  },
  {
    claim: 'a request that was refused takes its body with it',
    send: request(['POST /api/v1/c/x HTTP/1.1', 'Host: x', `Content-Length: ${smuggled.length}`], smuggled),
    answers: [401],
  },
  {
    claim: 'a request that was refused for its target takes its body with it',
    send: request(['POST /api/v1//c/x HTTP/1.1', 'Host: x', `Content-Length: ${smuggled.length}`], smuggled),
    answers: [400],
  },
  {
    claim: 'bytes that are not a request are not answered before the requests ahead of them',
    send: `${asConsumer(GET)}${asConsumer(GET)}nonsense\r\n\r\n`,
    answers: ['upstream', 'upstream', 400],
    arrives: [
      { line: GET, as: 'CONSUMER' },
      { line: GET, as: 'CONSUMER' },
    ],
  },
  {
    claim: 'a request of HTTP/1.0 is passed on as one of 1.1, and without Host nothing is said of a host',
    send: request(['GET /api/v1/public/c/x HTTP/1.0']),
    answers: ['upstream'],
    arrives: [{ line: 'GET /api/v1/public/c/x HTTP/1.1', host: '', version: 0 }],
  },
  {
    claim: 'empty lines before a request are forgiven',
    send: `\r\n\r\n${asConsumer(GET)}`,
    answers: ['upstream'],
    arrives: [{ line: GET, as: 'CONSUMER' }],
  },
] satisfies Attack[]
