import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import type { CredentialRules } from '../../gate/credential.ts'
import { isCrossOrigin } from '../../gate/cross-origin.ts'
import { admit, noneIfRefused } from '../../gate/live-session.ts'
import { SIGN_IN_FILES, SIGN_IN_LOGO, signInPaths } from '../../gate/own-pages.ts'
import { verdictOfSide } from '../../gate/rules.ts'
import type { ProviderLogin } from '../../login/providers/open.ts'
import { type LoginType, SIDES } from '../../session/sides.ts'
import type { Profile } from '../../settings/profile.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import { cookieSides, providersOf, servesLogin, signsInByPassword } from '../../settings/served.ts'
import type { Session } from '../../side/side.ts'
import { cookiesOfClient, renewCookie, type Sides } from '../server/authenticate.ts'
import type { Envelopes } from '../server/envelope.ts'
import type { Text } from '../server/failure-texts.ts'
import { originOf } from '../server/origin.ts'
import { ofPage, serveAsset } from './assets.ts'
import { pageSettings, sourceOf } from './console.ts'
import { withForm } from './security-headers.ts'
import { showRefusal } from './short-page.ts'

export interface SignInOptions {
  settings: Settings
  profile: Profile
  sides: Sides
  credentials: CredentialRules
  envelopes: Envelopes
  /** `null` for a side without OpenID providers. */
  providerLogins: Readonly<Record<LoginType, ProviderLogin | null>>
}

const PAGE = ofPage('sign-in/page.html')
const SIGN_OUT: Text = ['Sign out', '退出登录']
const SIGN_OUT_PAGE = ofPage('sign-in/sign-out.html')

/** The page that opened it may still talk to the page that it leads to. */
const IN_A_POPUP = { crossOriginOpenerPolicy: false } as const

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
  const { settings, profile } = options
  const paths = signInPaths(type)
  const providers = providersOf(settings, type)
  const isHere = type === 'BUSINESS' || servesLogin(settings, type) || providers.length > 0
  const elsewhere = isHere ? undefined : settings.browser.consumer_page
  const helmet = providers.length === 0 ? IN_A_POPUP : { ...IN_A_POPUP, ...withForm(providers) }
  app.route({
    method: ['GET', 'HEAD'],
    url: paths.unslashed,
    // Relative: a proxy in front may serve the gateway below another path.
    handler: async (request, reply) => reply.redirect(`${SIDES[type].section}/${request.target.query}`, 302),
  })
  if (elsewhere === undefined) serveAsset(app, { path: paths.page, from: PAGE, cache: 'no-store', helmet })
  else serveElsewhere(app, paths.page, elsewhere)
  serveAsset(app, { path: paths.settings, from: () => JSON.stringify(settingsOf(settings, profile, type)) })
  app.route({ method: ['GET', 'HEAD'], url: paths.session, handler: tellSession(type, options) })
  serveAsset(app, { path: paths.signOut, from: SIGN_OUT_PAGE, cache: 'no-store', helmet: withForm(providers) })
  app.post(paths.signOut, signOut(type, options))
}

/** Answers whether the cookie proves a live session, found as the gate finds it. */
const tellSession =
  (type: LoginType, { sides, credentials, envelopes }: SignInOptions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const verdict = verdictOfSide(type)
    // To an application at `/` that asks for one, browsers send an `Authorization` with all requests to the host, with this one, too.
    const session = (await admit(verdict, cookiesOfClient(request, true, credentials), sides))!
    renewCookie(session, reply, credentials)
    reply.header('cache-control', 'no-store')
    return envelopes.success(request.id, { handle: session.claims.jti })
  }

/**
 * Ends the session of the cookie, if it is live, and removes the cookie. Of several cookies of its name, which another host of
 * `browser.domain` can add, each session ends. A page of another origin is refused: it would sign its visitor out. A store that fails
 * is an error, which its user reads, and the cookie stays: the session may live on.
 */
const signOut =
  (type: LoginType, options: SignInOptions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { settings, credentials } = options
    if (isCrossOrigin(request.raw.headers, request, credentials.origins)) throw new Refusal('CROSS_ORIGIN')
    const { page, signOut } = signInPaths(type)
    try {
      const provider = await endSessions(type, request, options)
      return reply
        .code(303)
        .headers({
          location: provider ?? `${page}?signed-out=1`,
          'set-cookie': credentials.cookies!.expire(type),
          'cache-control': 'no-store',
        })
        .send()
    } catch (fault) {
      const again = { title: SIGN_OUT, link: SIGN_OUT, href: signOut }
      return showRefusal(fault, request, reply, { ...again, locale: settings.locale })
    }
  }

/** Answers where the sign-out goes on to; `null` for sessions of no provider, and without a live one. */
async function endSessions(
  type: LoginType,
  request: FastifyRequest,
  { sides, credentials, providerLogins }: SignInOptions,
): Promise<string | null> {
  let goesOnTo: string | null = null
  for (const token of credentials.cookies!.readAll(request.raw.headers.cookie, type)) {
    const session = await sides[type].inspect(token)
    if (session === null) continue
    await sides[type].logoutSession(session, originOf(request, session))
    goesOnTo ??= await signOutAt(providerLogins[type], session)
  }
  return goesOnTo
}

/** The live session of the cookie, not renewed and whether its user is disabled or not; `null` for none. */
export async function sessionOfCookie(
  type: LoginType,
  request: FastifyRequest,
  sides: Sides,
  { cookies }: CredentialRules,
): Promise<Session | null> {
  const { token, count } = cookies!.read(request.raw.headers.cookie, type)
  // Of two cookies of one name neither is known to be meant.
  return token === null || count > 1 ? null : sides[type].inspect(token)
}

/** Where a sign-out goes on to. The session has ended here already: a failure does not stop that. */
const signOutAt = (providers: ProviderLogin | null, session: Session): Promise<string | null> =>
  providers === null ? Promise.resolve(null) : providers.signOutAt(session).catch(noneIfRefused)

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
  const providers = providersOf(settings, type)
  return {
    ...pageSettings(settings, profile, type),
    title,
    has_logo: logo !== undefined,
    /** Whether the gateway itself signs the users of this side in: with a password, or by its providers. */
    signs_in: signsInByPassword(settings, type) || providers.length > 0,
    password: signsInByPassword(settings, type),
    providers: providers.map(({ name, label }) => ({ name, label })),
    /** Where users go who want nowhere else. */
    home: type === 'BUSINESS' && settings.console ? '/console/' : '/',
    origins,
  }
}
