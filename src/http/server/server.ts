import type { IncomingMessage, Server } from 'node:http'
import { Server as SecureServer, type TlsOptions } from 'node:tls'
import { type FastifyHttpOptions, type FastifyInstance, type FastifyRequest, fastify, LogController } from 'fastify'
import type { Logger } from '../../base/log/log.ts'
import { Refusal } from '../../base/refusal.ts'
import type { Certificate } from '../../settings/tls.ts'
import { ClientMessage } from '../../workarounds/node-empty-requests.ts'
import { UpgradableMessage } from '../../workarounds/node-ignored-upgrades.ts'
import { namedMethod } from '../../workarounds/node-unnamed-methods.ts'
import { originFormOf } from './absolute-form.ts'
import { hasBody, ignoreUnreadableType, readBodies } from './bodies.ts'
import { serveInTurn } from './connection/connection.ts'
import { type ClosingReason, limitConnections } from './connection/connection-limits.ts'
import { SlowClients, type SlowLimits } from './connection/slow-clients.ts'
import { createObservation, type Observer, observe } from './count-and-log.ts'
import { createErrorHandler, type Envelopes, type ErrorHandlerOptions } from './envelope.ts'
import { acceptExpectations } from './expectation.ts'
import { keepAddress, removePorts } from './forwarded-addresses.ts'
import { nameHttp } from './forwarded-protocol.ts'
import { decorateRequests } from './request.ts'
import { logLazily } from './request-log.ts'
import { routableFormOf } from './routable-target.ts'
import { traceIdOf } from './trace.ts'
import { createUnparsable } from './unparsable-request.ts'
import { schemaController } from './validation.ts'

interface Timeouts {
  headers: number
  body: number
  keep_alive: number
}

/** Time limits of a listener that has no settings of its own, in milliseconds. */
const TIMEOUTS: Timeouts = { headers: 10_000, body: 30_000, keep_alive: 65_000 }
/** Bytes per second of a client there. */
const MIN_RATE = 1024
const MAX_HEADER_BYTES = 16_384
/** Our own JSON routes; forwarded bodies are streams and not limited by it. */
const BODY_LIMIT = 8_192

export interface ServerOptions {
  log: Logger
  envelopes: Envelopes
  /** Where requests are counted and logged; `null` for nowhere. */
  observer: Observer | null
  trustedProxies: readonly string[]
  bodyLimit?: number
  timeouts?: Timeouts
  /** Bytes per second that a client sends of a body and accepts of an answer at least, on average. */
  minRate?: number
  /** Whether others wait for what slow clients hold: a connection to an upstream, or the end of the gateway. */
  isPressed?: () => boolean
  /** Open connections beyond which new ones are closed, and those of one client address; none when it is not given. */
  maxConnections?: { total: number; perAddress: number }
  /** Counts the connections that are ended because of what their client does. */
  onClosed?: (reason: ClosingReason) => void
  /** With one the listener speaks HTTPS. */
  certificate?: Certificate | null
  /** Whether requests for WebSockets are upgrades. */
  hasWebSockets?: boolean
  answerSignedOut?: ErrorHandlerOptions['answerSignedOut']
}

/** The common parts of both listeners: envelopes, trace ids, limits, and no type coercion. */
export function createServer({
  log,
  envelopes,
  observer,
  trustedProxies,
  bodyLimit = BODY_LIMIT,
  timeouts = TIMEOUTS,
  minRate = MIN_RATE,
  isPressed = () => false,
  maxConnections,
  onClosed = () => undefined,
  certificate = null,
  hasWebSockets = false,
  answerSignedOut,
}: ServerOptions): FastifyInstance {
  const onError = createErrorHandler(envelopes, { answerSignedOut })
  const observation = observer === null ? null : createObservation(observer)
  const unparsable = createUnparsable(envelopes, observation)
  const app = fastify({
    ...FIXED,
    ...transportOf(timeouts, certificate, hasWebSockets),
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'trace_id' }),
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    bodyLimit,
    keepAliveTimeout: timeouts.keep_alive,
    frameworkErrors: onError,
    clientErrorHandler: unparsable.answer,
  }) as unknown as FastifyInstance
  if (maxConnections !== undefined) limitConnections(app.server, { ...maxConnections, trustedProxies, log, onClosed })
  // Node drops lines beyond its own limit silently; ours refuses them.
  app.server.maxHeadersCount = 0
  unparsable.refuseConnect(app.server)
  endSlowClients(app, { limit: timeouts.body, minRate, isPressed, onSlow: onClosed })
  logLazily(app.log)
  decorateRequests(app)
  if (observation !== null) observe(app, observation)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    removePorts(request.raw)
    keepAddress(request)
    nameHttp(request.raw)
    ignoreUnreadableType(request)
    done()
  })
  app.setErrorHandler(onError)
  app.setNotFoundHandler(() => {
    throw new Refusal('NOT_FOUND')
  })
  readBodies(app)
  acceptExpectations(app)
  return app
}

/** Settings of Fastify that no listener of ours has otherwise. */
const FIXED = {
  // Before the router reads the target, so that what is judged is what is routed.
  rewriteUrl: request => routableFormOf(originFormOf(namedMethod(request as IncomingMessage))),
  genReqId: request => traceIdOf(request as IncomingMessage),
  requestTimeout: 0,
  forceCloseConnections: 'idle',
  // Requests that arrive while the gateway closes are served.
  return503OnClosing: false,
  schemaController,
} as const satisfies FastifyHttpOptions<Server, Logger>

/** Settings of Node's server below it. */
function transportOf({ headers }: Timeouts, certificate: Certificate | null, hasWebSockets: boolean) {
  const limits = {
    headersTimeout: headers,
    maxHeaderSize: MAX_HEADER_BYTES,
    connectionsCheckingInterval: 1000,
    // Node would refuse it with its own message.
    requireHostHeader: false,
    IncomingMessage: hasWebSockets ? UpgradableMessage : ClientMessage,
  }
  if (certificate === null) return { http: limits }
  return { https: { ...limits, ...secureContextOf(certificate), handshakeTimeout: headers } }
}

/** Serves requests in their order, and closes connections of slow clients. */
function endSlowClients(app: FastifyInstance, limits: SlowLimits): void {
  const slow = new SlowClients(serveInTurn(app.server), limits)
  app.server.once('listening', () => slow.start())
  app.addHook('onClose', (_app, done) => {
    slow.close()
    done()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (isFollowedByMuch(request)) reply.raw.shouldKeepAlive = false
    done()
  })
}

/** Gives a server that speaks HTTPS another certificate for connections to come. */
export function renewCertificate({ server }: FastifyInstance, certificate: Certificate): void {
  if (server instanceof SecureServer) server.setSecureContext(secureContextOf(certificate))
}

const secureContextOf = ({ cert, key, ticketKeys }: Certificate): TlsOptions => ({
  cert,
  key,
  ticketKeys: Buffer.from(ticketKeys, 'base64'),
})

/** Unread bytes of a body that are accepted so that the connection can be reused when its request is answered. */
const MAX_REST = 65_536

/** Whether a client sends more behind a request that is answered already than is worth reading. */
function isFollowedByMuch({ raw, refused }: FastifyRequest): boolean {
  if (raw.complete || !hasBody(raw)) return false
  return refused === 'REQUEST_TIMEOUT' || !(Number(raw.headers['content-length']) <= MAX_REST)
}
