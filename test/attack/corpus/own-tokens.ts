import { createHmac } from 'node:crypto'
import { type Arrival, type Attack, asAnonymous, asConsumer } from '../attack.ts'

/* A token of this gateway is worth its session: no upstream gets one, on public paths neither. What is not ours passes. */

const OPEN = 'GET /api/v1/public/c/x HTTP/1.1'
const OPTIONS = 'OPTIONS /api/v1/c/x HTTP/1.1'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ jti: 'of-another-issuer', iat: 1 })}`
/** A token of the same form, signed with a foreign key. */
const FOREIGN = `${input}.${createHmac('sha256', 'a key that is not the gateway’s own').update(input).digest('base64url')}`

const OWN_VALUES = [
  'Bearer {C}',
  'Bearer {B}',
  'bearer {C}',
  'BEARER {C}',
  'bEaReR {B}',
  '{C}',
  '{B}',
  'Bearer  {C}',
  'Bearer\t{C}',
  'Token {C}',
  'JWT {C}',
  'Token token="{C}"',
  'Bearer one, Bearer {C}',
  'Bearer {C},Basic YTpi',
  `Bearer ${FOREIGN} {C}`,
  'Bearer {C}=',
]

const ownHeaders = OWN_VALUES.flatMap((value): Attack[] => [
  {
    claim: `Authorization: ${value} does not arrive on a public path`,
    send: asAnonymous(OPEN, 'X-First: 1', `Authorization: ${value}`, 'X-Last: 2'),
    answers: ['upstream'],
    arrives: [{ line: OPEN, headers: ['X-First: 1', 'X-Last: 2'] }],
  },
  {
    claim: `authorization: ${value} does not arrive with OPTIONS`,
    send: asAnonymous(OPTIONS, `authorization: ${value}`),
    answers: ['upstream'],
    arrives: [{ line: OPTIONS }],
  },
])

const OTHER_VALUES = [
  'Basic YTpi',
  'Basic  YTpi',
  'Bearer of-another-scheme',
  `Bearer ${FOREIGN}`,
  FOREIGN,
  `Bearer ${FOREIGN.slice(0, -8)}`,
  'Bearer a.b.c',
  'Bearer ..',
  'Digest username="a.b.c", nonce="x.y.z"',
  'Bearer',
]

const otherHeaders = OTHER_VALUES.map((value): Attack => {
  const header = `AUTHORIZATION: ${value}`
  const arrives: Arrival[] = [{ line: OPEN, headers: [header] }]
  return {
    claim: `${header} is of another scheme and arrives on a public path as it was written`,
    send: asAnonymous(OPEN, header),
    answers: ['upstream'],
    arrives,
  }
})

/** Queries with tokens of ours, and what is left of them. */
const QUERIES: [query: string, arrives: string][] = [
  ['?token={C}', ''],
  ['?token={B}', ''],
  ['?token={C}&a=1', '?a=1'],
  ['?a=1&token={C}', '?a=1'],
  ['?a=1&token={C}&b=2', '?a=1&b=2'],
  ['?a=%E4%B8%AD+%2f&&token={C}&=&b=%zz', '?a=%E4%B8%AD+%2f&&=&b=%zz'],
  ['?token={C}&token={B}', ''],
  ['?token={C}&token=mine&token={B}&token=', '?token=mine&token='],
  ['?token=mine&token={C}', '?token=mine'],
  ['?&token={C}', '?'],
  ['?%74oken={C}', ''],
  ['?%74%6f%6B%65%6e={C}&a=1', '?a=1'],
  ['?Token={C}', ''],
  ['?%54OKEN={C}', ''],
  ['?token={%C}', ''],
  ['?a=1&token=Bearer%20{%B}&b', '?a=1&b'],
  ['?token=Bearer%20{C}', ''],
  ['?token=Bearer+{C}', ''],
  ['?token=%22{C}%22', ''],
  ['?a=1;token={C}', '?a=1'],
  ['?token={C};a=1', '?a=1'],
  ['?token={C}?', ''],
]

/** Queries without one, byte for byte; many of them look like the others. */
const UNTOUCHED = [
  '?token=',
  '?token',
  '?token=mine',
  '?token=a.b.c',
  `?token=${FOREIGN}`,
  `?token=${FOREIGN}&token=%${FOREIGN.slice(1)}`,
  '?token=mine&a=%zz',
  '?token=%zz%{',
  '?tokens=a.b.c&xtoken=1&token_=2',
  '?',
  '?&&==&',
  '?a=token=1',
  `?a=?token=${FOREIGN}`,
]

const line = (path: string, query: string, method = 'GET'): string => `${method} ${path}${query} HTTP/1.1`

const queries = QUERIES.flatMap(([query, rest]): Attack[] => [
  {
    claim: `${query} on a public path arrives as ${rest || 'no query'}`,
    send: asAnonymous(line('/api/v1/public/b/x', query)),
    answers: ['upstream'],
    arrives: [{ line: line('/api/v1/public/b/x', rest) }],
  },
  {
    claim: `${query} beside a session arrives as ${rest || 'no query'}`,
    send: asConsumer(line('/api/v1/c/x', query)),
    answers: ['upstream'],
    arrives: [{ line: line('/api/v1/c/x', rest), as: 'CONSUMER' }],
  },
  {
    claim: `${query} with OPTIONS arrives as ${rest || 'no query'}`,
    send: asAnonymous(line('/api/v1/sys/x', query, 'OPTIONS')),
    answers: ['upstream'],
    arrives: [{ line: line('/api/v1/sys/x', rest, 'OPTIONS') }],
  },
])

const untouched = UNTOUCHED.map(
  (query): Attack => ({
    claim: `${query} arrives byte for byte`,
    send: asAnonymous(line('/api/v1/public/c/x', query)),
    answers: ['upstream'],
    arrives: [{ line: line('/api/v1/public/c/x', query) }],
  }),
)

export default [
  ...ownHeaders,
  ...otherHeaders,
  ...queries,
  ...untouched,
  {
    claim: 'a token in the query does not authenticate a plain request',
    send: asAnonymous('GET /api/v1/c/x?token={C} HTTP/1.1'),
    answers: [401],
  },
] satisfies Attack[]
