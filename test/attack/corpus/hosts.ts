import { type Attack, asConsumer, request } from '../attack.ts'

/* `Host` names one server, in the same way to every reader: what does not is refused before anything else. */

const OPEN = 'GET /api/v1/public/c/x HTTP/1.1'

const smuggled = request([OPEN, 'Host: x'])

const INVALID = [
  '',
  'a b',
  'a, b',
  'a,b',
  'a;b',
  'a\tb',
  'u@a',
  'u:p@a',
  '@a',
  '[::1',
  '::1',
  '::1]',
  '[]',
  '[::1]x',
  '[x]',
  '[::1]:',
  '[fe80::1%25eth0]',
  '[v1.a:b]',
  '[1:2]',
  'a:',
  ':80',
  'a:0',
  'a:080',
  'a:65536',
  'a:999999',
  'a:-1',
  'a:+1',
  'a:80:80',
  'a:x',
  'a:80x',
  'a: 80',
  'a/b',
  '/',
  'a?b',
  'a#b',
  'a\\b',
  'http://a',
  'a%20b',
  '%61',
  'a..b',
  '.a',
  '.',
  '*',
  'a!b',
  "a'b",
  'a(b)',
  'a=b',
  'a|b',
  '<a>',
  '"a"',
  'a\xe9',
  '\xc3\xa4.example',
  'a'.repeat(256),
]

const invalid = INVALID.flatMap((host): Attack[] => [
  {
    claim: `Host: ${host} is refused, though no session is needed`,
    send: request([OPEN, `Host: ${host}`]),
    answers: [400],
  },
  {
    claim: `Host: ${host} is refused before the path, the method and the session are`,
    send: request(['PURGE /nowhere HTTP/1.1', `Host: ${host}`]),
    answers: [400],
  },
])

const VALID = [
  'a',
  'A.Example',
  'a.example.',
  'a_b.c-d',
  'xn--bcher-kva.example',
  '127.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[2001:DB8::1]',
]

const valid = VALID.map(
  (host): Attack => ({
    claim: `Host: ${host} is a host`,
    send: request([OPEN, `Host: ${host}`]),
    answers: ['upstream'],
    arrives: [{ line: OPEN, host }],
  }),
)

export default [
  ...invalid,
  ...valid,
  {
    claim: 'an invalid Host is refused with a session, too',
    send: request(['GET /api/v1/c/x HTTP/1.1', 'Host: a b', 'Authorization: Bearer {C}']),
    answers: [400],
  },
  {
    claim: 'an invalid Host is refused in HTTP/1.0, which needs none',
    send: request(['GET /api/v1/public/c/x HTTP/1.0', 'Host: a b']),
    answers: [400],
  },
  {
    claim: 'a Host that is invalid takes the body of its request with it',
    send: request(['POST /api/v1/public/c/x HTTP/1.1', 'Host: u@a', `Content-Length: ${smuggled.length}`], smuggled),
    answers: [400],
  },
  {
    claim: 'a second Host is refused, valid or not',
    send: asConsumer('GET /api/v1/c/x HTTP/1.1', 'Host: a b'),
    answers: [400],
  },
] satisfies Attack[]
