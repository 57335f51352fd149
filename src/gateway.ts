import cluster from 'node:cluster'
import { rmSync } from 'node:fs'
import { openAccounts } from './account/open.ts'
import { createPermissions } from './account/permissions.ts'
import { createAdministration } from './administration/administration.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Certificate, readCertificate } from './config/certificate.ts'
import type { Settings } from './config/schema.ts'
import { servesAdministration } from './config/served.ts'
import { policyOf } from './config/session-schema.ts'
import { publishTo } from './event/event.ts'
import { createWebhooks } from './event/webhooks.ts'
import { createDrain } from './http/drain.ts'
import { serveEdge } from './http/edge.ts'
import { createEnvelopes } from './http/envelope.ts'
import { createGuards } from './http/guards.ts'
import { serveInternal } from './http/internal.ts'
import { registerJwt } from './http/jwt.ts'
import { listen } from './http/listener.ts'
import { createServer, renewCertificate } from './http/server.ts'
import { createWebSockets } from './http/websocket/websockets.ts'
import { createBatchedLog, createLog, type Logger } from './log.ts'
import { openLogin } from './login/open.ts'
import { type Snapshot, textOf } from './metrics/exposition.ts'
import { createMetrics } from './metrics/metrics.ts'
import { PROFILES } from './profile.ts'
import { bindBusiness, releaseBusiness } from './side/bound.ts'
import { createMomentFormat } from './side/moment.ts'
import { type Operations, offerOperations } from './side/operations.ts'
import type { LoginType } from './side/record.ts'
import { createSide } from './side/side.ts'
import { measureSessions } from './store/measured.ts'
import { openStore } from './store/open.ts'
import { SessionWatch } from './store/session-watch.ts'
import { createJwt } from './token/jwt.ts'
import { createUpstreamTable } from './upstream/table.ts'

export interface Gateway {
  /** The operations of each side, for whoever embeds the gateway. */
  readonly sides: { readonly business: Operations; readonly consumer: Operations }
  /** Opens both listeners; answers where they are reached. */
  listen(): Promise<{ public: string; internal: string }>
  /** Proves itself with another certificate to callers to come, where it speaks HTTPS. */
  renewCertificate(certificate: Certificate): void
  /** What this gateway counts. */
  metrics(): Promise<Snapshot>
  /** Stops accepting, lets requests under way finish, then gives up the store. */
  close(closing?: Closing): Promise<void>
}

export interface Closing {
  /** For how long, in milliseconds, an idle connection may still bring a request that was on its way; 0 when not given. */
  grace?: number
  /** Whether others accept at the same addresses meanwhile: then the internal listener stops accepting at once too. */
  handover?: boolean
}

export interface GatewayOptions {
  clock?: Clock
  /** Where every line goes; standard output when it is not given. */
  log?: Logger
  /** The certificate of the public listener; read from the files of `listen.tls` when it is not given. */
  certificate?: Certificate | null
  /** What `/metrics` answers, where there are several processes; what this one counts when it is not given. */
  gatherMetrics?: () => Promise<string>
}

/** How long events that wait are still sent while the gateway closes, in milliseconds. */
const WEBHOOK_LIMIT = 2000

/** The composition root: settings in, a gateway out. */
export async function createGateway(settings: Settings, options: GatewayOptions = {}): Promise<Gateway> {
  const clock = options.clock ?? systemClock
  const log = options.log ?? createLog(settings.log.level)
  const profile = PROFILES[settings.profile]
  const envelopes = createEnvelopes(settings.locale, settings.errors.http_status)
  const { tls, timeouts, max_connections: maxConnections } = settings.listen
  const certificate = options.certificate ?? (tls === undefined ? null : readCertificate(tls))
  const hasWebSockets = settings.upstreams.some(({ websocket }) => websocket !== 'off')
  const isWatched = hasWebSockets || settings.upstreams.some(({ end_with_session }) => end_with_session)
  const trustedProxies = settings.trusted_proxies
  const edge = createServer({
    log,
    envelopes,
    trustedProxies,
    timeouts,
    maxConnections,
    certificate,
    hasWebSockets,
  })
  // Services behind the gateway are no page: they read real statuses.
  const operations = createEnvelopes(settings.locale, 'native')
  const internal = createServer({ log, envelopes: operations, trustedProxies: [], bodyLimit: 32_768 })
  const drainEdge = createDrain(edge.server)
  const drainInternal = createDrain(internal.server)
  let isStopping = false

  const signer = await registerJwt(edge, settings.jwt)
  const jwt = createJwt(signer, settings.jwt.algorithm, clock)
  const moments = createMomentFormat(settings.timezone)
  const store = await openStore(settings.store, settings.data, clock, log, settings.session_cache, isWatched)
  const metrics = createMetrics({
    tally: type => store.population.tally(type),
    caches: store.caches ?? {},
    upstreams: () => upstreams.status(),
    webSockets: () => webSockets?.open ?? 0,
  })
  const webhooks = createWebhooks(settings.events.webhooks, clock, log)
  const publish = publishTo(event => log.info(event, 'event'), metrics.happened, webhooks.publish)
  const sessionStore = measureSessions(store.sessions, metrics.stored)
  const sideOf = (type: LoginType) =>
    createSide({
      type,
      jwt,
      store: sessionStore,
      clock,
      moments,
      expireSeconds: settings.jwt.expire_seconds,
      tokenName: settings.jwt.token_name,
      enforceDisable: settings.disable.enforce === 'request',
      policy: policyOf(settings.sessions, type === 'BUSINESS' ? 'business' : 'consumer'),
      publish,
    })
  const sides = { BUSINESS: sideOf('BUSINESS'), CONSUMER: sideOf('CONSUMER') }

  const login = openLogin({
    settings,
    store,
    sides,
    clock,
    log,
    publish,
    openAccounts: (accounts, log) => openAccounts(accounts, clock, log),
  })
  const upstreams = createUpstreamTable(settings.upstreams, { clock, log })
  const permissions = createPermissions(settings.permissions)
  const guards = createGuards(permissions)
  const { sessions, population } = store
  const { locale } = settings
  const administration = createAdministration({ sides, sessions, population, jwt, clock, moments, locale })
  const accessLog = settings.log.access ? (options.log ?? createBatchedLog(settings.log.level)) : null
  const enforceDisable = settings.disable.enforce === 'request'
  const watch = new SessionWatch({ sessions, changes: store.changes, clock, log, enforceDisable })
  const tokenHeader = settings.jwt.token_name.toLowerCase()
  const webSockets = hasWebSockets ? createWebSockets({ watch, tokenHeader, clock, log, accessLog, metrics }) : null
  await serveEdge(edge, {
    settings,
    profile,
    envelopes,
    sides,
    logins: login,
    upstreams,
    administration: servesAdministration(settings, profile) ? { administration, guards } : null,
    permissions,
    metrics,
    accessLog,
    webSockets,
    watch,
  })
  await serveInternal(internal, {
    secret: settings.internal.secret,
    sides,
    profile,
    envelopes: operations,
    locale,
    store,
    upstreams,
    verify: { rules: profile.paths, tokenHeader, permissions },
    gatherMetrics: options.gatherMetrics ?? (async () => textOf([await metrics.snapshot()])),
    isStopping: () => isStopping,
  })

  const offered = {
    business: offerOperations(sides.BUSINESS, profile),
    consumer: offerOperations(sides.CONSUMER, profile),
  }
  bindBusiness(offered.business)

  return {
    sides: offered,
    async listen() {
      const { listen: outside, internal: inside } = settings
      upstreams.start()
      // The internal one last, so that whoever finds the gateway ready finds the public one open.
      return {
        public: await listen(edge, outside),
        internal: await listen(internal, inside.socket === undefined ? inside : { path: freed(inside.socket) }),
      }
    },
    renewCertificate: renewed => renewCertificate(edge, renewed),
    metrics: () => metrics.snapshot(),
    async close({ grace = 0, handover = false } = {}) {
      isStopping = !handover
      releaseBusiness(offered.business)
      const handedOver = handover ? drainInternal(grace) : null
      const goodbye = setTimeout(() => webSockets?.close(), grace)
      await drainEdge(grace)
      clearTimeout(goodbye)
      await edge.close()
      // Until here the requests under way could have its operations.
      await (handedOver ?? drainInternal(0))
      await internal.close()
      upstreams.close()
      watch.close()
      await login.close()
      await webhooks.close(WEBHOOK_LIMIT)
      await store.close()
    },
  }
}

/** The path of a Unix socket at which nothing is left of an earlier process. A worker shares it; its primary cleared it. */
function freed(path: string): string {
  if (cluster.isPrimary) rmSync(path, { force: true })
  return path
}
