import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Permissions } from '../../account/permissions.ts'
import { Refusal } from '../../base/refusal.ts'
import { isAdmitted, limitRate, permit } from '../../gate/decide.ts'
import { checkRewritten } from '../../gate/path.ts'
import { isVersioned } from '../../gate/rules.ts'
import type { SessionWatch } from '../../store/session-watch.ts'
import type { OwnTokens } from '../../token/issued-here.ts'
import { ClientLeft } from '../../upstream/attempts.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { METHODS } from '../server/ambiguous.ts'
import { hasBody } from '../server/bodies.ts'
import { connectionOf } from '../server/connection/connection.ts'
import { continueIfExpected } from '../server/expectation.ts'
import { isUpgrade, routeUpgrades } from '../server/upgrade.ts'
import type { WebSockets } from '../websocket/websockets.ts'
import { READ_AHEAD_TOTAL } from './backlog.ts'
import { BodyMemory, ClientBody, READ_FIRST_TOTAL, refuseTooLarge, type SharedByBodies } from './body.ts'
import { answerEcho } from './echo.ts'
import { Exchange } from './exchange.ts'
import { clientOf, createOutgoing, type Forwarded } from './outgoing.ts'
import { routeToUpstreams, type UpstreamHandler } from './routes.ts'
import { SlowBodies } from './slow-bodies.ts'

export interface ForwardingOptions {
  table: UpstreamTable
  /** Lower-case name of the header that carries the token. */
  tokenHeader: string
  ownTokens: OwnTokens
  log: FastifyBaseLogger
  permissions: Permissions
  /** `null` where no upstream has any. */
  webSockets: WebSockets | null
  /** Notifies responses of the end of their session. */
  watch: Pick<SessionWatch, 'watch'>
}

/** Forwards every request below `/api/v<n>` that no route of the gateway's own answers. */
export async function registerForwarding(app: FastifyInstance, options: ForwardingOptions): Promise<void> {
  const { upstreams } = options.table
  const handlerOf = createForwarder(options)
  if (options.webSockets !== null) routeUpgrades(app)
  await app.register(async scope => {
    // Bodies stay streams, whatever their type.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    await routeToUpstreams(scope, upstreams, handlerOf)
    if (!upstreams.some(({ match }) => match === FORWARDED)) {
      scope.route({ method: [...METHODS], url: `${FORWARDED}/*`, handler: refuseUnknown })
    }
  })
}

/** Every `match` begins with it. */
const FORWARDED = '/api'

/** Answers for paths without an upstream, before the body is read. */
function refuseUnknown(): never {
  throw new Refusal('NOT_FOUND')
}

/** A request on its way to an upstream. `dest` is the path after the rewrite, which the gate has not seen. */
function forwardedBy(upstream: Upstream, request: FastifyRequest, reply: FastifyReply, dest: string): Forwarded {
  const { target, verdict, session } = request
  if (verdict === null || !isAdmitted(verdict, session)) {
    throw new Error('a request reached the forwarding without passing the gate')
  }
  if (!isVersioned(target.path)) throw new Refusal('NOT_FOUND')
  request.upstream = upstream.name
  const path = dest === target.path ? target.path : checkRewritten(dest)
  return { request, reply, verdict, upstream, path, key: keyOf(upstream, request) }
}

/** By which the upstream chooses a target, where it does. */
function keyOf({ keyOf }: Upstream, request: FastifyRequest): string | null {
  if (keyOf === null) return null
  return keyOf({ session: request.session, headers: request.raw.headers, client: clientOf(request.ip ?? '') })
}

function limit(upstream: Upstream, { session, ip }: FastifyRequest): void {
  limitRate(upstream, { session, network: clientOf(ip ?? '') })
}

/** The body of a request. Refuses one that announces more than the upstream's limit. */
function openBody({ request, reply, upstream }: Forwarded, shared: SharedByBodies): ClientBody {
  const { raw } = request
  const { bodyLimit } = upstream
  refuseTooLarge(raw, bodyLimit)
  connectionOf(raw.socket)?.forwardsBody()
  continueIfExpected(raw, reply.raw)
  return new ClientBody(raw, bodyLimit, shared)
}

/** Creates the handlers of upstreams. Refusals are thrown or sent only before the upstream's head. */
function createForwarder(options: ForwardingOptions): (upstream: Upstream) => UpstreamHandler {
  const { log, permissions, webSockets, watch } = options
  const outgoingOf = createOutgoing(options)
  const answers = new BodyMemory(READ_AHEAD_TOTAL)
  const shared: SharedByBodies = { memory: new BodyMemory(READ_FIRST_TOTAL), slow: new SlowBodies() }

  return upstream => (request, reply, dest) => {
    const forwarded = forwardedBy(upstream, request, reply, dest)
    if (upstream.rateLimit !== null) limit(upstream, request)
    const permitted = permit(upstream.permission, request.session, permissions)
    if (permitted === undefined) start(forwarded)
    else permitted.then(() => start(forwarded)).catch(fault => void reply.send(fault))
  }

  function start(forwarded: Forwarded): void {
    const { request, reply, upstream, key } = forwarded
    const { raw } = request
    if (webSockets !== null && isUpgrade(raw)) {
      const target = upstream.next(key)
      webSockets.accept({ request, reply, upstream, target, outgoing: outgoingOf(forwarded, target), key })
      return
    }
    if (!hasBody(raw)) {
      send(forwarded, null)
      return
    }
    const body = openBody(forwarded, shared)
    if (body.readWhole()) {
      sendOrRefuse(forwarded, body)
      return
    }
    const client = clientOf(request.ip ?? '')
    body.readFirst({
      isAdmitted: () => upstream.admitsSlow(client),
      onReady: () => sendOrRefuse(forwarded, body),
      onFailed: error => {
        if (!(error instanceof ClientLeft)) reply.send(error)
      },
    })
  }

  /** The target is chosen when data is ready to send, because until then another one may have become better. */
  function send(forwarded: Forwarded, body: ClientBody | null): void {
    const { request, reply, upstream, key } = forwarded
    const target = upstream.next(key)
    const outgoing = outgoingOf(forwarded, target)
    outgoing.body = body
    if (target === null) answerEcho(reply, outgoing)
    else new Exchange({ request, reply, upstream, target, outgoing, key, log, watch, memory: answers }).start()
  }

  function sendOrRefuse(forwarded: Forwarded, body: ClientBody): void {
    try {
      send(forwarded, body)
    } catch (error) {
      body.discard()
      forwarded.reply.send(error)
    }
  }
}
