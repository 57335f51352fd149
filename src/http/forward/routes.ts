import { Agent } from 'node:https'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Upstream } from '../../upstream/upstream.ts'
import { METHODS } from '../server/ambiguous.ts'

/**
 * Answers a request for one upstream. `path` is that for the upstream: `match` is replaced, the query is not included.
 */
export type UpstreamHandler = (request: FastifyRequest, reply: FastifyReply, path: string) => void

type Routed = Pick<Upstream, 'match' | 'rewrite'>

/**
 * Registers one `@fastify/http-proxy` per upstream. Fastify's router finds the longest `match` of a path, the plugin
 * replaces it by `rewrite` and checks that the result stays below `rewrite` at the same origin; the handler does the rest.
 */
export async function routeToUpstreams<U extends Routed>(
  app: FastifyInstance,
  upstreams: readonly U[],
  handlerOf: (upstream: U) => UpstreamHandler,
): Promise<void> {
  if (upstreams.length === 0) return
  // Loading it takes a while, so it is loaded only with upstreams.
  const { default: httpProxy } = await import('@fastify/http-proxy')
  app.addHook('onRegister', shareClasses)
  for (let i = 0; i < upstreams.length; i += GROUP) {
    await app.register(async scope => {
      for (const upstream of upstreams.slice(i, i + GROUP)) await register(scope, upstream)
    })
  }

  async function register(scope: FastifyInstance, upstream: U): Promise<void> {
    const { match, rewrite } = upstream
    // A colon begins a parameter to the router, unless it is doubled.
    const prefix = match.replaceAll(':', '::')
    await scope.register(httpProxy, {
      ...NO_TRANSPORT,
      prefix,
      rewritePrefix: rewrite,
      upstream: BASE,
      httpMethods: [...METHODS],
      config: { isForwarded: true },
      // A path that the gateway serves itself is not forwarded, even if it is the `match` of an upstream.
      routes: app.hasRoute({ method: 'GET', url: prefix }) ? ['/*'] : ['', '/*'],
      preRewrite: withoutQuery,
      // Bodies are read by the handler.
      proxyPayloads: false,
      handler: handlerOf(upstream),
    })
  }
}

/** What Fastify calls its classes of requests and replies in an instance. */
const CLASSES: readonly (string | undefined)[] = ['fastify.Request', 'fastify.Reply']

/**
 * Makes the requests of all upstreams objects of the same classes: those of the instance above. Fastify creates classes for
 * each plugin, because it may decorate them. V8 compiles code badly that receives objects of many classes: with 50 upstreams
 * in use each request cost 8 µs more. The plugin would decorate replies with its HTTP client, which is not used.
 */
function shareClasses(instance: FastifyInstance): void {
  const own = Object.getOwnPropertySymbols(instance).filter(({ description }) => CLASSES.includes(description))
  for (const key of own) Reflect.deleteProperty(instance, key)
  Object.assign(instance, { decorateReply: () => instance })
}

/** Fastify closes the contexts below one in a recursion, whose stack ends at some thousands of them. */
const GROUP = 250

const UNUSED = Object.assign(new Agent(), {
  addRequest: (): never => {
    throw new Error('requests are sent by the handler')
  },
})

/** The plugin's own HTTP client is never used: no pool, no agent and no cache of addresses is made for it. */
const NO_TRANSPORT = { http: { agents: { 'http:': UNUSED, 'https:': UNUSED } }, disableCache: true }

/**
 * What the plugin resolves paths against to check them; which target of an upstream gets a request is decided later. The
 * plugin parses it for every request: a short name costs a microsecond less than an address with a port.
 */
const BASE = 'http://a'

/** The plugin must not parse and rewrite the query: it is forwarded byte for byte. */
function withoutQuery(url: string): string {
  const mark = url.indexOf('?')
  return mark === -1 ? url : url.slice(0, mark)
}
