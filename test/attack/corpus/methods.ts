import { METHODS as PARSED } from 'node:http'
import { type Attack, asAnonymous, asConsumer, request } from '../attack.ts'

/* OPTIONS passes without a session: nothing may come along that makes more of it. Other methods stay what they are. */

const OPTIONS = 'OPTIONS /api/v1/sys/u HTTP/1.1'

const OVERRIDES = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'].flatMap(name => [
  name,
  name.toLowerCase(),
  name.replaceAll('-', '_'),
  name.replaceAll('-', '.'),
  name.replace('-', '_'),
])

const overrides = OVERRIDES.flatMap((name): Attack[] => [
  {
    claim: `OPTIONS cannot become DELETE by ${name}`,
    send: asAnonymous(OPTIONS, `${name}: DELETE`),
    answers: ['upstream'],
    arrives: [{ line: OPTIONS }],
  },
  {
    claim: `GET cannot become DELETE by ${name}`,
    send: asConsumer('GET /api/v1/c/x HTTP/1.1', `${name}: DELETE`),
    answers: ['upstream'],
    arrives: [{ line: 'GET /api/v1/c/x HTTP/1.1', as: 'CONSUMER' }],
  },
])

const unknown = ['TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LOCK', 'SOURCE', 'QUERY'].map(
  (method): Attack => ({
    claim: `${method} is refused`,
    send: asAnonymous(`${method} /api/v1/public/b/x HTTP/1.1`),
    // The parser of the oldest versions of Node does not know QUERY.
    answers: [PARSED.includes(method) ? 405 : 400],
  }),
)

export default [
  ...overrides,
  ...unknown,
  {
    claim: 'OPTIONS carries neither token nor cookie nor identity',
    send: asConsumer(OPTIONS, 'Cookie: session=1', 'X-Login-Id: 1', 'X-Login-Type: BUSINESS', 'Origin: http://x'),
    answers: ['upstream'],
    arrives: [{ line: OPTIONS, headers: ['Origin: http://x'] }],
  },
  {
    claim: 'OPTIONS with a body is refused',
    send: request([OPTIONS, 'Host: x', 'Content-Length: 4'], 'evil'),
    answers: [400],
  },
  {
    claim: 'OPTIONS with a chunked body is refused',
    send: request([OPTIONS, 'Host: x', 'Transfer-Encoding: chunked'], '4\r\nevil\r\n0\r\n\r\n'),
    answers: [400],
  },
  {
    claim: 'OPTIONS on nothing in particular is refused',
    send: asAnonymous('OPTIONS * HTTP/1.1'),
    answers: [400],
  },
  {
    claim: 'a tunnel is refused',
    send: request(['CONNECT x:80 HTTP/1.1', 'Host: x:80']),
    answers: [405],
  },
  {
    claim: 'an unknown method is refused',
    send: asAnonymous('BREW /api/v1/public/b/x HTTP/1.1'),
    answers: [400],
  },
  { claim: 'a method in lower case is refused', send: asConsumer('get /api/v1/c/x HTTP/1.1'), answers: [400] },
  { claim: 'an empty target is refused', send: asConsumer('GET  HTTP/1.1'), answers: [400] },
  { claim: 'a target of two words is refused', send: asConsumer('GET /api/v1/c/x y HTTP/1.1'), answers: [400] },
] satisfies Attack[]
