import { type Attack, asAnonymous, asBusiness, asConsumer, request } from '../attack.ts'

/* Headers about the client’s identity, its address or the requested path: only the gateway sets them. */

const C = 'GET /api/v1/c/x HTTP/1.1'
const B = 'GET /api/v1/sys/x HTTP/1.1'
const OWN_SECTION = 'GET /api/v1/b/x HTTP/1.1'
const OPEN = 'GET /api/v1/public/c/x HTTP/1.1'
const OPTIONS = 'OPTIONS /api/v1/sys/x HTTP/1.1'

/** Spellings that CGI, WSGI, PHP, Servlet filters and others fold into one. */
const spellings = (name: string): string[] => [
  name,
  name.toLowerCase(),
  name.toUpperCase(),
  name.replaceAll('-', '_'),
  name.replace('-', '_'),
  name.replace(/-([^-]*)$/, '_$1'),
  name.replaceAll('-', '.'),
  name.replace('-', '.').toLowerCase(),
  name.replaceAll('-', '!'),
  name.replaceAll('-', '~').toLowerCase(),
  name.replace('-', '+'),
]

const IDENTITY = ['X-Login-Id', 'X-Login-Type', 'X-Login-Extra', 'X-Login-Signature']

const identity = IDENTITY.flatMap(name =>
  spellings(name).flatMap((spelling): Attack[] => [
    {
      claim: `${spelling} of a client without a session does not arrive`,
      send: asAnonymous(OPEN, `${spelling}: 1`),
      answers: ['upstream'],
      arrives: [{ line: OPEN }],
    },
    {
      claim: `${spelling} of a consumer does not arrive, not even twice`,
      send: asConsumer(C, `${spelling}: 1`, 'X-Other: kept', `${spelling}: BUSINESS`),
      answers: ['upstream'],
      arrives: [{ line: C, as: 'CONSUMER', headers: ['X-Other: kept'] }],
    },
    {
      claim: `${spelling} of the B side does not arrive`,
      send: asBusiness(B, `${spelling}: 1`),
      answers: ['upstream'],
      arrives: [{ line: B, as: 'BUSINESS' }],
    },
    {
      claim: `${spelling} of the B side does not arrive below its own section`,
      send: asBusiness(OWN_SECTION, `${spelling}: 1`),
      answers: ['upstream'],
      arrives: [{ line: OWN_SECTION, as: 'BUSINESS' }],
    },
    {
      claim: `${spelling} does not arrive with OPTIONS, which needs no session`,
      send: asBusiness(OPTIONS, `${spelling}: 1`),
      answers: ['upstream'],
      arrives: [{ line: OPTIONS }],
    },
  ]),
)

const FORGEABLE = [
  'X-Forwarded-For',
  'X-Forwarded-Proto',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-User',
  'X-Forwarded-Uri',
  'X-Forwarded-Method',
  'X-Real-IP',
  'X-Original-URL',
  'X-Rewrite-URL',
  'Script-Name',
  'X-Script-Name',
  'Daphne-Root-Path',
  'X-Vhm-Root',
  'X-Accel-Redirect',
  'X-Accel-Buffering',
  'X-Accel-Mapping',
  'X-Sendfile-Type',
  'X-Request-Id',
  'Trace-Id',
]

const forgeable = FORGEABLE.flatMap(name =>
  spellings(name).map(
    (spelling): Attack => ({
      claim: `${spelling} from an untrusted peer does not arrive`,
      send: asConsumer(C, `${spelling}: /api/v1/sys/u`, 'X-Other: kept'),
      answers: ['upstream'],
      arrives: [{ line: C, as: 'CONSUMER', headers: ['X-Other: kept'] }],
    }),
  ),
)

const STRIPPED = [
  'Forwarded: for=10.0.0.1;host=internal;proto=https',
  'Keep-Alive: timeout=600, max=1000',
  'TE: trailers, deflate;q=0.5',
  'Trailer: X-Login-Id',
  'Proxy-Connection: keep-alive',
  'Proxy-Authorization: Basic YTpi',
  'Proxy-Authenticate: Basic',
  'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA',
  'Expect: 100-continue',
  'Content_Length: 3',
  'Content.Length: 3',
  'Transfer_Encoding: chunked',
  'Transfer.Encoding: chunked',
  'Keep_Alive: timeout=600',
  'Proxy_Connection: keep-alive',
  'Proxy.Authorization: Basic YTpi',
  'HTTP2_Settings: AAMAAABkAAQCAAAAAAIAAAAA',
  'Content!Length: 3',
  'Transfer~Encoding: chunked',
].map(
  (header): Attack => ({
    claim: `${header.split(':')[0]} is not passed on`,
    send: asConsumer(C, header, 'X-Other: kept'),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: ['X-Other: kept'] }],
  }),
)

const CONNECTION = [
  'X-Login-Id',
  'x-login-type, X-Login-Id',
  'authorization',
  'host',
  'X-Forwarded-For',
  'close, X-Login-Id',
]

const connection = CONNECTION.map(
  (named): Attack => ({
    claim: `Connection: ${named} cannot remove what the gateway says`,
    send: asConsumer(C, `Connection: ${named}`, 'X-Other: kept'),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: ['X-Other: kept'] }],
  }),
)

const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `X-${i}: ${i}`)

export default [
  ...identity,
  ...forgeable,
  ...STRIPPED,
  ...connection,
  {
    claim: 'a Via of the client arrives, and the gateway’s own behind it',
    send: asConsumer(C, 'Via: 1.0 fred, 1.1 p.example', 'X-Other: kept'),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: ['Via: 1.0 fred, 1.1 p.example', 'X-Other: kept'] }],
  },
  {
    claim: 'what Connection names is not passed on',
    send: asConsumer(C, 'Connection: X-Hop', 'X-Hop: 1', 'X-Other: kept'),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: ['X-Other: kept'] }],
  },
  {
    claim: 'Connection: content-length cannot take the framing from a body',
    send: request(
      ['POST /api/v1/public/c/x HTTP/1.1', 'Host: x', 'Connection: content-length', 'Content-Length: 5'],
      'hello',
    ),
    answers: ['upstream'],
    arrives: [{ line: 'POST /api/v1/public/c/x HTTP/1.1', body: 'hello' }],
  },
  {
    claim: 'Connection: transfer-encoding cannot take the framing from a body',
    send: request(
      ['POST /api/v1/public/c/x HTTP/1.1', 'Host: x', 'Connection: transfer-encoding', 'Transfer-Encoding: chunked'],
      '5\r\nhello\r\n0\r\n\r\n',
    ),
    answers: ['upstream'],
    arrives: [{ line: 'POST /api/v1/public/c/x HTTP/1.1', body: 'hello' }],
  },
  {
    claim: 'two Authorization headers are refused',
    send: asConsumer(C, 'Authorization: Bearer {B}'),
    answers: [400],
  },
  {
    claim: 'two equal Authorization headers are refused',
    send: asConsumer(C, 'authorization: Bearer {C}'),
    answers: [400],
  },
  { claim: 'two Host headers are refused', send: asConsumer(C, 'Host: evil.example'), answers: [400] },
  { claim: 'a request without Host is refused', send: request([C, 'Authorization: Bearer {C}']), answers: [400] },
  {
    claim: 'the token of a session does not arrive',
    send: asConsumer(C, 'X-Other: kept'),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: ['X-Other: kept'] }],
  },
  {
    claim: 'no other spelling of Authorization arrives with a session',
    send: asConsumer(C, 'AUTHORIZATION_: x', 'X-Other: kept'),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: ['AUTHORIZATION_: x', 'X-Other: kept'] }],
  },
  {
    claim: 'up to 200 header lines are read',
    send: asConsumer(C, ...lines(198)),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: lines(198) }],
  },
  { claim: 'more than 200 header lines are refused', send: asConsumer(C, ...lines(199)), answers: [431] },
  { claim: 'two thousand header lines are refused', send: asConsumer(C, ...lines(1200)), answers: [431] },
  { claim: 'a header of 16 KiB is refused', send: asConsumer(C, `X-Big: ${'x'.repeat(16_384)}`), answers: [431] },
  {
    claim: 'an identity behind two hundred other headers is refused and not forgotten',
    send: asAnonymous(OPEN, ...lines(250), 'X-Login-Id: 1'),
    answers: [431],
  },
  {
    claim: 'an upgrade to HTTP/2 is ignored',
    send: asConsumer(
      C,
      'Connection: Upgrade, HTTP2-Settings, close',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA',
    ),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER' }],
  },
  {
    claim: 'an unknown expectation is refused',
    send: asConsumer(C, 'Expect: the-unexpected'),
    answers: [400],
  },
  {
    claim: 'an unknown expectation is refused beside a known one',
    send: asConsumer(C, 'Expect: the-unexpected, 100-continue'),
    answers: [400],
  },
  {
    claim: 'names like those of object prototypes are names',
    send: asConsumer(C, '__proto__: 1', 'constructor: 2', 'hasOwnProperty: 3'),
    answers: ['upstream'],
    arrives: [{ line: C, as: 'CONSUMER', headers: ['__proto__: 1', 'constructor: 2', 'hasOwnProperty: 3'] }],
  },
] satisfies Attack[]
