import { fastify } from 'fastify'
import type { CanonicalPath } from '../../gate/path.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { routeToUpstreams } from './routes.ts'

/** Where a path is forwarded to. */
export interface Found {
  upstream: Upstream
  /** The path for the upstream. */
  path: string
}

/** Finds the upstream of a path with the router of the public listener, without a request; `null` if none matches. */
export async function findUpstream(upstreams: readonly Upstream[], path: CanonicalPath): Promise<Found | null> {
  const app = fastify()
  let found: Found | null = null
  await routeToUpstreams(app, upstreams, upstream => (_request, reply, path) => {
    found = { upstream, path }
    reply.send()
  })
  await app.inject({ method: 'GET', url: path })
  await app.close()
  return found
}
