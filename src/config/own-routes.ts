import type { Profile } from '../profile.ts'
import { LOGIN_TYPES, SIDES } from '../session.ts'
import type { Settings } from './schema/settings.ts'
import { openPathsOf, servesAdministration } from './served.ts'

type RouteSettings = Pick<Settings, 'api_versions' | 'session_administration' | 'console'> & {
  login: Pick<Settings['login'], 'consumer' | 'logout_routes'>
}

const ADMINISTRATION = [
  'GET analysis',
  'GET page',
  'POST exit',
  'GET tokens',
  'POST exit-token',
  'GET chart-data',
  'POST disable',
  'POST untie-disable',
  'GET disabled',
]

/** What the public listener answers itself, as `METHOD path`. A test asks a running gateway for each of them. */
export function ownRoutes(settings: RouteSettings, profile: Profile): ReadonlySet<string> {
  const { login, api_versions } = settings
  const served = LOGIN_TYPES.filter(type => type === 'BUSINESS' || login.consumer !== 'off')
  const publicRoutes = served.flatMap(type => publicRoutesOf(SIDES[type].section, profile))
  const logouts = login.logout_routes ? LOGIN_TYPES.map(type => `POST /${SIDES[type].section}/logout`) : []
  const administration = servesAdministration(settings, profile)
    ? [
        `GET /${SIDES.BUSINESS.administration}/current`,
        ...LOGIN_TYPES.flatMap(type =>
          ADMINISTRATION.map(route => route.replace(' ', ` /${SIDES[type].administration}/`)),
        ),
      ]
    : []
  const routes = [...publicRoutes, ...logouts, ...administration]
  return new Set(
    [
      ...[...openPathsOf(settings, profile)].map(path => `GET ${path}`),
      ...api_versions.flatMap(version => routes.map(route => route.replace(' ', ` /api/v${version}`))),
    ].flatMap(withHead),
  )
}

const publicRoutesOf = (section: string, profile: Profile): string[] => [
  `GET /public/${section}/captcha`,
  `POST /public/${section}/login`,
  ...profile.sm2PublicKeyPaths.map(path => `GET ${path.replace('/b/', `/${section}/`)}`),
]

const withHead = (route: string): string[] =>
  route.startsWith('GET ') ? [route, route.replace('GET', 'HEAD')] : [route]

/** The methods of a path that the public listener serves itself; none where it serves another. OPTIONS is one of them. */
export function ownMethods(routes: ReadonlySet<string>, path: string): string[] {
  const methods = [...routes].flatMap(route => (route.endsWith(` ${path}`) ? [route.slice(0, route.indexOf(' '))] : []))
  return methods.length === 0 ? [] : [...methods, 'OPTIONS']
}
