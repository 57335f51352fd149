import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../base/refusal.ts'
import type { CredentialRules } from '../../gate/credential.ts'
import { isCrossOrigin } from '../../gate/cross-origin.ts'
import { noneIfRefused } from '../../gate/live-session.ts'
import { providerPaths, signInPaths, stepPath } from '../../gate/own-pages.ts'
import { FLOW_COOKIE_SECONDS } from '../../login/providers/flows.ts'
import type { ProviderLogin } from '../../login/providers/open.ts'
import type { Arrival, Visitor } from '../../login/providers/sign-ins.ts'
import { ProviderRefusal } from '../../provider/refusal.ts'
import { LOGIN_TYPES, type LoginType } from '../../session/sides.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import { createFlowCookie, type FlowCookie } from '../../token/cookie.ts'
import type { Sides } from '../server/authenticate.ts'
import type { Envelopes } from '../server/envelope.ts'
import type { Text } from '../server/failure-texts.ts'
import { noteRefusal, showRefusal } from './short-page.ts'
import { sessionOfCookie } from './sign-in.ts'

/* The sign-in by OpenID providers, as browsers and providers find it below `/sign-in/`. */

export interface ProviderPagesOptions {
  settings: Pick<Settings, 'browser' | 'locale'>
  sides: Sides
  credentials: CredentialRules
  envelopes: Envelopes
  /** `null` for a side without OpenID providers. */
  providerLogins: Readonly<Record<LoginType, ProviderLogin | null>>
}

interface Parts extends Omit<ProviderPagesOptions, 'providerLogins'> {
  type: LoginType
  login: ProviderLogin
  cookie: FlowCookie
}

/** An address of the application, encoded as it stands in the address of the sign-in page: that has its limit, too (`gate/path.ts`). */
const MAX_TO = 6144
const SIGN_IN: Text = ['Sign in', '登录']
const NO_STORE = { 'cache-control': 'no-store' }

export function serveProviders(app: FastifyInstance, { providerLogins, ...options }: ProviderPagesOptions): void {
  const cookie = createFlowCookie(options.settings.browser)
  for (const type of LOGIN_TYPES) {
    const login = providerLogins[type]
    if (login !== null) serveSide(app, { ...options, type, login, cookie })
  }
}

function serveSide(app: FastifyInstance, parts: Parts): void {
  const { type, login } = parts
  for (const { name } of login.settings) {
    const paths = providerPaths(type, name)
    app.post(paths.start, { config: { takesForm: true } }, start(name, parts))
    app.get(paths.callback, { exposeHeadRoute: false }, callback(name, parts))
    app.post(paths.logout, { config: { takesForm: true } }, logout(name, parts))
  }
  app.post(stepPath(type), tellStep(parts))
}

function visitorOf({ ip, id, raw }: FastifyRequest, cookie: FlowCookie): Visitor {
  return {
    cookie: cookie.read(raw.headers.cookie),
    address: ip ?? '',
    userAgent: raw.headers['user-agent'] ?? '',
    trace_id: id,
  }
}

/** A page of another origin is refused: it would sign its visitor in to an account of its own choice. */
function refuseCrossOrigin(request: FastifyRequest, { credentials: { origins } }: Parts): void {
  if (isCrossOrigin(request.raw.headers, request, origins)) throw new Refusal('CROSS_ORIGIN')
}

const start =
  (name: string, parts: Parts) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    refuseCrossOrigin(request, parts)
    const { login, cookie } = parts
    const to = wantedIn(formOf(request))
    try {
      const begun = await login.start(name, to, visitorOf(request, cookie))
      const kept = cookie.set(begun.cookie, FLOW_COOKIE_SECONDS)
      return reply
        .code(303)
        .headers({ ...NO_STORE, location: begun.location, 'set-cookie': kept })
        .send()
    } catch (fault) {
      return showRefusal(fault, request, reply, wayBack(parts, to))
    }
  }

/** Where the user wants to go: without the fragment of an address that is too long, and empty for one that is too long without it. */
function wantedIn(form: URLSearchParams): string {
  const to = form.get('to') ?? ''
  return [to, to.replace(/#.*$/s, '')].find(one => encodedLength(one) <= MAX_TO) ?? ''
}

const encodedLength = (to: string): number => new URLSearchParams({ to }).toString().length - 'to='.length

/** Every way leads to the sign-in page: it looks for the session that the browser has, and goes on with it or says what to do. */
const callback =
  (name: string, parts: Parts) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    try {
      return await leadBack(name, request, reply, parts)
    } catch (fault) {
      return showRefusal(fault, request, reply, wayBack(parts, null))
    }
  }

async function leadBack(
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: Parts,
): Promise<FastifyReply> {
  const { type, login, cookie, credentials } = parts
  const arrival = await login.arrive(name, new URLSearchParams(request.target.query), visitorOf(request, cookie))
  if ('refusal' in arrival) {
    const { refusal, to } = arrival
    if (!isOfSignIn(refusal) && (to === null || !(await hasSession(request, parts))))
      return showRefusal(refusal, request, reply, wayBack(parts, to))
    noteRefusal(refusal, request)
  }
  if ('signedIn' in arrival) {
    const { token, expires_in } = arrival.signedIn
    reply.header('set-cookie', credentials.cookies!.set(type, token, expires_in))
  }
  return reply
    .code(303)
    .headers({ ...NO_STORE, location: pageAt(type, arrival.to, resultOf(arrival)) })
    .send()
}

/** Whether the browser is signed in, as far as that is known. */
const hasSession = async (request: FastifyRequest, { type, sides, credentials }: Parts): Promise<boolean> =>
  (await sessionOfCookie(type, request, sides, credentials).catch(noneIfRefused)) !== null

/** The sign-in page, with where its user wants to go; both may be empty. */
function pageAt(type: LoginType, to: string | null, result: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...(to !== null && to !== '' && { to }), ...result })
  return query.size === 0 ? signInPaths(type).page : `${signInPaths(type).page}?${query}`
}

/** Refusals that say something about the sign-in or its account; the others say something about the gateway. */
const OF_SIGN_IN: ReadonlySet<string> = new Set([
  'PROVIDER_REFUSED',
  'ACCOUNT_LOCKED',
  'ACCOUNT_INACTIVE',
  'DISABLED',
  'FACTOR_REQUIRED',
  'WRONG_CREDENTIALS',
])
const isOfSignIn = ({ reason }: Refusal): boolean => OF_SIGN_IN.has(reason)

function resultOf(arrival: Arrival): Record<string, string> {
  if ('signedIn' in arrival) return { arrived: '1' }
  if ('step' in arrival) return { step: arrival.step }
  const { reason, refusal } = arrival
  return { failed: reason ?? refusal.reason.toLowerCase().replaceAll('_', '-') }
}

const wayBack = ({ type, settings: { locale } }: Parts, to: string | null) =>
  ({ title: SIGN_IN, link: SIGN_IN, href: pageAt(type, to), locale }) as const

/** The step of a sign-in for the page of the browser in which it began: what a login answers with `STEP_REQUIRED`. */
const tellStep = (parts: Parts) => async (request: FastifyRequest, reply: FastifyReply) => {
  refuseCrossOrigin(request, parts)
  reply.headers(NO_STORE)
  const name = new URLSearchParams(request.target.query).get('step') ?? ''
  const step = await parts.login.takeStep(parts.cookie.read(request.raw.headers.cookie), name)
  if (step === null) throw new Refusal('TICKET_INVALID', { data: { required: 'login' } })
  return parts.envelopes.success(request.id, step)
}

/** OpenID Connect Back-Channel Logout 1.0, 2.5 to 2.8. */
const logout =
  (name: string, { login }: Parts) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    reply.headers(NO_STORE)
    const tokens = formOf(request).getAll('logout_token')
    try {
      if (tokens.length !== 1) throw new ProviderRefusal('logout-form')
      await login.logout(name, tokens[0]!)
      return reply.code(200).send()
    } catch (fault) {
      if (!(fault instanceof ProviderRefusal)) throw fault
      const { fault: reason, detail } = fault
      request.log.warn({ provider: name, because: reason, ...(detail !== undefined && { said: detail }) }, 'logout')
      request.refused = 'PROVIDER_REFUSED'
      return reply.code(400).send({ error: 'invalid_request' })
    }
  }

const formOf = ({ body }: FastifyRequest): URLSearchParams => new URLSearchParams(typeof body === 'string' ? body : '')
