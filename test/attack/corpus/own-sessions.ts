import { type Attack, asAnonymous, asBusiness, asConsumer } from '../attack.ts'

/* Only a user ends the own sessions, and on purpose: no other user, no other side, no link and no form. */

const OTHERS = '/api/v1/b/session/exit-others'
const TOKEN = '/api/v1/b/session/exit-token'
const strangers: Attack[] = [
  ['no token', asAnonymous(`POST ${OTHERS} HTTP/1.1`, 'Content-Length: 0')],
  ['a session of the other side', asConsumer(`POST ${OTHERS} HTTP/1.1`, 'Content-Length: 0')],
  ['a token in the query', asAnonymous(`POST ${OTHERS}?token={B} HTTP/1.1`, 'Content-Length: 0')],
  ['a cookie', asAnonymous(`POST ${OTHERS} HTTP/1.1`, 'Cookie: Authorization=Bearer {B}', 'Content-Length: 0')],
  ['an identity of its own', asAnonymous(`POST ${OTHERS} HTTP/1.1`, 'X-Login-Id: operator:7', 'Content-Length: 0')],
].map(([what, send]) => ({ claim: `a client with ${what} ends no session of the B side`, send: send!, answers: [401] }))

const methods: Attack[] = ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH'].flatMap(method =>
  [OTHERS, TOKEN].map(path => ({
    claim: `${method} ${path} ends nothing, so no link or image does`,
    send: asBusiness(`${method} ${path} HTTP/1.1`),
    answers: [405],
  })),
)

const overrides: Attack[] = ['X-HTTP-Method-Override: POST', 'X-Method-Override: POST', 'X-HTTP-Method: POST'].map(
  header => ({
    claim: `${header} makes no other method of GET`,
    send: asBusiness(`GET ${OTHERS} HTTP/1.1`, header),
    answers: [405],
  }),
)

/** Spellings of the path that a backend, or a careless router, may take for it. */
const paths: Attack[] = [
  '/api/v1/b//session/exit-others',
  '/api/v1/b/session/./exit-others',
  '/api/v1/public/b/../../b/session/exit-others',
  '/api/v1/b/session/exit%2Dothers%2f',
  '/api/v1/b/session%2Fexit-others',
  '/api/v1/b/session/exit-others%00',
  '/api/v1/b/session\\exit-others',
  '/api/v1/b/session/exit-others;x',
].map(path => ({
  claim: `${path} is refused as ambiguous`,
  send: asBusiness(`POST ${path} HTTP/1.1`, 'Content-Length: 0'),
  answers: [400],
}))

export default [...strangers, ...methods, ...overrides, ...paths] satisfies Attack[]
