import { type Attack, asAnonymous, asBusiness, asConsumer } from '../attack.ts'

/*
 * Paths that the operator excepted, and everything near them: an exception opens exactly what it names, in exactly one
 * spelling, and nothing beside it.
 */

/** What the gateway of these attacks excepts; the other tables hold with it as without. */
export const exceptions = [
  { path: '/api/v1/sys/dict/tree', methods: ['GET'], needs: 'none' },
  { path: '/api/v1/help/*', needs: 'none' },
  { path: '/api/v1/file/*', methods: ['GET', 'POST'], needs: 'either' },
  { path: '/api/v1/c/office/*', needs: 'business' },
  { path: '/api/v1/b/guide', needs: 'consumer' },
]

const OPEN = '/api/v1/sys/dict/tree'
const get = (target: string): string => `GET ${target} HTTP/1.1`

/** Who gets through to a path: without a session, with one of the C side, with one of the B side. */
type Admitted = 'everybody' | 'either' | 'consumers' | 'business'

const ADMITTED: [target: string, admitted: Admitted][] = [
  [OPEN, 'everybody'],
  [`${OPEN}?x=/../../sys/u`, 'everybody'],
  [`${OPEN}?`, 'everybody'],
  ['/api/v1/help/', 'everybody'],
  ['/api/v1/help/x/y', 'everybody'],
  ['/api/v1/help/%E4%B8%AD', 'everybody'],
  ['/api/v1/help/...', 'everybody'],
  ['/api/v1/file/x', 'either'],
  ['/api/v1/c/office/x', 'business'],
  ['/api/v1/b/guide', 'consumers'],
  [`${OPEN}/`, 'business'],
  [`${OPEN}/x`, 'business'],
  [`${OPEN}.json`, 'business'],
  [`${OPEN}%20`, 'business'],
  [`${OPEN},x`, 'business'],
  [`${OPEN}*`, 'business'],
  ['/api/v1/sys/dict', 'business'],
  ['/api/v2/sys/dict/tree', 'business'],
  ['/api/v01/sys/dict/tree', 'business'],
  ['/api/v1/x/sys/dict/tree', 'business'],
  ['/api/v1/sys/u?/api/v1/sys/dict/tree', 'business'],
  ['/api/v1/help', 'business'],
  ['/api/v1/help?/', 'business'],
  ['/api/v1/help%20/x', 'business'],
  ['/api/v1/helper/x', 'business'],
  ['/api/v1/Help/x', 'business'],
  ['/api/v1/x/help/y', 'business'],
  ['/api/v1/*', 'business'],
  ['/api/v1/file', 'business'],
  ['/api/v1/files/x', 'business'],
  ['/api/v1/c/office', 'consumers'],
  ['/api/v1/c/help/x', 'consumers'],
  ['/api/v1/b/guide/', 'business'],
]

const AS = {
  anonymous: { ask: asAnonymous, passes: ['everybody'], side: undefined },
  consumer: { ask: asConsumer, passes: ['everybody', 'either', 'consumers'], side: 'CONSUMER' },
  business: { ask: asBusiness, passes: ['everybody', 'either', 'business'], side: 'BUSINESS' },
} as const

const admitted = ADMITTED.flatMap(([target, needed]): Attack[] =>
  Object.entries(AS).map(([who, { ask, passes, side }]) => {
    const line = get(target)
    const send = ask(line, 'X-Login-Id: 1', 'X_Login_Type: BUSINESS')
    if (!(passes as readonly string[]).includes(needed))
      return { claim: `${target} is refused to ${who}`, send, answers: [401] }
    const as = needed === 'everybody' ? undefined : side
    return {
      claim: `${target} is passed on for ${who}`,
      send,
      answers: ['upstream'],
      arrives: [{ line, ...(as !== undefined && { as }) }],
    }
  }),
)

/** Other methods of an excepted path stay as they were. */
const otherMethods = ['POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method): Attack[] =>
  [asAnonymous, asConsumer].map(ask => ({
    claim: `${method} of an excepted path needs its session (${ask.name})`,
    send: ask(`${method} ${OPEN} HTTP/1.1`, 'Content-Length: 0', 'X-HTTP-Method-Override: GET'),
    answers: [401],
  })),
)

/** What is written between two segments of an excepted path, or behind it, and merged, resolved, stripped or decoded somewhere. */
const BETWEEN = [
  '//',
  '/./',
  '/x/../',
  '/%2e/',
  '/x/%2e%2e/',
  '/;a/',
  ';a=b/',
  '%2f',
  '%2F',
  '\\',
  '%5c',
  '/%00/',
  '%ef%bc%8f',
  '#/',
]

const between = [...OPEN.matchAll(/\//g)].flatMap(({ index }) =>
  BETWEEN.map(text => OPEN.slice(0, index) + text + OPEN.slice(index + 1)),
)

/** From below an exception to what is beside it. */
const LEAVING = [
  '..',
  '%2e%2e',
  '.%2E',
  '..;',
  '..;a=b',
  '..%2f',
  '..%5c',
  '..\\',
  '..%00',
  '..%20',
  '..%252f',
  '%252e%252e',
  '%ef%bc%8e%ef%bc%8e',
  '%e2%80%a5',
  '%c0%ae%c0%ae',
  'x/..',
  'x/../..',
  '.',
  '/..',
].flatMap(way => ['/api/v1/help', '/api/v1/file'].flatMap(start => [`${start}/${way}/sys/u`, `${start}/${way}`]))

const ambiguous = [...between, ...LEAVING].flatMap((target): Attack[] =>
  Object.values(AS).map(({ ask }) => ({
    claim: `${target} is refused: another spelling of what is excepted, or a way from it (${ask.name})`,
    send: ask(get(target)),
    answers: [400],
  })),
)

/** What a path is answered to a client without a session when it is not the excepted one. */
function answerTo(target: string): number {
  if (!target.startsWith('/') || target.includes('//') || target.includes('%')) return 400
  return /^\/api\/v[0-9]+\//.test(target) ? 401 : 404
}

/** Every character of the excepted path: escaped, in capitals, doubled, left out. */
const changed = [...OPEN].flatMap((character, i) => {
  const [before, after] = [OPEN.slice(0, i), OPEN.slice(i + 1)]
  const hex = character.charCodeAt(0).toString(16)
  const variants = [`%${hex}`, `%${hex.toUpperCase()}`, `%25${hex}`, character.toUpperCase(), character + character, '']
  return variants.map(variant => before + variant + after)
})

const near = [...new Set(changed)]
  .filter(target => target !== OPEN)
  .map(
    (target): Attack => ({
      claim: `${target} is not the excepted path`,
      send: asAnonymous(get(target)),
      answers: [answerTo(target)],
    }),
  )

/** Letters that fold to ASCII in servers that normalize: canonical, and yet not the excepted path. */
const folded = ['/api/v1/sys/dict/%ef%bd%94ree', '/api/v1/%c5%bfys/dict/tree', '/api/v1/sys/d%c4%b1ct/tree'].flatMap(
  (target): Attack[] =>
    [asAnonymous, asConsumer].map(ask => ({
      claim: `${target} is not the excepted path (${ask.name})`,
      send: ask(get(target)),
      answers: [401],
    })),
)

export default [...admitted, ...otherMethods, ...ambiguous, ...near, ...folded] satisfies Attack[]
