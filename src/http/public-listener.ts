import fastifyCors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import type { Permissions } from '../account/permissions.ts'
import type { Administration } from '../administration/administration.ts'
import type { OwnSessions } from '../administration/own-sessions.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { CredentialRules } from '../gate/credential.ts'
import type { GateSides } from '../gate/live-session.ts'
import type { JournalPages } from '../journal/page.ts'
import type { KeysOfSide } from '../key/open.ts'
import type { OwnAccount } from '../login/own-account/own-account.ts'
import type { OwnSecondFactor } from '../login/own-account/own-second-factor.ts'
import type { ProviderLogin } from '../login/providers/open.ts'
import type { Login } from '../login/sign-in/login.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { Profile } from '../settings/profile.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { pathRulesOf } from '../settings/served.ts'
import type { Session } from '../side/side.ts'
import type { SessionWatch } from '../store/session-watch.ts'
import type { OwnTokens } from '../token/issued-here.ts'
import type { UpstreamTable } from '../upstream/table.ts'
import { registerForwarding } from './forward/forward.ts'
import { serveConsole } from './pages/console.ts'
import { documentPublicRoutes, serveDocuments } from './pages/documents.ts'
import { type AssertionKeys, serveKeys } from './pages/jwks.ts'
import { serveProviders } from './pages/providers.ts'
import { protectPages } from './pages/security-headers.ts'
import { serveSignIn } from './pages/sign-in.ts'
import {
  ACCOUNT_PERMISSIONS,
  type Administrations,
  accountEndpoints,
} from './routes/accounts/account-administration.ts'
import { journalEndpoints, SEE_JOURNAL } from './routes/journal.ts'
import { KEY_PERMISSIONS, keyEndpoints } from './routes/keys/administration.ts'
import { ownKeyEndpoints } from './routes/keys/own.ts'
import { tokenEndpoint } from './routes/keys/token.ts'
import { loginEndpoints } from './routes/login.ts'
import { loginStepEndpoints } from './routes/login-steps.ts'
import { logoutEndpoint } from './routes/logout.ts'
import { ownAccountEndpoints } from './routes/own-account/own-account.ts'
import { ownSecondFactorEndpoints } from './routes/own-account/second-factor.ts'
import { type Endpoints, serveOwnRoutes } from './routes/own-routes.ts'
import { currentEndpoint } from './routes/sessions/current.ts'
import { ownSessionEndpoints } from './routes/sessions/own.ts'
import { SESSION_PERMISSIONS, sessionEndpoints } from './routes/sessions/sessions.ts'
import { createDelivery } from './routes/token-delivery.ts'
import { createGate, createJudge, type Sides } from './server/authenticate.ts'
import type { Envelopes } from './server/envelope.ts'
import type { Guards } from './server/guards.ts'
import { OwnPaths } from './server/own-paths.ts'
import type { WebSockets } from './websocket/websockets.ts'

export interface PublicListenerOptions {
  settings: Settings
  profile: Profile
  envelopes: Envelopes
  sides: Sides
  /** By what the gate finds a session. */
  gateSides: GateSides<Session>
  /** `null` for a side whose users cannot set up a second factor. */
  ownSecondFactors: Readonly<Record<LoginType, OwnSecondFactor | null>>
  /** The logins that the gateway itself serves, and `null` for a side whose login is served elsewhere. */
  logins: Readonly<Record<LoginType, Login | null>>
  /** The logins by OpenID providers; `null` for a side without any. */
  providerLogins: Readonly<Record<LoginType, ProviderLogin | null>>
  /** `null` for a side without keys. */
  keys: Readonly<Record<LoginType, KeysOfSide | null>>
  timestamps: TimestampFormat
  /** The accounts of their users. */
  ownAccounts: Readonly<Record<LoginType, OwnAccount | null>>
  upstreams: UpstreamTable
  /** What proves a session. */
  credentials: CredentialRules
  /** The public keys of assertions; `null` where no upstream gets any. */
  assertionKeys: AssertionKeys | null
  ownTokens: OwnTokens
  /** The session administration, where it is served. */
  administration: Administration | null
  /** The account administration of each side; `null` where it is not served. */
  accountAdministrations: Administrations
  /** `null` where it is not served. */
  journal: JournalPages | null
  own: OwnSessions
  guards: Guards
  permissions: Permissions
  /** `null` where no upstream has any. */
  webSockets: WebSockets | null
  watch: SessionWatch
}

/**
 * The public listener, in the order of a request: check of the path, the gate, then an own route or an upstream. The order of
 * the hooks is a security property. CORS comes between them, so that browsers can read a refusal of the gate.
 */
export async function servePublicListener(app: FastifyInstance, options: PublicListenerOptions): Promise<void> {
  const { settings, profile, envelopes, sides, upstreams, permissions } = options
  const { credentials, ownTokens, webSockets, watch } = options
  const { tokenHeader } = credentials
  const ownPaths = new OwnPaths()
  const rules = pathRulesOf(settings, profile)
  app.addHook('onRequest', createJudge({ rules, tokenHeader, ownPaths, upstreams }))
  if (settings.cors !== 'off') {
    app.addHook('onRequest', ownPaths.allowOptions)
    await app.register(fastifyCors, { ...settings.cors, strictPreflight: false })
  }
  app.addHook('onRequest', createGate({ rules, sides: options.gateSides, permissions, credentials }))
  app.addHook('onRequest', (request, reply, done) => {
    const { destination, method, target } = request
    if (destination === null && ownPaths.lacks(method, target.path)) ownPaths.answerOther(request, reply, target.path)
    else done()
  })

  ownPaths.collect(app)
  await documentPublicRoutes(app, {
    locale: settings.locale,
    style: settings.errors.http_status,
    tokenName: settings.jwt.token_name,
    keys: credentials.keys,
  })
  serveOwnRoutes(app, endpointsOf(options), { settings, profile, guards: options.guards, envelopes })
  await app.register(async pages => {
    await protectPages(pages)
    serveDocuments(pages, profile)
    serveKeys(pages, options.assertionKeys)
    if (settings.console) serveConsole(pages, settings, profile)
    const { providerLogins } = options
    serveSignIn(pages, { settings, profile, sides, credentials, envelopes, providerLogins })
    serveProviders(pages, { settings, sides, credentials, envelopes, providerLogins })
  })
  ownPaths.close()
  const { cookies } = credentials
  await registerForwarding(app, {
    tokenHeader,
    ownTokens,
    hasPages: rules.pages.length > 0,
    ownsCors: settings.cors !== 'off',
    webSockets,
    watch,
    signIns: cookies && { sides, cookies, origins: credentials.origins },
    log: app.log,
  })
}

/** What answers the gateway's own API. */
function endpointsOf(options: PublicListenerOptions): Endpoints {
  const { settings, sides, credentials, logins, administration, accountAdministrations, journal, permissions } = options
  const { keys, timestamps } = options
  const signingIn = { settings, logins, deliveryOf: createDelivery(settings, credentials) }
  const codes = [
    ...(administration === null ? [] : SESSION_PERMISSIONS),
    ...(LOGIN_TYPES.some(type => accountAdministrations[type] !== null) ? ACCOUNT_PERMISSIONS : []),
    ...(LOGIN_TYPES.some(type => keys[type] !== null) ? KEY_PERMISSIONS : []),
    ...(journal === null ? [] : [SEE_JOURNAL]),
  ]
  return {
    ...loginEndpoints(signingIn),
    ...loginStepEndpoints(signingIn),
    logout: logoutEndpoint(sides, settings.locale, credentials.cookies),
    ...ownAccountEndpoints(options.ownAccounts, permissions),
    ...ownSecondFactorEndpoints(options.ownSecondFactors),
    ...ownSessionEndpoints(options.own),
    ...tokenEndpoint(keys),
    ...ownKeyEndpoints(keys, timestamps),
    ...keyEndpoints(keys, timestamps),
    current: currentEndpoint({ permissions, codes }),
    ...sessionEndpoints({ administration, permissions }),
    ...accountEndpoints(accountAdministrations),
    ...journalEndpoints(journal),
  }
}
