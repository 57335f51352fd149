import { type Attack, asAnonymous, asBusiness, asConsumer, request } from '../attack.ts'

/*
 * Targets in absolute form (RFC 9112 3.2.2). Only for the very authority that `Host` names, with the scheme of the connection,
 * are they read as the path in them, and that path is judged as any. A reader that believes the target and one that believes
 * `Host` must not find different servers, and the router must not find a path that the gate did not judge.
 */

const get = (target: string): string => `GET ${target} HTTP/1.1`

/** Not our own authority, or not clear whether it is: the `Host` of these requests is `x`. */
const FOREIGN = [
  'http://evil.example/api/v1/c/x',
  'http://evil.example/api/v1/sys/session/page',
  'http://evil.example/docs',
  'https://x/api/v1/c/x',
  'HTTP://x/api/v1/c/x',
  'Http://x/api/v1/c/x',
  'ws://x/api/v1/c/x',
  'http://X/api/v1/c/x',
  'http://x:80/api/v1/c/x',
  'http://x:/api/v1/c/x',
  'http://x./api/v1/c/x',
  'http://xx/api/v1/c/x',
  'http://x.evil.example/api/v1/c/x',
  'http://%78/api/v1/c/x',
  'http://u@x/api/v1/c/x',
  'http://u:p@x/api/v1/c/x',
  'http://x@evil.example/api/v1/c/x',
  'http://@x/api/v1/c/x',
  'http://x,x/api/v1/c/x',
  'http://x',
  'http://x?/api/v1/public/b/x',
  'http://x#/api/v1/c/x',
  'http://x\\/api/v1/c/x',
  'http:/x/api/v1/c/x',
  'http:///api/v1/c/x',
  'http:///x/api/v1/c/x',
  'http:x/api/v1/c/x',
  'x/api/v1/c/x',
  '//x/api/v1/c/x',
]

/** Our own authority, and behind it what is refused in every path. */
const AMBIGUOUS = [
  'http://x//api/v1/c/x',
  'http://x/./api/v1/sys/u',
  'http://x/%2e/api/v1/sys/u',
  'http://x/api/v1/c/../sys/u',
  'http://x/api/v1/c/%2e%2e/sys/u',
  'http://x/%61pi/v1/sys/session/page',
  'http://x/api/v1/%63/me',
  'http://x/api/v1/c;a/x',
  'http://x/api/v1\\c/x',
  'http://x/api/v1/c/x#/y',
  'http://x/api%2fv1/c/x',
  'http://x/http://x/api/v1/c/x',
]

const ASKED = [
  (target: string) => asAnonymous(get(target)),
  (target: string) => asConsumer(get(target)),
  (target: string) => asBusiness(`POST ${target} HTTP/1.1`, 'Content-Length: 0'),
  (target: string) => asAnonymous(`OPTIONS ${target} HTTP/1.1`),
]

const refused = [...FOREIGN, ...AMBIGUOUS].flatMap(target =>
  ASKED.map((ask): Attack => {
    const send = ask(target)
    return { claim: `${JSON.stringify(send.split(' HTTP')[0])} with Host: x is refused`, send, answers: [400] }
  }),
)

/** The same path is judged the same way, and arrives in origin form. */
const own: Attack[] = [
  {
    claim: 'the absolute form for our own authority is the path in it, byte for byte',
    send: asConsumer(get('http://x/api/v1/c/x?a=http://y/../%&b')),
    answers: ['upstream'],
    arrives: [{ line: get('/api/v1/c/x?a=http://y/../%&b'), as: 'CONSUMER' }],
  },
  {
    claim: 'the absolute form of a public path needs no session',
    send: asAnonymous('POST http://x/api/v1/public/c/x HTTP/1.1', 'Content-Length: 0'),
    answers: ['upstream'],
    arrives: [{ line: 'POST /api/v1/public/c/x HTTP/1.1' }],
  },
  {
    claim: 'the absolute form of a protected path needs its session',
    send: asAnonymous(get('http://x/api/v1/c/x')),
    answers: [401],
  },
  {
    claim: 'the absolute form does not change the side',
    send: asConsumer(get('http://x/api/v1/sys/u')),
    answers: [401],
  },
  {
    claim: 'the absolute form does not reach the administration without a session',
    send: asAnonymous(get('http://x/api/v1/sys/session/page')),
    answers: [401],
  },
  {
    claim: 'the absolute form does not reach the administration without the permission',
    send: asBusiness(get('http://x/api/v1/client/session/page')),
    answers: [403],
  },
  {
    claim: 'the absolute form of what no rule names is not found',
    send: asBusiness(get('http://x/API/v1/c/x')),
    answers: [404],
  },
  { claim: 'the absolute form of nothing is not found', send: asBusiness(get('http://x/')), answers: [404] },
  {
    claim: 'the absolute form with a port is for the Host with that port',
    send: request([get('http://x:8080/api/v1/public/c/x'), 'Host: x:8081']),
    answers: [400],
  },
  {
    claim: 'the absolute form without a Host is refused',
    send: request([get('http://x/api/v1/public/c/x')]),
    answers: [400],
  },
  {
    claim: 'the absolute form without a Host is refused in HTTP/1.0, too',
    send: request(['GET http://x/api/v1/public/c/x HTTP/1.0']),
    answers: [400],
  },
  {
    claim: 'the absolute form with two Hosts is refused, whichever it is for',
    send: request([get('http://x/api/v1/public/c/x'), 'Host: x', 'Host: y']),
    answers: [400],
  },
  {
    claim: 'a Host with a path in it moves nothing out of the path',
    send: request([get('http://x/api/v1/public/b/api/v1/c/x'), 'Host: x/api/v1/public/b']),
    answers: [400],
  },
  {
    claim: 'a Host with a user in it is refused',
    send: request([get('http://u@x/api/v1/public/c/x'), 'Host: u@x']),
    answers: [400],
  },
  {
    claim: 'what a proxy reports about the host makes no authority ours',
    send: asAnonymous(get('http://y/api/v1/public/c/x'), 'X-Forwarded-Host: y', 'Forwarded: host=y'),
    answers: [400],
  },
]

export default [...refused, ...own] satisfies Attack[]
