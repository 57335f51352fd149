import { type Attack, asBusiness, request } from '../attack.ts'

/*
 * Spellings of paths and of addresses, against a gateway that lets no client address of these tests call `/api/v1/staff/*`. A
 * backend may read each of them as that path.
 */

export const access = [{ path: '/api/v1/staff/*', allow: ['10.0.0.0/8'] }]

const TARGETS: [target: string, code: number][] = [
  ['/api/v1/staff/x', 403],
  ['/api/v1/staff', 403],
  ['/api/v1/staff/', 403],
  ['/api/v1/staff?x', 403],
  ['/api/v1/STAFF/x', 403],
  ['/api/v1/Staff/x', 403],
  ['http://x/api/v1/staff/x', 403],
  ['/api/v1/%73taff/x', 400],
  ['/api/v1/staff%2fx', 400],
  ['/api/v1//staff/x', 400],
  ['/api/v1/./staff/x', 400],
  ['/api/v1/c/../staff/x', 400],
  ['/api/v1/c/%2e%2e/staff/x', 400],
  ['/api/v1/staff;a/x', 400],
  ['/api/v1/staff\\x', 400],
  ['/api/v1/%EF%BD%93taff%EF%BC%8Fx', 400],
  ['/api/v1/staff%00/x', 400],
]

const SPOOFED = [
  'X-Forwarded-For: 10.0.0.1',
  'X-Forwarded-For: 10.0.0.1, 127.0.0.1',
  'X_Forwarded_For: 10.0.0.1',
  'Forwarded: for=10.0.0.1',
  'X-Real-IP: 10.0.0.1',
  'X-Client-IP: 10.0.0.1',
  'True-Client-IP: 10.0.0.1',
]

export default [
  ...TARGETS.flatMap(([target, code]): Attack[] => [
    {
      claim: `${target} is refused for the address of its client, or as ambiguous`,
      send: asBusiness(`GET ${target} HTTP/1.1`),
      answers: [code],
    },
  ]),
  ...SPOOFED.map(
    (header): Attack => ({
      claim: `a client cannot choose its address with ${header}`,
      send: asBusiness('GET /api/v1/staff/x HTTP/1.1', header),
      answers: [403],
    }),
  ),
  {
    claim: 'OPTIONS needs no session, but an allowed address all the same',
    send: request(['OPTIONS /api/v1/staff/x HTTP/1.1', 'Host: x']),
    answers: [403],
  },
] satisfies Attack[]
