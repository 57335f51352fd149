import { openAccounts } from './account/open.ts'
import { createPermissions } from './account/permissions.ts'
import { createAccountRights } from './account/rights.ts'
import { createAdministration } from './administration/administration.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Settings } from './config/schema/settings.ts'
import { forwardedRulesOf, servesAdministration } from './config/served.ts'
import { policyOf } from './config/session-policy.ts'
import type { Certificate } from './config/tls.ts'
import { readCertificate } from './config/tls.ts'
import { type Publish, publishTo } from './event/event.ts'
import { createWebhooks } from './event/webhooks.ts'
import { serveEdge } from './http/edge.ts'
import { serveInternal } from './http/internal.ts'
import { registerJwt } from './http/jwt.ts'
import { createEnvelopes } from './http/server/envelope.ts'
import { createGuards } from './http/server/guards.ts'
import { type Closing, Listeners } from './http/server/listeners.ts'
import { createServer } from './http/server/server.ts'
import { createWebSockets } from './http/websocket/websockets.ts'
import { createBatchedLog, createLog, type Logger } from './log.ts'
import { openLogin } from './login/open.ts'
import { type Snapshot, textOf } from './metrics/exposition.ts'
import { createMetrics } from './metrics/metrics.ts'
import { PROFILES } from './profile.ts'
import { bySide, bySideName, type LoginType, type SideName } from './session.ts'
import { bindBusiness, releaseBusiness } from './side/bound.ts'
import { type Operations, offerOperations } from './side/operations.ts'
import { createSide, type Side, type SideOptions } from './side/side.ts'
import type { Sharing } from './store/acknowledged.ts'
import { measureSessions } from './store/measured.ts'
import { openStore } from './store/open.ts'
import { SessionWatch } from './store/session-watch.ts'
import { createTimestampFormat } from './timestamp.ts'
import { createJwt } from './token/jwt.ts'
import { createOwnTokens } from './token/own.ts'
import { createUpstreamTable } from './upstream/table.ts'

export interface Gateway {
  /** The operations of each side, for whoever embeds the gateway. */
  readonly sides: Readonly<Record<SideName, Operations>>
  /** Opens both listeners; answers where they are reached. */
  listen(): Promise<{ public: string; internal: string }>
  /** Proves itself with another certificate to clients to come, where it speaks HTTPS. */
  renewCertificate(certificate: Certificate): void
  /** What this gateway counts. */
  metrics(): Promise<Snapshot>
  /** Stops accepting, lets requests under way finish, then gives up the store. */
  close(closing?: Closing): Promise<void>
}

export type { Closing }

export interface GatewayOptions {
  clock?: Clock
  /** Where every line goes; standard output when it is not given. */
  log?: Logger
  /** The certificate of the public listener; read from the files of `listen.tls` when it is not given. */
  certificate?: Certificate | null
  /** What `/metrics` answers, where there are several processes; what this one counts when it is not given. */
  gatherMetrics?: () => Promise<string>
  /** Reaches the other processes of this gateway, where there are several. */
  sharing?: Sharing
}

/** How long events that wait are still sent while the gateway closes, in milliseconds. */
const WEBHOOK_LIMIT = 2000

/** What the internal listener takes of a body, in bytes: an `extra` may be long. */
const INTERNAL_BODY_LIMIT = 32_768

/** The composition root: settings in, a gateway out. */
export async function createGateway(settings: Settings, options: GatewayOptions = {}): Promise<Gateway> {
  const clock = options.clock ?? systemClock
  const log = options.log ?? createLog(settings.log.level)
  const profile = PROFILES[settings.profile]
  const { locale } = settings
  const hasWebSockets = settings.upstreams.some(({ websocket }) => websocket !== 'off')
  const isWatched = hasWebSockets || settings.upstreams.some(({ end_with_session }) => end_with_session)
  const envelopes = createEnvelopes(locale, settings.errors.http_status)
  // Services behind the gateway are no page: they read real statuses.
  const native = createEnvelopes(locale, 'native')
  const edge = createServer({
    log,
    envelopes,
    trustedProxies: settings.trusted_proxies,
    timeouts: settings.listen.timeouts,
    minRate: settings.listen.min_rate === 'off' ? 0 : settings.listen.min_rate,
    isPressed: () => isClosing || upstreams.isCrowded(),
    maxConnections: connectionLimits(settings),
    onClosed: reason => metrics.closed(reason),
    certificate: options.certificate ?? certificateOf(settings),
    hasWebSockets,
  })
  const internal = createServer({ log, envelopes: native, trustedProxies: [], bodyLimit: INTERNAL_BODY_LIMIT })
  const listeners = new Listeners(settings, edge, internal)
  let isClosing = false
  let isStopping = false

  const signer = await registerJwt(edge, settings.jwt)
  const jwt = createJwt(signer, settings.jwt.algorithm, clock)
  const timestamps = createTimestampFormat(settings.timezone)
  const store = await openStore(settings.store, settings.data, clock, log, settings.session_cache, isWatched, {
    timestamps,
    sharing: options.sharing,
    captchaKey: settings.login.captcha.key,
  })
  const metrics = createMetrics({
    tally: type => store.online.tally(type),
    counts: () => store.counts(),
    upstreams: () => upstreams.status(),
    webSockets: () => webSockets?.open ?? 0,
  })
  const webhooks = await createWebhooks(settings.events.webhooks, clock, log)
  const publish = publishTo(logTo(log), metrics.happened, webhooks.publish)
  const { sessions, online } = store
  const sides = createSides(settings, {
    jwt,
    store: measureSessions(sessions, metrics.stored),
    clock,
    timestamps,
    publish,
    isReplicated: store.isReplicated,
  })
  const login = await openLogin({
    settings: settings.login,
    store,
    sides,
    clock,
    log,
    publish,
    openAccounts: options => {
      const accounts = { BUSINESS: settings.accounts, CONSUMER: settings.login.consumer }[options.type]
      return accounts === 'off' ? null : openAccounts(accounts, options)
    },
  })
  const upstreams = createUpstreamTable(settings.upstreams, { clock, log, ownsCors: settings.cors !== 'off' })
  const { roles, source: rightsFrom, remember } = settings.permissions
  const holderOf =
    rightsFrom === 'accounts' ? createAccountRights({ sources: login.sources, clock, remember }) : undefined
  const permissions = createPermissions(roles, holderOf)
  const guards = createGuards(permissions)
  const administration = createAdministration({ sides, sessions, online, jwt, clock, timestamps, locale })
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
    logins: login.logins,
    upstreams,
    ownTokens: createOwnTokens(jwt),
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
    envelopes: native,
    locale,
    store,
    upstreams,
    verify: { rules: forwardedRulesOf(settings, profile), tokenHeader, permissions },
    gatherMetrics: options.gatherMetrics ?? (async () => textOf([await metrics.snapshot()])),
    isStopping: () => isStopping,
  })

  const offered = bySideName(type => offerOperations(sides[type], profile))
  bindBusiness(offered.business)

  return {
    sides: offered,
    async listen() {
      upstreams.start()
      return listeners.open()
    },
    renewCertificate: certificate => listeners.renewCertificate(certificate),
    metrics: () => metrics.snapshot(),
    async close(closing = {}) {
      isClosing = true
      isStopping = !closing.handover
      releaseBusiness(offered.business)
      const goodbye = setTimeout(() => webSockets?.close(), closing.grace ?? 0)
      await listeners.close(closing)
      clearTimeout(goodbye)
      upstreams.close()
      watch.close()
      await login.close()
      await webhooks.close(WEBHOOK_LIMIT)
      await store.close()
    },
  }
}

const certificateOf = ({ listen: { tls } }: Settings): Certificate | null =>
  tls === undefined ? null : readCertificate(tls)

/** What replicas may have missed is a warning. */
const logTo =
  (log: Logger): Publish =>
  event =>
    log[event.replicated === false ? 'warn' : 'info'](event, 'event')

/** A client address may hold a quarter of a worker's connections unless the settings say otherwise, and 20 in any case. */
const connectionLimits = ({ listen: { max_connections, max_connections_per_address } }: Settings) => ({
  total: max_connections,
  perAddress: max_connections_per_address ?? Math.max(20, Math.ceil(max_connections / 4)),
})

/** Both sides as the settings want them, over the same parts; what one does never touches the other. */
function createSides(
  { jwt, disable, sessions }: Settings,
  parts: Pick<SideOptions, 'jwt' | 'store' | 'clock' | 'timestamps' | 'publish' | 'isReplicated'>,
): Readonly<Record<LoginType, Side>> {
  const shared = {
    ...parts,
    expireSeconds: jwt.expire_seconds,
    tokenName: jwt.token_name,
    enforceDisable: disable.enforce === 'request',
  }
  return bySide(type => createSide({ ...shared, type, policy: policyOf(sessions, type) }))
}
