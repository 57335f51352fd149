import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { type ForwardFixture, openForwardFixture, type WrittenUpstream } from '../support/forward-fixture.ts'
import { fc } from '../support/random.ts'

/*
 * Where a request goes: the upstream with the longest `match` that is the path, or its beginning up to a slash, byte by
 * byte, whatever Fastify's router and the proxy plugin make of it. None, where a backend could read it as a longer one.
 */

type Written = WrittenUpstream & { match: string }

/** A path as a backend could read it that ignores case, spaces, and dots at the end of a segment. */
const plain = (path: string): string =>
  decodeURIComponent(path)
    .replace(/ /g, '')
    .replace(/\.+(?=\/|$)/g, '')
    .replace(/\/$/, '')
    .toLowerCase()

/** The rule, in as few words as possible. */
function expected(upstreams: readonly Written[], path: string): { upstream: string | null; path: string | null } {
  const fitting = upstreams.filter(({ match }) => path === match || path.startsWith(`${match}/`))
  const longest = fitting.sort((a, b) => b.match.length - a.match.length)[0]
  const alike = upstreams.map(({ match }) => plain(match)).filter(match => `${plain(path)}/`.startsWith(`${match}/`))
  if (alike.some(match => match.length > plain(longest?.match ?? '').length)) return { upstream: null, path: null }
  if (longest === undefined || !/^\/api\/v\d+(\/|$)/.test(path)) return { upstream: null, path: null }
  const { match, rewrite = match } = longest
  const rest = path.slice(match.length)
  return { upstream: match, path: (rewrite === '/' ? rest : rewrite + rest) || '/' }
}

const open = (upstreams: readonly Written[]): Promise<ForwardFixture> =>
  openForwardFixture({
    upstreams: upstreams.map(written => ({ name: written.match, target: 'builtin:echo', ...written })),
    prepare: app => {
      app.addHook('onSend', (request, reply, _payload, done) => {
        reply.header('x-upstream', request.upstream ?? 'none')
        done()
      })
    },
  })

const agent = new Agent({ keepAlive: true })
t.teardown(() => agent.destroy())

const BUSINESS = 'Bearer BUSINESS.admin-1.signed'
const CONSUMER = 'Bearer CONSUMER.user-7.signed'

/** The answer to a request for exactly this target: other clients would write it anew. */
async function answer({ port }: ForwardFixture, path: string, authorization: string) {
  const request = get({ host: '127.0.0.1', port, path, headers: { authorization }, agent })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode, upstream: String(response.headers['x-upstream']), body: await text(response) }
}

/** Where a request went, and the target that the upstream received. */
async function sent(fixture: ForwardFixture, path: string, authorization = BUSINESS) {
  const { upstream, body } = await answer(fixture, path, authorization)
  return upstream === 'none' ? { upstream: null, url: null } : { upstream, url: JSON.parse(body).url as string }
}

/** Segments that `match` can have. A colon begins a parameter to the router, letters come in two cases. */
const SEGMENTS = ['a', 'A', 'ab', 'b', 'a:b', ':a', ':', '::', 'a::b', '.a', 'a.', '-', '~', '$&+,=@', '0']
/** What requests have besides: escapes in both cases, what the router reads as its own notation, what it unescapes. */
const OTHERS = ['%20', '%E4%BD%A0', '%e4%bd%a0', '%3A', '%3a', 'a%3Ab', '%24', '%21', '!', '%2A', '*', 'a*', '(a)', "'"]

const segment = fc.constantFrom(...SEGMENTS)
const match = fc.array(segment, { maxLength: 3 }).map(segments => ['/api/v1/public', ...segments].join('/'))
const rewrite = fc.option(
  fc.oneof(
    fc.constant('/'),
    fc.array(segment, { minLength: 1, maxLength: 2 }).map(segments => `/${segments.join('/')}`),
  ),
  { nil: undefined },
)
const upstreams = fc
  .uniqueArray(fc.record({ match, rewrite }), { minLength: 1, maxLength: 6, selector: one => one.match })
  .map(written =>
    written.map(({ match, rewrite }): Written => (rewrite === undefined ? { match } : { match, rewrite })),
  )
const path = fc
  .tuple(fc.array(fc.constantFrom(...SEGMENTS, ...OTHERS), { maxLength: 5 }), fc.boolean())
  .map(([segments, slash]) => ['/api/v1/public', ...segments, ...(slash ? [''] : [])].join('/'))
const query = fc.constantFrom(
  '',
  '?',
  '?a=1&a=2&b',
  '?a=%20+%zz&&=',
  '?a=b?c=d',
  '?__proto__=1',
  '?x=%E4%BD',
  "?'(*)!:;/",
)

t.test(
  'a path goes to the upstream of the longest match, with its beginning replaced and the query as it came',
  async t => {
    let forwarded = 0
    await fc.assert(
      fc.asyncProperty(
        upstreams,
        fc.array(fc.tuple(path, query), { minLength: 40, maxLength: 40 }),
        async (written, asked) => {
          const fixture = await open(written)
          try {
            for (const [path, query] of asked) {
              const want = expected(written, path)
              const got = await sent(fixture, path + query)
              const what = `${path}${query} among ${JSON.stringify(written)}`
              if (got.upstream !== want.upstream)
                throw new Error(`${what} went to ${got.upstream}, not to ${want.upstream}`)
              if (got.url !== (want.path === null ? null : want.path + query))
                throw new Error(`${what} became ${got.url}`)
              if (got.upstream !== null) forwarded++
            }
          } finally {
            await fixture.close()
          }
        },
      ),
      { numRuns: 60 },
    )
    t.ok(forwarded > 500, `${forwarded} requests were forwarded`)
  },
)

t.test('a rewrite replaces the matched prefix and nothing else', async t => {
  const REWRITES: [match: string, rewrite: string | undefined, asked: string, forwarded: string][] = [
    ['/api/v1/c/orders', undefined, '/api/v1/c/orders/7', '/api/v1/c/orders/7'],
    ['/api/v1/c/orders', '/', '/api/v1/c/orders/7', '/7'],
    ['/api/v1/c/orders', '/', '/api/v1/c/orders', '/'],
    ['/api/v1/c/orders', '/', '/api/v1/c/orders/', '/'],
    ['/api/v1/c/orders', '/orders', '/api/v1/c/orders', '/orders'],
    ['/api/v1/c/orders', '/orders', '/api/v1/c/orders/', '/orders/'],
    ['/api/v1/c/orders', '/internal/v2', '/api/v1/c/orders/api/v1/c/orders', '/internal/v2/api/v1/c/orders'],
    ['/api/v1/c/orders', '/o', '/api/v1/c/orders/%E4%BD%A0', '/o/%E4%BD%A0'],
    ['/api/v1/c/a:b', '/o', '/api/v1/c/a:b/c:d', '/o/c:d'],
  ]
  for (const [match, rewrite, asked, forwarded] of REWRITES) {
    const fixture = await open([{ match, ...(rewrite && { rewrite }) }])
    t.same(await sent(fixture, asked, CONSUMER), { upstream: match, url: forwarded }, `${asked} by ${rewrite}`)
    await fixture.close()
  }
})

t.test('a path that a rewrite makes ambiguous never reaches an upstream', async t => {
  // `dualgate check` rejects these rewrites already.
  for (const rewrite of ['/../x', '//evil.example', '/a/./b', '/%2e%2e']) {
    const fixture = await open([{ match: '/api/v1/c', rewrite }])
    const { status } = await answer(fixture, '/api/v1/c/x', CONSUMER)
    t.ok(status === 400 || status === 500, `${rewrite}: ${status}`)
    await fixture.close()
  }
})

t.test('below /api only versioned paths are forwarded, also where an upstream matches all of it', async t => {
  const fixture = await open([{ match: '/api' }])
  t.teardown(() => fixture.close())
  t.same(await sent(fixture, '/api/v1/c/x', CONSUMER), { upstream: '/api', url: '/api/v1/c/x' })
  for (const path of ['/api', '/api/', '/api/x', '/api/vx/c', '/apix']) {
    t.equal((await answer(fixture, path, CONSUMER)).status, 404, path)
  }
})

t.test('a path without an upstream is not found, with any body', async t => {
  const fixture = await open([{ match: '/api/v1/c/orders' }])
  t.teardown(() => fixture.close())
  for (const path of ['/api/v1/c/orders2', '/api/v1/c/', '/api/v1/c/Orders', '/api/v2/c/orders']) {
    const { status, body } = await answer(fixture, path, CONSUMER)
    t.same([status, JSON.parse(body).code], [404, 404], path)
    const posted = await fetch(fixture.url + path, {
      method: 'POST',
      headers: { authorization: CONSUMER, 'content-type': 'text/csv' },
      body: Buffer.alloc(100_000),
    })
    t.equal(posted.status, 404, `${path} with a body`)
    await posted.text()
  }
})

t.test('a listener with thousands of upstreams starts and closes, and finds each', async t => {
  const fixture = await open(
    Array.from({ length: 3000 }, (_, i) => ({ match: `/api/v1/public/c/u${i}`, rewrite: `/u${i}` })),
  )
  t.same(await sent(fixture, '/api/v1/public/c/u2999/x'), { upstream: '/api/v1/public/c/u2999', url: '/u2999/x' })
  await fixture.close()
})
