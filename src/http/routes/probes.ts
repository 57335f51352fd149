import type { FastifyInstance } from 'fastify'
import type { Store } from '../../store/store.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import { describeLive, describeReady } from './documents/probes.ts'

/**
 * `/livez`: the process answers. `/readyz`: it accepts requests and the store answers too; what an operator should know
 * of it comes along. Upstreams are shown as this process sees them and decide nothing: a backend that is away must not
 * take the gateway away from all the others.
 */
export function serveProbes(
  app: FastifyInstance,
  store: Store,
  upstreams: UpstreamTable,
  isStopping: () => boolean,
): void {
  app.get('/livez', { config: { description: describeLive } }, async () => ({ status: 'ok' }))
  app.get('/readyz', { config: { description: describeReady } }, async (_request, reply) => {
    if (isStopping()) return reply.code(503).send({ status: 'stopping' })
    try {
      await store.ping()
      return { status: 'ok', store: 'ok', warnings: await store.warnings(), upstreams: upstreams.status() }
    } catch (err) {
      reply.log.warn({ err }, 'not ready')
      const state = { status: 'unavailable', store: 'unavailable', warnings: [], upstreams: upstreams.status() }
      return reply.code(503).send(state)
    }
  })
}
