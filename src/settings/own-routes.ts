import { signInPaths } from '../gate/own-pages.ts'
import { LOGIN_TYPES, type LoginType, SIDES } from '../session/sides.ts'
import type { Profile } from './profile.ts'
import type { Settings } from './schema/settings.ts'
import {
  cookieSides,
  openPathsOf,
  providerRoutes,
  servesAccounts,
  servesAdministration,
  servesAdministrators,
  servesJournal,
  servesKeyAdministration,
  servesKeys,
  servesLogin,
  servesOwnKeys,
  servesSecondFactors,
  storesPasswords,
} from './served.ts'

export type RouteSettings = Pick<
  Settings,
  | 'api_versions'
  | 'session_administration'
  | 'account_administration'
  | 'console'
  | 'browser'
  | 'accounts'
  | 'own_sessions'
  | 'journal'
  | 'keys'
> & {
  login: Pick<Settings['login'], 'consumer' | 'logout_routes' | 'second_factor' | 'providers'>
}

/** A route of the gateway's own API. */
export interface OwnRoute {
  method: 'GET' | 'POST'
  /** Below `/api/v<n>/`, for one side. */
  path(side: (typeof SIDES)[LoginType]): string
  /** What it is about, as the API document groups routes. */
  group: 'login' | 'account' | 'own sessions' | 'keys' | 'administration' | 'journal'
  /** The sides for which it exists; it is served for each of them as far as the settings say so. */
  sides: readonly LoginType[]
  /** Nothing, a live session of its side, or one of the B side. */
  needs: 'nothing' | 'own session' | 'BUSINESS'
  isServed(settings: RouteSettings, profile: Profile, type: LoginType): boolean
}

type Decided = Omit<OwnRoute, 'method' | 'path'>

const SIGN_IN: Decided = {
  group: 'login',
  sides: LOGIN_TYPES,
  needs: 'nothing',
  isServed: (settings, _profile, type) => servesLogin(settings, type),
}
const NEW_PASSWORD = {
  isServed: (settings, _profile, type) => storesPasswords(settings, type),
} satisfies Partial<Decided>
const SECOND_FACTOR = {
  isServed: (settings, _profile, type) => servesSecondFactors(settings, type),
} satisfies Partial<Decided>
const LOGOUT: Decided = {
  group: 'login',
  sides: LOGIN_TYPES,
  needs: 'own session',
  isServed: ({ login }) => login.logout_routes,
}
const ACCOUNT: Decided = { ...SIGN_IN, group: 'account', needs: 'own session' }
const OWN_FACTOR: Decided = { ...ACCOUNT, ...SECOND_FACTOR }
const OWN_SESSIONS: Decided = {
  group: 'own sessions',
  sides: LOGIN_TYPES,
  needs: 'own session',
  isServed: ({ own_sessions }, _profile, type) => own_sessions[SIDES[type].name],
}
const SESSIONS: Decided = {
  group: 'administration',
  sides: LOGIN_TYPES,
  needs: 'BUSINESS',
  isServed: servesAdministration,
}
const CURRENT: Decided = { ...SESSIONS, sides: ['BUSINESS'], isServed: servesAdministrators }
const ACCOUNTS: Decided = { ...SESSIONS, isServed: servesAccounts }
const TOKEN: Decided = { ...SIGN_IN, group: 'keys', isServed: (settings, _profile, type) => servesKeys(settings, type) }
const OWN_KEYS: Decided = {
  group: 'keys',
  sides: LOGIN_TYPES,
  needs: 'own session',
  isServed: (settings, _profile, type) => servesOwnKeys(settings, type),
}
const KEYS: Decided = { ...SESSIONS, group: 'keys', isServed: servesKeyAdministration }
/** Keys are made for accounts that are administered here. */
const NEW_KEYS: Decided = {
  ...KEYS,
  isServed: (settings, profile, type) =>
    servesKeyAdministration(settings, profile, type) && servesAccounts(settings, profile, type),
}
const JOURNAL: Decided = { group: 'journal', sides: ['BUSINESS'], needs: 'BUSINESS', isServed: servesJournal }

const get = (decided: Decided, path: OwnRoute['path']): OwnRoute => ({ method: 'GET', path, ...decided })
const post = (decided: Decided, path: OwnRoute['path']): OwnRoute => ({ method: 'POST', path, ...decided })

/** The key that encrypts passwords. Each profile has a path of its own; clients in use may call either in profile 2. */
const sm2Key = (name: Profile['sm2PublicKeyNames'][number]): OwnRoute =>
  get(
    {
      ...SIGN_IN,
      isServed: (settings, profile, type) => profile.sm2PublicKeyNames.includes(name) && servesLogin(settings, type),
    },
    ({ section }) => `public/${section}/${name}`,
  )

/**
 * The gateway's own API, row by row: the public listener registers what is served of it, `dualgate check` and `explain` know it,
 * and the API document shows it. What answers a route is in `http/routes/`, by the same names.
 */
const ROWS = {
  captcha: get(SIGN_IN, ({ section }) => `public/${section}/captcha`),
  'sm2-public-key': sm2Key('sm2-public-key'),
  'sm2/public-key': sm2Key('sm2/public-key'),
  login: post(SIGN_IN, ({ section }) => `public/${section}/login`),
  'login/password': post({ ...SIGN_IN, ...NEW_PASSWORD }, ({ section }) => `public/${section}/login/password`),
  'login/second-factor': post(
    { ...SIGN_IN, ...SECOND_FACTOR },
    ({ section }) => `public/${section}/login/second-factor`,
  ),
  'login/second-factor/setup': post(
    { ...SIGN_IN, ...SECOND_FACTOR },
    ({ section }) => `public/${section}/login/second-factor/setup`,
  ),
  logout: post(LOGOUT, ({ section }) => `${section}/logout`),

  account: get(ACCOUNT, ({ section }) => `${section}/account`),
  'account/password': post({ ...ACCOUNT, ...NEW_PASSWORD }, ({ section }) => `${section}/account/password`),
  'account/second-factor/setup': post(OWN_FACTOR, ({ section }) => `${section}/account/second-factor/setup`),
  'account/second-factor/confirm': post(OWN_FACTOR, ({ section }) => `${section}/account/second-factor/confirm`),
  'account/second-factor/recovery-codes': post(
    OWN_FACTOR,
    ({ section }) => `${section}/account/second-factor/recovery-codes`,
  ),
  'account/second-factor/remove': post(OWN_FACTOR, ({ section }) => `${section}/account/second-factor/remove`),

  'own-sessions/tokens': get(OWN_SESSIONS, ({ section }) => `${section}/session/tokens`),
  'own-sessions/exit-token': post(OWN_SESSIONS, ({ section }) => `${section}/session/exit-token`),
  'own-sessions/exit-others': post(OWN_SESSIONS, ({ section }) => `${section}/session/exit-others`),

  token: post(TOKEN, ({ section }) => `public/${section}/token`),
  'account/keys': get(OWN_KEYS, ({ section }) => `${section}/account/keys`),
  'account/keys/add': post(OWN_KEYS, ({ section }) => `${section}/account/keys/add`),
  'account/keys/rotate': post(OWN_KEYS, ({ section }) => `${section}/account/keys/rotate`),
  'account/keys/revoke': post(OWN_KEYS, ({ section }) => `${section}/account/keys/revoke`),

  current: get(CURRENT, ({ administration }) => `${administration}/current`),
  'sessions/analysis': get(SESSIONS, ({ administration }) => `${administration}/analysis`),
  'sessions/page': get(SESSIONS, ({ administration }) => `${administration}/page`),
  'sessions/exit': post(SESSIONS, ({ administration }) => `${administration}/exit`),
  'sessions/tokens': get(SESSIONS, ({ administration }) => `${administration}/tokens`),
  'sessions/exit-token': post(SESSIONS, ({ administration }) => `${administration}/exit-token`),
  'sessions/chart-data': get(SESSIONS, ({ administration }) => `${administration}/chart-data`),
  'sessions/disable': post(SESSIONS, ({ administration }) => `${administration}/disable`),
  'sessions/untie-disable': post(SESSIONS, ({ administration }) => `${administration}/untie-disable`),
  'sessions/disabled': get(SESSIONS, ({ administration }) => `${administration}/disabled`),
  'sessions/disabled-page': get(SESSIONS, ({ administration }) => `${administration}/disabled-page`),

  'accounts/page': get(ACCOUNTS, ({ accounts }) => `${accounts}/page`),
  'accounts/detail': get(ACCOUNTS, ({ accounts }) => `${accounts}/detail`),
  'accounts/roles': get(ACCOUNTS, ({ accounts }) => `${accounts}/roles`),
  'accounts/add': post(ACCOUNTS, ({ accounts }) => `${accounts}/add`),
  'accounts/edit': post(ACCOUNTS, ({ accounts }) => `${accounts}/edit`),
  'accounts/reset-password': post(ACCOUNTS, ({ accounts }) => `${accounts}/reset-password`),
  'accounts/reset-second-factor': post(ACCOUNTS, ({ accounts }) => `${accounts}/reset-second-factor`),
  'accounts/remove': post(ACCOUNTS, ({ accounts }) => `${accounts}/remove`),

  'keys/page': get(KEYS, ({ keys }) => `${keys}/page`),
  'keys/add': post(NEW_KEYS, ({ keys }) => `${keys}/add`),
  'keys/revoke': post(KEYS, ({ keys }) => `${keys}/revoke`),

  'journal/page': get(JOURNAL, () => 'sys/journal/page'),
  'journal/export': get(JOURNAL, () => 'sys/journal/export'),
} satisfies Readonly<Record<string, OwnRoute>>

export type OwnRouteName = keyof typeof ROWS

/** A route as it is served: for one version of the API and one side. */
export interface ServedRoute extends Pick<OwnRoute, 'method' | 'group' | 'needs'> {
  name: OwnRouteName
  path: string
  type: LoginType
}

/** The routes of the gateway's own API that are served, with their whole paths. */
export function servedRoutes(settings: RouteSettings, profile: Profile): ServedRoute[] {
  const rows = Object.entries(ROWS) as [OwnRouteName, OwnRoute][]
  return settings.api_versions.flatMap(version =>
    rows.flatMap(([name, { method, path, group, needs, sides, isServed }]) =>
      sides
        .filter(type => isServed(settings, profile, type))
        .map(type => ({ name, method, path: `/api/v${version}/${path(SIDES[type])}`, group, needs, type })),
    ),
  )
}

/** What the public listener answers itself, as `METHOD path`. A test asks a running gateway for each of them. */
export function ownRoutes(
  settings: RouteSettings & Pick<Settings, 'upstreams'>,
  profile: Profile,
): ReadonlySet<string> {
  const ofProviders = providerRoutes(settings)
  const others = new Set(openPathsOf(settings, profile))
  for (const { path } of ofProviders) others.delete(path)
  return new Set([
    ...[
      ...Array.from(others, path => ({ method: 'GET', path })),
      ...cookieSides(settings).map(type => ({ method: 'POST', path: signInPaths(type).signOut })),
      ...servedRoutes(settings, profile),
    ].flatMap(({ method, path }) => (method === 'GET' ? [`GET ${path}`, `HEAD ${path}`] : [`${method} ${path}`])),
    // The way back from a provider is used up by its first request: it has no HEAD.
    ...ofProviders.map(({ method, path }) => `${method} ${path}`),
  ])
}

/** The methods of a path that the public listener serves itself; none where it serves another. OPTIONS is one of them. */
export function ownMethods(routes: ReadonlySet<string>, path: string): string[] {
  const methods = [...routes].flatMap(route => (route.endsWith(` ${path}`) ? [route.slice(0, route.indexOf(' '))] : []))
  return methods.length === 0 ? [] : [...methods, 'OPTIONS']
}
