import { type Attack, asAnonymous, asBusiness, asConsumer } from '../attack.ts'

/* Targets that can be read in one way only, but are near to another that is judged otherwise. */

const get = (target: string): string => `GET ${target} HTTP/1.1`

/** Neither letter case nor what looks like a version makes a rule apply; what no rule names is not open. */
const UNNAMED = [
  '/API/V1/sys/u',
  '/api/V1/sys/u',
  '/Api/v1/c/x',
  '/docsx',
  '/DOCS',
  '/docs/',
  '/api/v1.0/sys/u',
  '/api/v-1/sys/u',
  '/api/v%D9%A1/sys/u',
  '/api/v%D9%A1/public/b/x',
  '/api/v/c/x',
  '/api/vx/c/x',
  '/api/v1c/x',
  '/apiv1/c/x',
  '/v1/api/v1/c/x',
  '/x/api/v1/public/b/y',
  '/api',
  '/',
  '/sys',
  '/operations/v1/business/login',
  '/livez',
  '/readyz',
  '/metrics',
]

/** Near to an open path or to another side's, and judged by the last rule: the B side. */
const LAST_RULE = [
  '/api/v1/c',
  '/api/v1/sys',
  '/api/v1',
  '/api/v1/',
  '/api/v1/public/b',
  '/api/v1/public',
  '/api/v1/public/x/y',
  '/api/v1/C/x',
  '/api/v1/PUBLIC/b/x',
  '/api/v1/Public/b/x',
  '/api/v1/public/B/x',
  '/api/v1/cc/x',
  '/api/v1/c.json',
  '/api/v1/c:x/y',
  '/api/v1/c,b/x',
  '/api/v1/c?/x',
  '/api/v1/sys/u?/api/v1/public/b/',
  '/api/v1/sys/u?/../../public/b/x',
  '/api/v1/x/c/y',
  '/api/v1/x/public/b/y',
  '/api/v01/sys/u',
]

const CONSUMERS = [
  '/api/v1/c/',
  '/api/v1/c/x?__proto__[y]=1&%',
  '/api/v1/c/x?a=/../../sys/u//;b\\c%00%0d%0a',
  '/api/v1/c/x?',
  '/api/v1/c/x??',
  '/api/v1/c/%E4%B8%AD?/api/v1/public/b/',
  "/api/v1/c/a-._~!$&'()*+,=:@",
  '/api/v1/c/...',
  '/api/v1/c/.x/x./..x',
  '/api/v0/c/x',
  '/api/v01/c/x',
  '/api/v99999999999999999999/c/x',
]

const unnamed = UNNAMED.flatMap((target): Attack[] =>
  [asAnonymous, asConsumer, asBusiness].map(as => ({
    claim: `${target} is not found (${as.name})`,
    send: as(get(target)),
    answers: [404],
  })),
)

const lastRule = LAST_RULE.flatMap((target): Attack[] => [
  { claim: `${target} is refused without a session`, send: asAnonymous(get(target)), answers: [401] },
  { claim: `${target} is refused to a consumer`, send: asConsumer(get(target)), answers: [401] },
  {
    claim: `${target} is passed on for the B side, byte for byte`,
    send: asBusiness(get(target)),
    answers: ['upstream'],
    arrives: [{ line: get(target), as: 'BUSINESS' }],
  },
])

const consumers = CONSUMERS.flatMap((target): Attack[] => [
  { claim: `${target} is refused without a session`, send: asAnonymous(get(target)), answers: [401] },
  { claim: `${target} is refused to the B side`, send: asBusiness(get(target)), answers: [401] },
  {
    claim: `${target} is passed on for a consumer, byte for byte`,
    send: asConsumer(get(target)),
    answers: ['upstream'],
    arrives: [{ line: get(target), as: 'CONSUMER' }],
  },
])

const long = (path: number, query: number): string => `/api/v1/c/${'a'.repeat(path - 10)}${'?'.padEnd(query, 'b')}`

export default [
  ...unnamed,
  ...lastRule,
  ...consumers,
  {
    claim: 'a path of 2048 bytes in a target of 8192 is passed on',
    send: asConsumer(get(long(2048, 6144))),
    answers: ['upstream'],
    arrives: [{ line: get(long(2048, 6144)), as: 'CONSUMER' }],
  },
  { claim: 'a path of 2049 bytes is too long', send: asConsumer(get(long(2049, 1))), answers: [414] },
  { claim: 'a target of 8193 bytes is too long', send: asConsumer(get(long(2048, 6145))), answers: [414] },
  {
    claim: 'the administration is not served without a session',
    send: asAnonymous(get('/api/v1/sys/session/page')),
    answers: [401],
  },
  {
    claim: 'the administration is not served to a consumer',
    send: asConsumer(get('/api/v1/client/session/page')),
    answers: [401],
  },
  {
    claim: 'the administration is not served without the permission',
    send: asBusiness(get('/api/v1/sys/session/page')),
    answers: [403],
  },
] satisfies Attack[]
