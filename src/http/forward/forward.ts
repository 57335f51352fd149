import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Permissions } from '../../account/permissions.ts'
import { isAdmitted } from '../../gate/decide.ts'
import { isVersioned, type Verdict } from '../../gate/rules.ts'
import { networkOf } from '../../login/address.ts'
import { Refusal } from '../../refusal.ts'
import { remembering } from '../../remembering.ts'
import type { SessionWatch } from '../../store/session-watch.ts'
import type { OwnTokens } from '../../token/own.ts'
import { ClientLeft } from '../../upstream/attempts.ts'
import { createRequestHeaders } from '../../upstream/headers/request.ts'
import type { Upstream, UpstreamTable } from '../../upstream/table.ts'
import type { HttpTarget } from '../../upstream/targets.ts'
import type { UpstreamRequest } from '../../upstream/wire/receiver.ts'
import { METHODS } from '../server/ambiguous.ts'
import type {} from '../server/authenticate.ts'
import { hasBody } from '../server/bodies.ts'
import { connectionOf } from '../server/connection/connection.ts'
import { refuseForUpstream } from '../server/guards.ts'
import { isUpgrade, routeUpgrades } from '../server/upgrade.ts'
import type { WebSockets } from '../websocket/websockets.ts'
import { READ_AHEAD_TOTAL } from './backlog.ts'
import { BodyMemory, ClientBody, READ_FIRST_TOTAL, refuseTooLarge, type SharedByBodies } from './body.ts'
import { answerEcho } from './echo.ts'
import { Exchange } from './exchange.ts'
import { SlowBodies } from './slow-bodies.ts'

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
  ownTokens: OwnTokens
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
export function createForwarder(options: ForwardingOptions) {
  const { table, log, permissions, webSockets, watch } = options
  const outgoingOf = createOutgoing(options)
  const answers = new BodyMemory(READ_AHEAD_TOTAL)
  const shared: SharedByBodies = { memory: new BodyMemory(READ_FIRST_TOTAL), slow: new SlowBodies() }

  return function forward(request: FastifyRequest, reply: FastifyReply): void {
    const { target: asked, verdict, session } = request
    if (verdict === null || !isAdmitted(verdict, session)) {
      throw new Error('a request reached the forwarding without passing the gate')
    }
    const upstream = isVersioned(asked.path) ? table.find(asked.path) : null
    if (upstream === null) throw new Refusal('NOT_FOUND')
    request.upstream = upstream.name
    const permitted = refuseForUpstream(permissions, upstream, session)
    if (permitted === undefined) start(request, reply, verdict, upstream)
    else permitted.then(() => start(request, reply, verdict, upstream)).catch(fault => void reply.send(fault))
  }

  function start(request: FastifyRequest, reply: FastifyReply, verdict: Verdict, upstream: Upstream): void {
    const { raw } = request
    if (webSockets !== null && isUpgrade(raw)) {
      const target = upstream.next()
      webSockets.take({ request, reply, upstream, target, outgoing: outgoingOf(request, verdict, upstream, target) })
      return
    }
    if (!hasBody(raw)) {
      send(request, reply, verdict, upstream, null)
      return
    }
    refuseTooLarge(raw, upstream.bodyLimit)
    connectionOf(raw.socket)?.forwardsBody()
    const body = new ClientBody(raw, upstream.bodyLimit, shared)
    if (body.readWhole()) {
      sendOrRefuse(request, reply, verdict, upstream, body)
      return
    }
    const client = clientOf(request.ip ?? '')
    body.readFirst({
      isAdmitted: () => upstream.admitsSlow(client),
      onReady: () => sendOrRefuse(request, reply, verdict, upstream, body),
      onFailed: error => {
        if (!(error instanceof ClientLeft)) reply.send(error)
      },
    })
  }

  type Forwarded = [FastifyRequest, FastifyReply, Verdict, Upstream, ClientBody | null]

  /** The target is chosen when there is something to send: until then others may have become better. */
  function send(...[request, reply, verdict, upstream, body]: Forwarded): void {
    const target = upstream.next()
    const outgoing = outgoingOf(request, verdict, upstream, target)
    outgoing.body = body
    if (target === null) answerEcho(reply, outgoing)
    else new Exchange({ request, reply, upstream, target, outgoing, log, watch, memory: answers }).start()
  }

  function sendOrRefuse(...forwarded: Forwarded): void {
    try {
      send(...forwarded)
    } catch (error) {
      const [, reply, , , body] = forwarded
      body?.discard()
      reply.send(error)
    }
  }
}

/** Addresses repeat from request to request; a connection that has ended meanwhile has none. */
const clientOf = remembering(networkOf)

/** What the upstream is sent, without the body. */
function createOutgoing({ tokenHeader, ownTokens }: Pick<ForwardingOptions, 'tokenHeader' | 'ownTokens'>) {
  const requestHeaders = createRequestHeaders(tokenHeader, ownTokens)

  return (
    request: FastifyRequest,
    verdict: Verdict,
    upstream: Upstream,
    target: HttpTarget | null,
  ): UpstreamRequest => {
    const { target: asked, session, raw, host, method } = request
    const { passAuthorization, via } = upstream
    const incoming = {
      rawHeaders: raw.rawHeaders,
      connection: raw.headers.connection,
      verdict,
      session,
      id: request.id,
      ip: request.ip,
      protocol: request.protocol,
      host,
      httpVersion: raw.httpVersion,
    }
    const own = upstream.host === 'preserve' && host !== '' ? host : (target?.authority ?? 'echo')
    const path = upstream.forwardedPath(asked.path)
    const headers = requestHeaders(incoming, { host: own, passAuthorization, via })
    if (upstream.identity !== null) headers.push(...upstream.identity.headersFor({ method, path, session }))
    const query = passAuthorization === 'off' ? ownTokens.removedFrom(asked.query) : asked.query
    return { method, path: path + query, headers, body: null, client: clientOf(incoming.ip ?? '') }
  }
}
