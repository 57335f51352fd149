import type { Profile } from '../profile.ts'
import { LOGIN_TYPES, type LoginType, SIDES } from '../session.ts'
import type { Settings } from './schema/settings.ts'
import {
  openPathsOf,
  servedOwnSessions,
  servesAccounts,
  servesAdministration,
  servesAdministrators,
  servesJournal,
  servesSecondFactors,
  storesPasswords,
} from './served.ts'

type RouteSettings = Pick<
  Settings,
  | 'api_versions'
  | 'session_administration'
  | 'account_administration'
  | 'console'
  | 'accounts'
  | 'own_sessions'
  | 'journal'
> & {
  login: Pick<Settings['login'], 'consumer' | 'logout_routes' | 'second_factor'>
}

/** The session administration of each side, by name: what is served, and with which method. */
export const ADMINISTRATION_ROUTES = {
  analysis: 'GET',
  page: 'GET',
  exit: 'POST',
  tokens: 'GET',
  'exit-token': 'POST',
  'chart-data': 'GET',
  disable: 'POST',
  'untie-disable': 'POST',
  disabled: 'GET',
  'disabled-page': 'GET',
} as const

/** The same for the account administration. */
export const ACCOUNT_ROUTES = {
  page: 'GET',
  detail: 'GET',
  roles: 'GET',
  add: 'POST',
  edit: 'POST',
  'reset-password': 'POST',
  'reset-second-factor': 'POST',
  remove: 'POST',
} as const

/** The journal, below `sys/journal/`. */
export const JOURNAL_ROUTES = { page: 'GET', export: 'GET' } as const

/** What users do with their own sessions, below the section of their side. */
export const OWN_SESSION_ROUTES = { tokens: 'GET', 'exit-token': 'POST', 'exit-others': 'POST' } as const

/** What users do with their own second factor. */
const SECOND_FACTOR_ROUTES = ['setup', 'confirm', 'recovery-codes', 'remove'] as const

/** What the public listener answers itself, as `METHOD path`. A test asks a running gateway for each of them. */
export function ownRoutes(settings: RouteSettings, profile: Profile): ReadonlySet<string> {
  const { login, api_versions, own_sessions } = settings
  const served = LOGIN_TYPES.filter(type => type === 'BUSINESS' || login.consumer !== 'off')
  const publicRoutes = served.flatMap(type => [
    ...publicRoutesOf(SIDES[type].section, profile),
    ...loginStepsOf(settings, type).map(step => `POST /public/${SIDES[type].section}/login/${step}`),
  ])
  const secondFactors = served
    .filter(type => servesSecondFactors(settings, type))
    .flatMap(type => SECOND_FACTOR_ROUTES.map(name => `POST /${SIDES[type].section}/account/second-factor/${name}`))
  const logouts = login.logout_routes ? LOGIN_TYPES.map(type => `POST /${SIDES[type].section}/logout`) : []
  const ownSessions = servedOwnSessions(own_sessions).flatMap(type =>
    routesBelow(`${SIDES[type].section}/session`, OWN_SESSION_ROUTES),
  )
  const accounts = served.flatMap(type => [
    `GET /${SIDES[type].section}/account`,
    ...(storesPasswords(settings, type) ? [`POST /${SIDES[type].section}/account/password`] : []),
  ])
  const administration = servesAdministration(settings, profile)
    ? LOGIN_TYPES.flatMap(type => routesBelow(SIDES[type].administration, ADMINISTRATION_ROUTES))
    : []
  const current = servesAdministrators(settings, profile) ? [`GET /${SIDES.BUSINESS.administration}/current`] : []
  const administeredAccounts = LOGIN_TYPES.filter(type => servesAccounts(settings, profile, type)).flatMap(type =>
    routesBelow(SIDES[type].accounts, ACCOUNT_ROUTES),
  )
  const journal = servesJournal(settings, profile) ? routesBelow('sys/journal', JOURNAL_ROUTES) : []
  const routes = [
    ...publicRoutes,
    ...accounts,
    ...secondFactors,
    ...logouts,
    ...ownSessions,
    ...current,
    ...administration,
    ...administeredAccounts,
    ...journal,
  ]
  return new Set(
    [
      ...[...openPathsOf(settings, profile)].map(path => `GET ${path}`),
      ...api_versions.flatMap(version => routes.map(route => route.replace(' ', ` /api/v${version}`))),
    ].flatMap(withHead),
  )
}

const routesBelow = (base: string, routes: Readonly<Record<string, string>>): string[] =>
  Object.entries(routes).map(([name, method]) => `${method} /${base}/${name}`)

const publicRoutesOf = (section: string, profile: Profile): string[] => [
  `GET /public/${section}/captcha`,
  `POST /public/${section}/login`,
  ...profile.sm2PublicKeyPaths.map(path => `GET ${path.replace('/b/', `/${section}/`)}`),
]

const loginStepsOf = (settings: RouteSettings, type: LoginType): string[] => [
  ...(storesPasswords(settings, type) ? ['password'] : []),
  ...(servesSecondFactors(settings, type) ? ['second-factor', 'second-factor/setup'] : []),
]

const withHead = (route: string): string[] =>
  route.startsWith('GET ') ? [route, route.replace('GET', 'HEAD')] : [route]

/** The methods of a path that the public listener serves itself; none where it serves another. OPTIONS is one of them. */
export function ownMethods(routes: ReadonlySet<string>, path: string): string[] {
  const methods = [...routes].flatMap(route => (route.endsWith(` ${path}`) ? [route.slice(0, route.indexOf(' '))] : []))
  return methods.length === 0 ? [] : [...methods, 'OPTIONS']
}
