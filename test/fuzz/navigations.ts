import { type Answer, call } from '../support/client.ts'
import { startFixture } from '../support/gateway-fixture.ts'
import { fc } from '../support/random.ts'
import { checkSequences, expect, type SequenceOptions } from './model.ts'

/*
 * Requests without a session, as browsers and programs send them: a person is led to the sign-in of the side, and to nothing
 * else; a program gets 401. What a simple reader of the contract expects is compared with what the gateway answers.
 */

const SIGN_IN = { '/b/x': 'b', '/c/x/y': 'c', '/either': 'b' } as const
const OPEN = '/open'
const API = '/api/v1/c/x'

interface Step {
  method: string
  path: string
  query: string
  mode: string | null
  destination: string | null
  site: string | null
  accept: string | null
  purpose: string | null
  isOfScript: boolean
}

const FRAMES = ['iframe', 'frame', 'embed', 'object', 'fencedframe']

const query = fc
  .array(
    fc.constantFrom(
      'a=b',
      'to=https://evil.example/',
      'to=%2F%2Fevil.example',
      '&',
      '%0d%0aX:1',
      '%',
      '+',
      "'",
      '//',
      '@',
    ),
    { maxLength: 4 },
  )
  .map(parts => parts.join(''))
  .map(text => (text === '' ? '' : `?${text}`))

const step: fc.Arbitrary<Step> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST', 'DELETE'),
  path: fc.constantFrom(...Object.keys(SIGN_IN), OPEN, API),
  query,
  mode: fc.constantFrom(null, null, 'navigate', 'navigate', 'navigate', 'cors', 'no-cors', 'websocket', 'Navigate'),
  destination: fc.constantFrom(null, null, 'document', 'document', 'empty', 'image', 'Document', ...FRAMES),
  site: fc.constantFrom(null, null, 'none', 'same-origin', 'cross-site'),
  accept: fc.constantFrom(null, 'text/html,*/*;q=0.8', 'TEXT/HTML', '*/*', 'application/json', 'text/htmlx'),
  purpose: fc.constantFrom(null, null, null, null, 'prefetch', 'prefetch;prerender', 'Prefetch'),
  isOfScript: fc.boolean(),
})

/** What every run sees. */
const NAVIGATION: Step = {
  method: 'GET',
  path: '/b/x',
  query: '?a=b',
  mode: 'navigate',
  destination: 'document',
  site: 'none',
  accept: null,
  purpose: null,
  isOfScript: false,
}
const FIRST: Step[] = [
  NAVIGATION,
  { ...NAVIGATION, method: 'POST' },
  { ...NAVIGATION, mode: 'cors' },
  { ...NAVIGATION, path: OPEN },
]

type Shown = 'sign-in' | 'page' | 'envelope' | 'upstream'

/** What the client gets. */
function expected({ method, path, mode, destination, site, accept, purpose, isOfScript }: Step): Shown {
  if (path === OPEN) return 'upstream'
  if (path === API || purpose !== null) return 'envelope'
  const reads = method === 'GET' || method === 'HEAD'
  const acceptsPage = ['text/html,*/*;q=0.8', 'TEXT/HTML'].includes(accept ?? '')
  if (mode === null && destination === null && site === null) {
    return !acceptsPage || isOfScript ? 'envelope' : reads ? 'sign-in' : 'page'
  }
  if (mode !== 'navigate') return 'envelope'
  if (FRAMES.includes(destination ?? '')) return 'page'
  if (destination !== 'document' && !(destination === 'empty' && acceptsPage)) return 'envelope'
  return reads ? 'sign-in' : 'page'
}

function headersOf({ mode, destination, site, accept, purpose, isOfScript }: Step): Record<string, string> {
  const headers = {
    'sec-fetch-mode': mode,
    'sec-fetch-dest': destination,
    'sec-fetch-site': site,
    accept,
    'sec-purpose': purpose,
    'x-requested-with': isOfScript ? 'XMLHttpRequest' : null,
  }
  return Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null))
}

/** What it got. Throws where a redirect leads to anything but the sign-in of its side, and from there back to the page. */
function shown({ method, path, query }: Step, { status, headers, text }: Answer, own: string, what: string): Shown {
  if (status === 303) {
    const { location = '' } = headers
    const to = new URL(location, own)
    const side = SIGN_IN[path as keyof typeof SIGN_IN]
    expect(
      [location[0], to.origin, to.pathname, to.searchParams.get('to')],
      ['/', own, `/sign-in/${side}/`, path + query],
      what,
    )
    return 'sign-in'
  }
  const isHtml = /^text\/html/.test(headers['content-type'] ?? '')
  if (status === 401 && isHtml) return 'page'
  const code = method === 'HEAD' ? status : JSON.parse(text).code
  return status === 401 || code === 401 ? 'envelope' : 'upstream'
}

export async function fuzzNavigations(options: SequenceOptions) {
  const fixture = await startFixture({
    config: {
      browser: { business: 'on', consumer: 'on' },
      gate: {
        pages: [
          { path: '/b/*', needs: 'business' },
          { path: '/c/*', needs: 'consumer' },
          { path: '/either', needs: 'either' },
          { path: OPEN, needs: 'none' },
        ],
      },
    },
    upstreams: [{ name: 'site', match: '/', target: 'builtin:echo' }],
  })
  try {
    const take = async (steps: readonly Step[], see: (outcome: string) => void): Promise<void> => {
      for (const one of steps) {
        // A refusal below /api has status 200, which a HEAD alone does not tell from an answer.
        const asked = one.path === API ? { ...one, method: 'GET' } : one
        const { method, path, query } = asked
        const what = JSON.stringify(asked)
        const answer = await call(fixture.url, { method, path: path + query, headers: headersOf(asked) })
        const wanted = expected(asked)
        see(wanted)
        expect(shown(asked, answer, fixture.url, what), wanted, what)
      }
    }
    return await checkSequences(step, { minLength: 20, maxLength: 60 }, options, take, [FIRST])
  } finally {
    await fixture.close()
  }
}
