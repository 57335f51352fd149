import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../refusal.ts'
import { hasBody } from './forward/body.ts'

/**
 * Ends requests of whose body nothing arrives for `limit` milliseconds (design: Upstreams). Node's own limit counts the
 * whole request and would cut long uploads; this one looks, once per limit, whether the connection brought anything since
 * it last looked.
 */
export function refuseStalledBodies(app: FastifyInstance, limit: number): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (hasBody(request.raw)) watch(request, limit)
    done()
  })
}

function watch({ raw }: FastifyRequest, limit: number): void {
  let seen = raw.socket.bytesRead
  const timer = setInterval(() => {
    if (raw.complete || raw.destroyed) return clearInterval(timer)
    // A reader that holds the body back is the upstream's slowness, which has limits of its own.
    if (raw.socket.bytesRead === seen && raw.readableLength === 0 && !raw.isPaused()) {
      clearInterval(timer)
      raw.destroy(new Refusal('REQUEST_TIMEOUT'))
    }
    seen = raw.socket.bytesRead
  }, limit).unref()
  raw.once('close', () => clearInterval(timer))
}

/**
 * Ends connections whose caller takes nothing of an answer for `limit` milliseconds: each would hold its place for good.
 * Answers of upstreams do not come by here; they have a limit of their own.
 */
export function endUntakenAnswers(app: FastifyInstance, limit: number): void {
  app.addHook('onSend', (_request, { raw }, _payload, done) => {
    raw.setTimeout(limit, () => raw.destroy())
    // Ahead of Node's own listener, which sets the time for the next request.
    raw.prependOnceListener('finish', () => raw.socket?.setTimeout(0))
    done()
  })
}
