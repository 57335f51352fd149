import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import { admit } from '../../gate/admit.ts'
import { type CredentialRules, cookiesOf } from '../../gate/credential.ts'
import { isCrossOrigin } from '../../gate/cross-origin.ts'
import { SIGN_IN_FILES, SIGN_IN_LOGO, signInPaths } from '../../gate/own-pages.ts'
import { verdictOfSide } from '../../gate/rules.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Profile } from '../../settings/profile.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import { cookieSides, servesLogin } from '../../settings/served.ts'
import type { Session } from '../../side/side.ts'
import type { SessionCookies } from '../../token/cookie.ts'
import { renewCookie, type Sides } from '../server/authenticate.ts'
import type { Envelopes } from '../server/envelope.ts'
import { originOf } from '../server/origin.ts'
import { serveAsset } from './assets.ts'
import { pageSettings, sourceOf } from './console.ts'
import { pagePolicy } from './protection.ts'

export interface SignInOptions {
  settings: Settings
  profile: Profile
  sides: Sides
  credentials: CredentialRules
  envelopes: Envelopes
}

const PAGE = new URL('../../console/sign-in/page.html', import.meta.url)
const SIGN_OUT_PAGE = new URL('../../console/sign-in/sign-out.html', import.meta.url)

/**
 * `/sign-in/` and `/sign-out/` of the sides whose users may keep their session in a cookie. The pages hold no data and no
 * secret; where they lead is decided in the browser, from an address that is checked there and written nowhere.
 */
export function serveSignIn(app: FastifyInstance, options: SignInOptions): void {
  const { settings } = options
  const sides = cookieSides(settings)
  if (sides.length === 0) return
  for (const file of SIGN_IN_FILES) serveAsset(app, { path: `/sign-in/files/${file}`, from: sourceOf(file) })
  const { logo } = settings.browser
  if (logo !== undefined) serveAsset(app, { path: SIGN_IN_LOGO, from: pathToFileURL(logo) })
  for (const type of sides) serveSide(app, type, options)
}

function serveSide(app: FastifyInstance, type: LoginType, options: SignInOptions): void {
  const { settings, profile, envelopes } = options
  const paths = signInPaths(type)
  const elsewhere = type === 'CONSUMER' && !servesLogin(settings, type) ? settings.browser.consumer_page : undefined
  if (elsewhere === undefined) serveAsset(app, { path: paths.page, from: PAGE, cache: 'no-store', keepsOpener: true })
  else serveElsewhere(app, paths.page, elsewhere)
  serveAsset(app, { path: paths.settings, from: () => JSON.stringify(settingsOf(settings, profile, type)) })
  app.route({
    method: ['GET', 'HEAD'],
    url: paths.session,
    handler: async (request, reply) => {
      const session = await liveSession(request, type, options)
      renewCookie(session, reply, options.credentials)
      reply.header('cache-control', 'no-store')
      return envelopes.success(request.id, { handle: session.claims.jti })
    },
  })
  const policy = pagePolicy({ 'form-action': ["'self'"] })
  serveAsset(app, { path: paths.signOut, from: SIGN_OUT_PAGE, policy, referrer: 'same-origin', cache: 'no-store' })
  app.post(paths.signOut, signOut(type, options))
}

/** The session that the cookie of a request proves, found as the gate finds it. Rejects with the refusal of the gate. */
async function liveSession(
  { raw, method, protocol, host }: FastifyRequest,
  type: LoginType,
  { sides, credentials }: SignInOptions,
): Promise<Session> {
  const verdict = verdictOfSide(type)
  const asked = { headers: raw.headers, method, handshakeTokens: null, own: { protocol, host } }
  return (await admit(verdict, cookiesOf(asked, verdict, credentials), sides))!
}

/**
 * Ends the session of the cookie, if it is live, and removes the cookie. A page of another origin is refused: it would sign its
 * visitor out. A store that fails is an error, and the cookie stays: the session may live on.
 */
const signOut =
  (type: LoginType, options: SignInOptions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { sides, credentials } = options
    if (isCrossOrigin(request.raw.headers, request, credentials.origins)) throw new Refusal('CROSS_ORIGIN')
    const session = await liveSession(request, type, options).catch(noneIfNotLoggedIn)
    if (session !== null) await sides[type].logoutSession(session, originOf(request))
    const cookies = credentials.cookies as SessionCookies
    return reply
      .code(303)
      .headers({
        location: `${signInPaths(type).page}?signed-out=1`,
        'set-cookie': cookies.expire(type),
        'cache-control': 'no-store',
      })
      .send()
  }

function noneIfNotLoggedIn(fault: unknown): null {
  if (fault instanceof Refusal && ENDED.has(fault.reason)) return null
  throw fault
}

/** Refusals after which there is nothing to end. Two cookies of one name are removed at once. */
const ENDED: ReadonlySet<string> = new Set(['NOT_LOGGED_IN', 'COOKIE_TWICE', 'SESSION_DISABLED'])

/** A side whose users sign in at the operator's own page; it gets the address to which they want, and has to check it. */
function serveElsewhere(app: FastifyInstance, path: string, page: string): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: path,
    handler: async (request, reply) => {
      const to = new URLSearchParams(request.target.query).get('to')
      const url = new URL(page)
      if (to !== null) url.searchParams.set('to', to)
      return reply.header('cache-control', 'no-store').redirect(url.href, 303)
    },
  })
}

/** The settings of the gateway for a sign-in page; all of them are public. */
function settingsOf(settings: Settings, profile: Profile, type: LoginType) {
  const { title, logo, origins } = settings.browser
  return {
    ...pageSettings(settings, profile, type),
    title,
    has_logo: logo !== undefined,
    /** Whether the gateway itself signs the users of this side in. */
    signs_in: servesLogin(settings, type),
    /** Where users go who want nowhere else. */
    home: type === 'BUSINESS' && settings.console ? '/console/' : '/',
    origins,
  }
}
