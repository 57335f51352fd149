import httpProxy from '@fastify/http-proxy'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import { isAdmitted } from '../../gate/live-session.ts'
import type { SessionWatch } from '../../store/session-watch.ts'
import type { OwnTokens } from '../../token/issued-here.ts'
import { ClientLeft } from '../../upstream/target-attempts.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { METHODS } from '../server/ambiguous-request.ts'
import { hasBody } from '../server/bodies.ts'
import { clientNetworkOf } from '../server/client-network.ts'
import { connectionOf } from '../server/connection/connection.ts'
import { continueIfExpected } from '../server/expectation.ts'
import { isUpgrade, routeUpgrades } from '../server/upgrade.ts'
import type { WebSockets } from '../websocket/websockets.ts'
import { READ_AHEAD_TOTAL } from './backlog.ts'
import { BodyMemory, ClientBody, READ_FIRST_TOTAL, refuseTooLarge, type SharedByBodies } from './body.ts'
import { answerEcho } from './echo-upstream.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'
import { type SignInsOptions, SigningExchange } from './sign-in.ts'
import { SlowBodies } from './slow-bodies.ts'
import { createOutgoing, type Forwarded } from './upstream-request.ts'

export interface ForwardingOptions {
  /** Lower-case name of the header that carries the token. */
  tokenHeader: string
  ownTokens: OwnTokens
  log: FastifyBaseLogger
  /** Whether paths outside of `/api` are forwarded. */
  hasPages: boolean
  /** Whether CORS answers OPTIONS: its plugin has a route of that method for every path. */
  ownsCors: boolean
  /** `null` where no upstream has any. */
  webSockets: WebSockets | null
  /** `null` where no side has session cookies. */
  signIns: SignInsOptions | null
  /** Notifies responses of the end of their session. */
  watch: Pick<SessionWatch, 'watch'>
}

/** Every `match` begins with it, unless there are pages. */
const API = '/api'

/**
 * What the plugin resolves paths against to check them; the upstream and its target are chosen by the gate and the handler. The
 * plugin parses it for every request: a short name costs a microsecond less than an address with a port.
 */
const BASE = 'http://a'

/** Forwards every request below `/api/v<n>`, and for a page, that no route of the gateway's own answers. */
export async function registerForwarding(app: FastifyInstance, options: ForwardingOptions): Promise<void> {
  if (options.webSockets !== null) routeUpgrades(app)
  const prefix = options.hasPages ? '/' : API
  await app.register(async scope => {
    // Bodies stay streams, whatever their type: the handler reads them.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    await scope.register(httpProxy, {
      prefix,
      rewritePrefix: prefix,
      upstream: BASE,
      httpMethods: [...METHODS].filter(method => method !== 'OPTIONS' || !options.ownsCors),
      routes: ['/*'],
      config: { isForwarded: true },
      preRewrite: withoutQuery,
      proxyPayloads: false,
      // The handler sends the requests: the plugin's own client would only make each start longer.
      http: {},
      handler: createForwarder(options),
    })
  })
}

/** The plugin must not parse and rewrite the query: it is forwarded byte for byte. */
function withoutQuery(url: string): string {
  const mark = url.indexOf('?')
  return mark === -1 ? url : url.slice(0, mark)
}

/** A request on its way to an upstream. Refuses one whose path no upstream matches. */
function forwardedBy(request: FastifyRequest, reply: FastifyReply): Forwarded {
  const { target, verdict, session, destination: upstream } = request
  if (verdict === null || !isAdmitted(verdict, session)) {
    throw new Error('a request reached the forwarding without passing the gate')
  }
  if (upstream === null) throw new Refusal('NOT_FOUND')
  return { request, reply, verdict, upstream, path: upstream.pathFor(target.path), key: keyOf(upstream, request) }
}

/** By which the upstream chooses a target, where it does. */
function keyOf({ keyOf }: Upstream, request: FastifyRequest): string | null {
  if (keyOf === null) return null
  return keyOf({ session: request.session, headers: request.raw.headers, client: clientNetworkOf(request) })
}

/** What proves the identity of the client to an upstream that gets assertions; `null` for others, and without a session. */
function assertionFor({ request: { session }, upstream: { assertions } }: Forwarded): string | Promise<string> | null {
  return assertions === null || session === null ? null : assertions.of(session)
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

/** Creates the handler of what is forwarded. Refusals are thrown or sent only before the upstream's head. */
function createForwarder(options: ForwardingOptions) {
  const { webSockets } = options
  const send = createSender(options)
  const shared: SharedByBodies = { memory: new BodyMemory(READ_FIRST_TOTAL), slow: new SlowBodies() }

  return (request: FastifyRequest, reply: FastifyReply): void => {
    const forwarded = forwardedBy(request, reply)
    const { raw } = request
    const { upstream } = forwarded
    if ((webSockets !== null && isUpgrade(raw)) || !hasBody(raw)) {
      send(forwarded, null)
      return
    }
    const body = openBody(forwarded, shared)
    if (body.readWhole()) {
      send(forwarded, body)
      return
    }
    const client = clientNetworkOf(request)
    body.readFirst({
      isAdmitted: () => upstream.admitsSlow(client),
      onReady: () => send(forwarded, body),
      onFailed: error => {
        if (!(error instanceof ClientLeft)) reply.send(error)
      },
    })
  }
}

/** Whether an answer is for one client, and no shared cache knows it: they know `Authorization` alone (RFC 9111 3.5). */
const isForOne = ({ session, hasCookieSession }: FastifyRequest, tokenHeader: string): boolean =>
  session !== null && (hasCookieSession || tokenHeader !== 'authorization')

/** Creates what sends a request to its upstream, and the answer to the client. `body` has been begun to be read. */
function createSender(options: ForwardingOptions): (forwarded: Forwarded, body: ClientBody | null) => void {
  const { log, webSockets, watch, signIns, tokenHeader } = options
  const outgoingOf = createOutgoing(options)
  const memory = new BodyMemory(READ_AHEAD_TOTAL)

  const exchangeOf = (exchange: ExchangeOptions): Exchange =>
    exchange.upstream.signsIn === null || signIns === null
      ? new Exchange(exchange)
      : new SigningExchange(exchange, signIns)

  /** The target is chosen when data is ready to send, because until then another one may have become better. */
  function transmit(forwarded: Forwarded, body: ClientBody | null, assertion: string | null): void {
    const { request, reply, upstream, key } = forwarded
    const target = upstream.next(key)
    const outgoing = outgoingOf(forwarded, target, assertion)
    outgoing.body = body
    if (webSockets !== null && isUpgrade(request.raw))
      webSockets.accept({ request, reply, upstream, target, outgoing, key })
    else if (target === null) answerEcho(reply, outgoing)
    else {
      const isPersonal = isForOne(request, tokenHeader)
      exchangeOf({ request, reply, upstream, target, outgoing, key, log, watch, memory, isPersonal }).start()
    }
  }

  function refuse({ reply }: Forwarded, body: ClientBody | null, error: unknown): void {
    body?.discard()
    reply.send(error)
  }

  /** Sends at once, unless an assertion has to be signed before. */
  return (forwarded, body) => {
    try {
      const assertion = assertionFor(forwarded)
      if (assertion instanceof Promise)
        assertion.then(signed => transmit(forwarded, body, signed)).catch(error => refuse(forwarded, body, error))
      else transmit(forwarded, body, assertion)
    } catch (error) {
      refuse(forwarded, body, error)
    }
  }
}
