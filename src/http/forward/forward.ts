import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Permissions } from '../../account/permissions.ts'
import { isVersioned } from '../../gate/rules.ts'
import { Refusal } from '../../refusal.ts'
import type { SessionWatch } from '../../store/session-watch.ts'
import { createRequestHeaders } from '../../upstream/headers.ts'
import type { UpstreamRequest } from '../../upstream/receiver.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import { METHODS } from '../ambiguous.ts'
import type {} from '../authenticate.ts'
import { refuseUnpermitted } from '../guards.ts'
import { isUpgrade, routeUpgrades } from '../websocket/upgrade.ts'
import type { WebSockets } from '../websocket/websockets.ts'
import { CallerBody, hasBody, refuseTooLarge } from './body.ts'
import { answerEcho } from './echo.ts'
import { Exchange } from './exchange.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the upstream that the request goes to; `null` for a route of the gateway's own. */
    upstream: string | null
  }
}

export interface ForwardingOptions {
  table: UpstreamTable
  /** Lower-case name of the header that carries the token. */
  tokenHeader: string
  log: FastifyBaseLogger
  permissions: Permissions
  /** `null` where no upstream has any. */
  webSockets: WebSockets | null
  /** Where responses hear of the end of their session. */
  watch: Pick<SessionWatch, 'watch'>
}

/** Hands every request below `/api` that no own route took to its upstream. */
export async function registerForwarding(app: FastifyInstance, options: ForwardingOptions): Promise<void> {
  const forward = createForwarder(options)
  if (options.webSockets !== null) await routeUpgrades(app)
  await app.register(async scope => {
    // Bodies stay streams, whatever they are.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    scope.route({ method: [...METHODS], url: '/api/*', handler: forward })
  })
}

/** The forwarding itself, whoever routes to it. Refusals before the upstream's head are thrown or sent; later there are none. */
export function createForwarder({ table, tokenHeader, log, permissions, webSockets, watch }: ForwardingOptions) {
  const requestHeaders = createRequestHeaders(tokenHeader)

  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { target: asked, verdict, session, raw } = request
    if (verdict === null || (verdict.need !== 'none' && session?.record.type !== verdict.need)) {
      throw new Error('a request reached the forwarding without passing the gate')
    }
    const upstream = isVersioned(asked.path) ? table.find(asked.path) : null
    if (upstream === null) throw new Refusal('NOT_FOUND')
    request.upstream = upstream.name
    if (upstream.permission !== null) {
      // Nobody is permitted anything without a session, whatever the path's rule asks for.
      if (session === null) throw new Refusal('NOT_LOGGED_IN')
      refuseUnpermitted(permissions, session.record, upstream.permission.codes, upstream.permission.mode)
    }

    const target = upstream.next()
    const host = request.host
    const own = upstream.host === 'preserve' && host !== '' ? host : (target?.authority ?? 'echo')
    const incoming = {
      rawHeaders: raw.rawHeaders,
      connection: raw.headers.connection,
      verdict,
      session,
      id: request.id,
      ip: request.ip,
      protocol: request.protocol,
      host,
    }
    const forwardedPath = upstream.forwardedPath(asked.path)
    const outgoing: UpstreamRequest = {
      method: request.method,
      path: forwardedPath + asked.query,
      headers: requestHeaders(incoming, { host: own, passAuthorization: upstream.passAuthorization }),
      body: null,
    }
    if (upstream.identity !== null) {
      const { method } = request
      outgoing.headers.push(...upstream.identity.headersFor({ method, path: forwardedPath, session }))
    }
    if (webSockets !== null && isUpgrade(raw)) {
      webSockets.take({ request, reply, upstream, target, outgoing })
      return
    }
    if (target === null) {
      answerEcho(request, reply, outgoing)
      return
    }
    if (hasBody(raw)) {
      refuseTooLarge(raw, upstream.bodyLimit)
      outgoing.body = new CallerBody(raw, upstream.bodyLimit)
    }
    new Exchange({ request, reply, upstream, target, outgoing, log, watch }).start()
  }
}
