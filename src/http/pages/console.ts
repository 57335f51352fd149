import type { FastifyInstance } from 'fastify'
import { CONSOLE_FILES, CONSOLE_SETTINGS } from '../../gate/own-pages.ts'
import { daysOf } from '../../key/own-keys.ts'
import { bySide, type LoginType, SIDES } from '../../session/sides.ts'
import { servedRoutes } from '../../settings/own-routes.ts'
import type { Profile } from '../../settings/profile.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import { keepsCookies, keysOf, providersOf } from '../../settings/served.ts'
import { REFUSAL_TEXTS } from '../server/failure-texts.ts'
import { ofPage, serveAsset, vendored } from './assets.ts'
import { withForm } from './security-headers.ts'

/** The file of the page that comes from another package: SM2 in the browser. */
const VENDORED = 'sm2.js'

/** `/console/`: the page for administrators. It holds no data and no secret; all it shows comes from guarded endpoints. */
export function serveConsole(app: FastifyInstance, settings: Settings, profile: Profile): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/console',
    handler: async (_request, reply) => reply.redirect('console/', 302),
  })
  const providers = providersOf(settings, 'BUSINESS')
  const hasProviders = providers.length > 0
  serveAsset(app, {
    path: '/console/',
    from: ofPage('index.html'),
    ...(hasProviders && { helmet: withForm(providers) }),
  })
  for (const file of CONSOLE_FILES) serveAsset(app, { path: `/console/${file}`, from: sourceOf(file) })
  const shown = {
    ...pageSettings(settings, profile, 'BUSINESS'),
    keys: bySide(type => keyLimits(settings, type)),
    /** Whether users sign in at `/sign-in/b/`, and out at `/sign-out/b`, because they may do so by a provider. */
    has_providers: hasProviders,
  }
  serveAsset(app, { path: CONSOLE_SETTINGS, from: () => JSON.stringify(shown) })
}

/** What new keys are limited to; `null` for a side without keys. */
function keyLimits(settings: Settings, type: LoginType) {
  const keys = keysOf(settings, type)
  if (keys === 'off') return null
  const { max_age, max_per_user, overlap } = keys
  return { max_days: daysOf(max_age), max_per_user, overlap_seconds: Math.floor(overlap / 1000) }
}

/** Where a file of the pages for people is. */
export const sourceOf = (file: string): URL => (file === VENDORED ? vendored(file) : ofPage(file))

/** The settings of the gateway for a page of a side; all of them are public. */
export function pageSettings(settings: Settings, profile: Profile, type: LoginType) {
  const { api_versions, jwt, locale, login, passwords, timezone } = settings
  const { min_length, classes, common } = passwords
  const api = `/api/v${api_versions[0]}`
  return {
    api,
    /** What the gateway serves itself, below `api`: the page shows nothing of what it does not. */
    routes: servedRoutes(settings, profile).flatMap(({ path }) =>
      path.startsWith(`${api}/`) ? [path.slice(api.length + 1)] : [],
    ),
    /** Of the routes of the side. */
    section: SIDES[type].section,
    sm2_public_key: profile.sm2PublicKeyNames[0],
    /** Whether the page keeps its session in a cookie. */
    keeps_cookie: keepsCookies(settings, type),
    captcha_alternative: login.captcha.alternative,
    token_name: jwt.token_name,
    passwords: { min_length, classes, common },
    locale,
    timezone,
    /**
     * The texts of refusals in both languages: the gateway uses one, the user of the page may have chosen the other.
     */
    messages: REFUSAL_TEXTS,
  }
}
