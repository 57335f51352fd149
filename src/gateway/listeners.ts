import { createAdministration } from '../administration/administration.ts'
import { createOwnSessions } from '../administration/own-sessions.ts'
import { type InternalListenerOptions, serveInternalListener } from '../http/internal-listener.ts'
import { createAnswerSignedOut } from '../http/pages/signed-out.ts'
import { servePublicListener } from '../http/public-listener.ts'
import { countClosed } from '../http/server/connection/connection-limits.ts'
import { createEnvelopes } from '../http/server/envelope.ts'
import { createGuards } from '../http/server/guards.ts'
import { type Closing, Listeners } from '../http/server/listeners.ts'
import { createServer } from '../http/server/server.ts'
import { textOf } from '../metrics/exposition.ts'
import type { Meter } from '../metrics/meter.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { forwardedRulesOf, servesAdministration, servesJournal, servesWebSockets } from '../settings/served.ts'
import {
  type Certificate,
  endOf,
  ownCertificate,
  readCertificate,
  type UsedCertificate,
  warningsOfEnd,
} from '../settings/tls.ts'
import type { Sessions } from './core.ts'
import type { Forwarding } from './forwarding.ts'
import type { Setup } from './setup.ts'

/** The largest body of the internal listener, in bytes: an `extra` may be long. */
const INTERNAL_BODY_LIMIT = 32_768

/** Prepares both listeners. They accept connections when `open` is called. */
export async function openListeners(setup: Setup, sessions: Sessions, forwarding: Forwarding) {
  const closing = { started: false, stopping: false }
  const inUse = { certificate: setup.options.certificate ?? certificateOf(setup.settings) }
  publishCertificate(setup.meter, () => inUse.certificate)
  const edge = await openEdge(setup, sessions, forwarding, inUse.certificate, () => closing.started)
  const internal = await openInternal(setup, sessions, forwarding, {
    warnings: () =>
      warningsOf(setup, sessions, [
        ...ownCertificate(setup.settings.listen.tls, inUse.certificate),
        ...forwarding.clientCertificates,
      ]),
    isStopping: () => closing.stopping,
  })
  const listeners = new Listeners(setup.settings, edge, internal)
  return {
    open: () => listeners.open(),
    refuseClosed: () => listeners.refuseClosed(),
    renewCertificate(certificate: Certificate): void {
      inUse.certificate = certificate
      listeners.renewCertificate(certificate)
    },
    async close(how: Closing): Promise<boolean> {
      closing.started = true
      closing.stopping = !how.handover
      const goodbye = setTimeout(() => forwarding.webSockets?.close(how.drain?.websockets ?? 0), how.grace ?? 0)
      const inTime = await listeners.close(how)
      clearTimeout(goodbye)
      return inTime
    },
  }
}

async function openEdge(
  setup: Setup,
  sessions: Sessions,
  forwarding: Forwarding,
  certificate: Certificate | null,
  isClosing: () => boolean,
) {
  const { settings, profile, clock, log, accessLog, meter, requests } = setup
  const { store, jwt, timestamps, sides, gateSides, keys, permissions } = sessions
  const { logins, ownAccounts, accountAdministrations, ownSecondFactors } = sessions
  const envelopes = createEnvelopes(settings.locale, settings.errors.http_status)
  const edge = createServer({
    log,
    envelopes,
    observer: { requests: 'every', counter: requests, accessLog },
    trustedProxies: settings.trusted_proxies,
    timeouts: settings.listen.timeouts,
    minRate: settings.listen.min_rate === 'off' ? 0 : settings.listen.min_rate,
    isPressed: () => isClosing() || forwarding.upstreams.isCrowded(),
    maxConnections: connectionLimits(settings),
    onClosed: countClosed(meter),
    certificate,
    hasWebSockets: servesWebSockets(settings),
    answerSignedOut: createAnswerSignedOut(forwarding.credentials.cookies, settings.locale),
  })
  const shown = { sides, sessions: store.sessions, jwt, clock, timestamps, locale: settings.locale }
  const { upstreams, credentials, assertionKeys, ownTokens, webSockets, watch } = forwarding
  await servePublicListener(edge, {
    settings,
    profile,
    envelopes,
    sides,
    gateSides,
    keys,
    timestamps,
    logins,
    providerLogins: sessions.providerLogins,
    ownAccounts,
    ownSecondFactors,
    upstreams,
    credentials,
    assertionKeys,
    ownTokens,
    administration: servesAdministration(settings, profile)
      ? createAdministration({ ...shown, online: store.online })
      : null,
    accountAdministrations,
    journal: servesJournal(settings, profile) ? sessions.journal : null,
    own: createOwnSessions(shown),
    guards: createGuards(permissions),
    permissions,
    webSockets,
    watch,
  })
  return edge
}

async function openInternal(
  setup: Setup,
  sessions: Sessions,
  forwarding: Forwarding,
  state: Pick<InternalListenerOptions, 'warnings' | 'isStopping'>,
) {
  const { settings, profile, options, clock, log, accessLog, meter, requests } = setup
  const { locale } = settings
  const { store, sides, permissions, jwt, timestamps } = sessions
  const { upstreams, credentials, assertionKeys } = forwarding
  // Services behind the gateway read real statuses.
  const envelopes = createEnvelopes(locale, 'native')
  const internal = createServer({
    log,
    envelopes,
    observer: { requests: 'refused', counter: requests, accessLog },
    trustedProxies: [],
    bodyLimit: INTERNAL_BODY_LIMIT,
  })
  await serveInternalListener(internal, {
    secret: settings.internal.secret,
    sides,
    profile,
    envelopes,
    locale,
    store,
    ...state,
    upstreams,
    assertionKeys,
    verify: {
      rules: forwardedRulesOf(settings, profile),
      gateSides: sessions.gateSides,
      credentials,
      permissions,
      trustedProxies: settings.trusted_proxies,
    },
    explain: { settings, jwt, gateSides: sessions.explainedSides, sessions: store.sessions, timestamps, clock },
    keys: sessions.keys,
    gatherMetrics: options.gatherMetrics ?? (async () => textOf([await meter.snapshot()])),
  })
  return internal
}

const certificateOf = ({ listen: { tls } }: Settings): Certificate | null =>
  tls === undefined ? null : readCertificate(tls)

/** The label keeps the metric absent without a certificate: a 0 would be one that has expired. */
function publishCertificate(meter: Meter, inUse: () => Certificate | null): void {
  meter.gauge({
    name: 'dualgate_certificate_not_after_seconds',
    help: 'When the certificate in use expires, in seconds since 1970',
    labelNames: ['listener'],
    aggregator: 'min',
    collect() {
      const certificate = inUse()
      if (certificate !== null) this.set({ listener: 'public' }, endOf(certificate) / 1000)
    },
  })
}

/** What `/readyz` warns of, as it is now: a certificate gets older, and a file changes. */
function warningsOf(
  { settings, clock }: Setup,
  { accountWarnings }: Sessions,
  certificates: readonly UsedCertificate[],
): string[] {
  const ending = warningsOfEnd(certificates, clock.now()).map(({ place, message }) => `${place} ${message}`)
  return [...settings.warnings, ...accountWarnings(), ...ending]
}

/** A client address may hold a quarter of a worker's connections unless the settings say otherwise, and 20 in any case. */
const connectionLimits = ({ listen: { max_connections, max_connections_per_address } }: Settings) => ({
  total: max_connections,
  perAddress: max_connections_per_address ?? Math.max(20, Math.ceil(max_connections / 4)),
})
