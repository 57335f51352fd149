import { type Answer, call } from '../support/client.ts'
import { startFixture } from '../support/gateway-fixture.ts'
import { fc } from '../support/random.ts'
import { checkSequences, expect, type SequenceOptions } from './model.ts'

/*
 * Requests with cookies of every kind, from pages of every kind: each is refused, or reaches the upstream as the user whom a
 * simple reader of the laws finds, with all cookies but ours.
 */

const NAMES = { BUSINESS: '__Host-dualgate-b', CONSUMER: '__Host-dualgate-c' } as const
const OURS = [...Object.values(NAMES), '__Secure-dualgate-b', '__Secure-dualgate-c', 'dualgate-b', 'dualgate-c']
const USERS = { BUSINESS: 'worker', CONSUMER: 'customer' } as const
type Side = keyof typeof USERS

/** What stands for a token until the gateway has issued it. */
const TOKENS = { BUSINESS: '<B>', CONSUMER: '<C>', DEAD: '<D>' } as const

const PATHS = { '/b/x': ['BUSINESS'], '/c/x': ['CONSUMER'], '/either': ['BUSINESS', 'CONSUMER'], '/open': [] } as const

const name = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<string>(...Object.values(NAMES)) },
  { weight: 2, arbitrary: fc.constantFrom(...OURS) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'a',
      '',
      'xdualgate-b',
      'x__Host-dualgate-b',
      '__host-dualgate-b',
      '__Host-dualgate-bb',
      '$Version',
      'é',
    ),
  },
)
const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<string>(...Object.values(TOKENS)) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      '1',
      'x.y.z',
      `"${TOKENS.BUSINESS}"`,
      `${TOKENS.BUSINESS}=`,
      `=${TOKENS.BUSINESS}`,
      'é',
      '"',
      'a,b',
      `${TOKENS.BUSINESS}.`,
    ),
  },
)
const space = fc.constantFrom('', '', '', ' ', '  ', '\t')
const pair = fc
  .tuple(space, name, space, fc.constantFrom('=', '=', '=', '=', ''), space, value, space)
  .map(parts => parts.join(''))
const cookie = fc
  .tuple(fc.array(pair, { maxLength: 4 }), fc.constantFrom('; ', ';', ';;', ' ; ', '; ; '))
  .map(([pairs, separator]) => pairs.join(separator))

interface Step {
  method: string
  path: keyof typeof PATHS
  cookies: string[]
  site: string | null
  origin: string | null
  authorization: string | null
}

const step: fc.Arbitrary<Step> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'DELETE', 'HEAD'),
  path: fc.constantFrom(...(Object.keys(PATHS) as (keyof typeof PATHS)[])),
  cookies: fc.array(cookie, { minLength: 1, maxLength: 2 }),
  site: fc.constantFrom(null, 'same-origin', 'same-origin', 'none', 'same-site', 'cross-site', 'Same-Origin', ''),
  origin: fc.constantFrom(null, null, 'own', 'null', 'https://allowed.example', 'https://evil.example'),
  authorization: fc.constantFrom(
    null,
    null,
    null,
    null,
    'Basic YTpi',
    'Bearer x.y.z',
    `Bearer ${TOKENS.BUSINESS}`,
    'Bearer',
  ),
})

/** The pairs that servers find in a `Cookie` header (RFC 6265 5.4). */
const pairsIn = (cookies: readonly string[]): { text: string; name: string; value: string }[] =>
  cookies
    .flatMap(line => line.split(';'))
    .map(text => {
      const [first = '', ...rest] = text.split('=')
      return { text, name: first.trim(), value: rest.join('=').trim() }
    })

/** The user as whom a request passes; `null` for none, or the code of the refusal. */
function expected({ method, path, cookies, site, origin, authorization }: Step): string | number | null {
  const sides: readonly Side[] = PATHS[path]
  if (sides.length === 0) return null
  const isTokenForm = authorization !== null && /^Bearer [^ .]+\.[^ .]+\.[^ .]+$|^Bearer <.>$/.test(authorization)
  if (isTokenForm)
    return authorization === `Bearer ${TOKENS.BUSINESS}` && sides.includes('BUSINESS') ? USERS.BUSINESS : 401
  const found = sides.map(side => pairsIn(cookies).filter(({ name }) => name === NAMES[side]))
  const isForeign =
    site === 'same-origin' || site === 'none'
      ? false
      : origin !== 'https://allowed.example' && (site !== null || origin !== 'own')
  const isForm = (text: string): boolean => /^(?:<.>|[\w-]+\.[\w-]+\.[\w-]+)$/.test(text)
  for (const pairs of found) if (pairs.length > 1) return 401
  const held = found.flatMap(([one]) => (one !== undefined && isForm(one.value) ? [one.value] : []))
  if (held.length === 0) return 401
  if (isForeign && method !== 'GET' && method !== 'HEAD') return 403
  const live = sides.find((side, i) => found[i]?.[0]?.value === TOKENS[side])
  return live === undefined ? 401 : USERS[live]
}

export async function fuzzCookies(options: SequenceOptions) {
  const fixture = await startFixture({
    config: {
      browser: { business: 'on', consumer: 'on', origins: ['https://allowed.example'] },
      gate: {
        pages: [
          { path: '/b/*', needs: 'business' },
          { path: '/c/*', needs: 'consumer' },
          { path: '/either', needs: 'either' },
          { path: '/open', needs: 'none' },
        ],
      },
    },
    upstreams: [{ name: 'site', match: '/', target: 'builtin:echo' }],
  })
  try {
    const { business, consumer } = fixture.gateway.sides
    const tokens = {
      [TOKENS.BUSINESS]: await business.login(undefined, USERS.BUSINESS),
      [TOKENS.CONSUMER]: await consumer.login(undefined, USERS.CONSUMER),
      [TOKENS.DEAD]: await business.login(undefined, 'dead'),
    }
    await business.kickout('dead')
    const filled = (text: string): string => text.replace(/<.>/g, mark => tokens[mark as '<B>'])
    const ask = ({ method, path, cookies, site, origin, authorization }: Step): Promise<Answer> => {
      const headers: Record<string, string | string[]> = { cookie: cookies.map(filled) }
      if (site !== null) headers['sec-fetch-site'] = site
      if (origin !== null) headers.origin = origin === 'own' ? fixture.url : origin
      if (authorization !== null) headers.authorization = filled(authorization)
      return call(fixture.url, { method, path, headers })
    }
    return await checkSequences(step, { minLength: 20, maxLength: 60 }, options, async (steps, see) => {
      for (const one of steps) {
        const wanted = expected(one)
        const what = JSON.stringify(one)
        const answer = await ask(one)
        see(typeof wanted === 'number' ? `refused with ${wanted}` : `passes as ${wanted ?? 'no user'}`)
        if (one.method === 'HEAD' || typeof wanted === 'number') {
          expect(answer.status, typeof wanted === 'number' ? wanted : 200, what)
          continue
        }
        const { headers } = answer.json()
        expect(headers['x-login-id'] ?? null, wanted, what)
        // What an upstream gets of a token in a cookie of another name is the client's own affair.
        const kept = pairsIn(String(headers.cookie ?? '').split('; ')).map(({ text }) => text.trim())
        const sent = pairsIn(one.cookies.map(filled).map(latin1)).filter(({ name }) => !OURS.includes(name))
        expect(kept.filter(Boolean), sent.map(({ text }) => text.trim()).filter(Boolean), what)
      }
    })
  } finally {
    await fixture.close()
  }
}

/** Node reads and writes headers as Latin-1. */
const latin1 = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')
