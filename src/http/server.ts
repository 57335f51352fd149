import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as SecureServer, type TlsOptions } from 'node:tls'
import { type FastifyHttpOptions, type FastifyInstance, fastify, LogController } from 'fastify'
import type { Certificate } from '../config/certificate.ts'
import type { Logger } from '../log.ts'
import { Refusal } from '../refusal.ts'
import { createErrorHandler, type Envelopes } from './envelope.ts'
import { requestLog } from './request-log.ts'
import { traceIdOf } from './trace.ts'
import { createUnparsable } from './unparsable.ts'
import { UpgradableMessage } from './websocket/upgrade.ts'

interface Timeouts {
  headers: number
  keep_alive: number
}

/** Time limits of a listener that has no settings of its own, in milliseconds. */
const TIMEOUTS: Timeouts = { headers: 10_000, keep_alive: 65_000 }
const MAX_HEADER_BYTES = 16_384
/** Our own JSON routes; forwarded bodies are streams and not limited by it. */
const BODY_LIMIT = 8_192

export interface ServerOptions {
  log: Logger
  envelopes: Envelopes
  trustedProxies: readonly string[]
  bodyLimit?: number
  timeouts?: Timeouts
  /** Open connections beyond which new ones are closed; none when it is not given. */
  maxConnections?: number
  /** With one the listener speaks HTTPS. */
  certificate?: Certificate | null
  /** Whether requests for WebSockets are upgrades. */
  hasWebSockets?: boolean
}

/** What a Fastify of ours has, whichever listener it serves: envelopes, trace ids, limits, and no type coercion. */
export function createServer({
  log,
  envelopes,
  trustedProxies,
  bodyLimit = BODY_LIMIT,
  timeouts = TIMEOUTS,
  maxConnections,
  certificate = null,
  hasWebSockets = false,
}: ServerOptions): FastifyInstance {
  const onError = createErrorHandler(envelopes)
  const unparsable = createUnparsable(envelopes)
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
  if (maxConnections !== undefined) limitConnections(app.server, maxConnections, log)
  // Node drops lines beyond its own limit silently; ours refuses them.
  app.server.maxHeadersCount = 0
  unparsable.watch(app.server)
  app.decorateRequest('refused', null)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.setErrorHandler(onError)
  app.setNotFoundHandler(() => {
    throw new Refusal('NOT_FOUND')
  })
  continueWhenAdmitted(app)
  return app
}

/** Settings of Fastify that no listener of ours has otherwise. */
const FIXED = {
  childLoggerFactory: requestLog,
  genReqId: request => traceIdOf(request as IncomingMessage),
  requestTimeout: 0,
  forceCloseConnections: 'idle',
  // What arrives while the gateway closes was sent in good faith, and is served.
  return503OnClosing: false,
  exposeHeadRoutes: false,
  // As data: what is read from it is read as own properties only.
  onProtoPoisoning: 'ignore',
  onConstructorPoisoning: 'ignore',
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true, allErrors: false } },
} as const satisfies FastifyHttpOptions<Server, Logger>

/** Settings of Node's server below it. */
function transportOf({ headers }: Timeouts, certificate: Certificate | null, hasWebSockets: boolean) {
  const limits = {
    headersTimeout: headers,
    maxHeaderSize: MAX_HEADER_BYTES,
    connectionsCheckingInterval: 1000,
    // Node would refuse it in words of its own.
    requireHostHeader: false,
    ...(hasWebSockets && { IncomingMessage: UpgradableMessage }),
  }
  if (certificate === null) return { http: limits }
  return { https: { ...limits, ...secureContextOf(certificate), handshakeTimeout: headers } }
}

/** How often at most the log says that connections were closed, in milliseconds. */
const DROP_REPORT_INTERVAL = 10_000

function limitConnections(server: Server, maxConnections: number, log: Logger): void {
  let dropped = 0
  server.maxConnections = maxConnections
  server.on('drop', () => {
    if (dropped++ > 0) return
    log.warn({ max_connections: maxConnections }, 'a connection was closed: there are too many')
    setTimeout(() => {
      if (dropped > 1) log.warn({ dropped }, 'connections were closed: there were too many')
      dropped = 0
    }, DROP_REPORT_INTERVAL).unref()
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

/** `100 Continue` is said only to a caller whose request passed the gate; the others get their refusal at once. */
function continueWhenAdmitted(app: FastifyInstance): void {
  const waiting = new WeakSet<IncomingMessage>()
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request)
    app.server.emit('request', request, response)
  })
  // Any other expectation Node would refuse in words of its own.
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    app.server.emit('request', request, response)
  })
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (waiting.delete(request.raw)) reply.raw.writeContinue()
    done()
  })
}
