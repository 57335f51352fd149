import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Permissions } from '../../account/permissions.ts'
import { IDENTITY_SPELLINGS, OVERRIDING_SPELLINGS } from '../../base/header-names.ts'
import { Refusal } from '../../base/refusal.ts'
import { type Credential, type CredentialRules, cookiesOf, keyOf } from '../../gate/credential.ts'
import { decide, type Judged, judge } from '../../gate/decide.ts'
import type { GateSides } from '../../gate/live-session.ts'
import { shownTo, signInAt, signInFor } from '../../gate/navigation.ts'
import type { PathRules, Verdict } from '../../gate/rules.ts'
import type { Session } from '../../side/side.ts'
import { readBearer } from '../../token/bearer.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import { METHODS, refuseDoubled } from '../server/ambiguous-request.ts'
import { renewCookie } from '../server/authenticate.ts'
import { createErrorHandler, type Envelopes } from '../server/envelope.ts'
import { type Original, originalBehind, originalFromHeaders, refuseForged } from '../server/original-request.ts'
import { createProxiedClient, type ProxiedClient } from '../server/proxied-client.ts'
import { tokensIn } from '../server/upgrade.ts'
import { ENDED, PROBE } from './common-fields.ts'
import type { PlainAnswer, PlainContract } from './contract.ts'

export interface VerifyOptions {
  rules: PathRules
  gateSides: GateSides<Session>
  credentials: CredentialRules
  upstreams: UpstreamTable
  permissions: Permissions
  envelopes: Envelopes
  /** The proxies whose `X-Forwarded-For` names the client. */
  trustedProxies: readonly string[]
}

const refusal = (status: number, description: string, code: number, message: string): PlainAnswer => ({
  status,
  description,
  type: 'application/json',
  schema: 'Refusal',
  example: { code, message, data: null, success: false, trace_id: '0af7651916cd43dd8448eb211c80319c' },
})

const VERIFY: PlainContract = {
  summary: 'The decision of the gate, for proxies that forward themselves',
  details:
    'The original request is named by X-Original-URI and X-Original-Method, by X-Forwarded-Uri and X-Forwarded-Method, ' +
    'or by its path behind /verify. Requests with identity headers of their own, or with headers that override path or method, such as X-Original-URL, are ' +
    'refused with 403, in any spelling.',
  plain: [
    {
      status: 200,
      description:
        'The request passes. X-Login-Id and X-Login-Type name the user of the session; they are empty where no session is needed.',
      type: 'text/plain',
      schema: { type: 'string' },
      example: '',
    },
    refusal(
      401,
      `A session is missing. ${ENDED} X-Sign-In says where a person finds the sign-in; /verify-redirect answers 302 with it as Location.`,
      401,
      'Not logged in',
    ),
    refusal(403, 'Refused with any session; `code` is the answer of the gateway itself.', 404, 'Not found'),
    refusal(
      429,
      'Refused until Retry-After: the client has sent too many requests.',
      429,
      'Too many requests, try again later',
    ),
    refusal(503, 'The store does not answer, or the upstream is under maintenance.', 503, 'Service unavailable'),
  ],
}

const PATH = '/verify'
/** The same, for proxies that can pass an answer on but not make one of a header. */
const REDIRECTING_PATH = '/verify-redirect'

/**
 * `/verify` (design: Internal listener): the gate's decision for proxies that forward themselves. 200 with the identity
 * headers lets a request pass. 401: a session is missing. 403: refused with every session. 429: its client has to wait. 503: the
 * store fails, or the upstream is out of service. Envoy puts the original path behind ours; the others name it in headers.
 */
export function serveVerify(app: FastifyInstance, options: VerifyOptions): void {
  void app.register(async scope => {
    scope.removeAllContentTypeParsers()
    // A body is irrelevant here and is not read.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.setErrorHandler(createErrorHandler(options.envelopes, { shown: shownToProxies }))
    const clientOf = createProxiedClient(options.trustedProxies)
    for (const [path, redirects] of [
      [PATH, false],
      [REDIRECTING_PATH, true],
    ] as const) {
      const deciding = { ...options, clientOf, redirects }
      // Some proxies ask with the method of the original request.
      scope.route({
        method: [...METHODS],
        url: path,
        ...(!redirects && { config: { documented: { ...PROBE, ...VERIFY } } }),
        handler: answer(deciding, originalFromHeaders),
      })
      scope.route({ method: [...METHODS], url: `${path}/*`, handler: answer(deciding, originalBehind(path)) })
    }
  })
}

interface Deciding extends VerifyOptions {
  clientOf: ReturnType<typeof createProxiedClient>
  /** Whether a person without a session is answered with the way to the sign-in, and not with 401. */
  redirects: boolean
}

const answer =
  (options: Deciding, originalOf: (request: FastifyRequest) => Original) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    refuseForged(request.raw.rawHeaders)
    const original = originalOf(request)
    refuseDoubled(request.raw.rawHeaders, options.credentials.tokenHeader)
    const judged = judge(original.target, original.method, options.rules)
    try {
      const session = await admit(request, original, judged, options)
      // Without a token in its header, the request has proven it by a cookie.
      if (readBearer(request.headers[options.credentials.tokenHeader]) === null)
        renewCookie(session, reply, options.credentials)
      return await reply
        .headers(session === null ? ANONYMOUS : identityOf(session))
        .header('cache-control', 'no-store')
        .send()
    } catch (fault) {
      const signIn = signInFrom(fault, request, original, judged, options.credentials)
      if (signIn === null) throw fault
      if (!options.redirects) {
        reply.header('x-sign-in', signIn)
        throw fault
      }
      return reply.code(302).headers({ location: signIn, 'cache-control': 'no-store' }).send()
    }
  }

/** Where a person finds the sign-in who wants a page and has no session; `null` for programs, and for a side without a sign-in page. */
function signInFrom(
  fault: unknown,
  { headers }: FastifyRequest,
  { method }: Original,
  { target, verdict }: Judged,
  { cookies }: CredentialRules,
): string | null {
  if (cookies === null || verdict === null || !(fault instanceof Refusal) || fault.reason !== 'NOT_LOGGED_IN')
    return null
  const page = signInFor(verdict, cookies.sides)
  if (page === null || shownTo(headers, method) !== 'navigation') return null
  return signInAt(page, target.path + target.query)
}

/**
 * Envoy shows only the headers that it is configured to show, and removes those that are named here, after it has set those
 * of the answer: so what the answer sets must not be among them.
 */
const TO_REMOVE = 'x-envoy-auth-headers-to-remove'

/** What is removed: all but what an answer sets. */
const allBut = (...set: string[]): string =>
  [...IDENTITY_SPELLINGS.filter(name => !set.includes(name)), ...OVERRIDING_SPELLINGS].join()

/** Without a session all are there and empty: a proxy that copies an absent one may leave what its configuration says instead. */
const ANONYMOUS = {
  'x-login-id': '',
  'x-login-type': '',
  'x-login-key': '',
  [TO_REMOVE]: allBut(),
}

const TO_REMOVE_OF_TOKEN = allBut('x-login-id', 'x-login-type')
const TO_REMOVE_OF_KEY = allBut('x-login-id', 'x-login-type', 'x-login-key')

const identityOf = ({ record, key }: Session) => ({
  'x-login-id': record.user_id,
  'x-login-type': record.type,
  'x-login-key': key?.id ?? '',
  [TO_REMOVE]: key === undefined ? TO_REMOVE_OF_TOKEN : TO_REMOVE_OF_KEY,
})

/** Decides as the public listener does. */
function admit(
  request: FastifyRequest,
  original: Original,
  { target: { path }, verdict }: Judged,
  { rules, gateSides: sides, credentials, upstreams, permissions, clientOf }: Deciding,
): Session | null | Promise<Session | null> {
  const client = clientOf(request.raw)
  const { address, network } = client
  const upstream = upstreams.find(path, rules)
  const isOtherSpelling = upstream === 'other-spelling'
  const gated = {
    path,
    verdict,
    upstream: isOtherSpelling ? null : upstream,
    address,
    network,
    credential:
      keyOf(request, credentials, client) ??
      readBearer(request.headers[credentials.tokenHeader]) ??
      proxiedCookies(request, original, verdict, client, credentials),
    // Without an upstream a request passes here: the proxy has its own.
    onAdmitted: () => {
      if (isOtherSpelling) throw new Refusal('NOT_FOUND')
    },
  }
  return decide(gated, { rules, sides, permissions })
}

/** The cookies of the original request. A proxy shows the handshake of a WebSocket by its key, if at all. */
function proxiedCookies(
  { headers }: FastifyRequest,
  { method, target }: Original,
  verdict: Verdict | null,
  { own }: ProxiedClient,
  credentials: CredentialRules,
): Credential | null {
  const handshakeTokens = headers['sec-websocket-key'] === undefined ? null : tokensIn(target)
  return (
    verdict && cookiesOf({ headers, method, handshakeTokens, own, isOfPage: verdict.page !== undefined }, credentials)
  )
}

/** Proxies know few answers: what is neither a missing session, nor too early, nor a failure of ours is 403 to them. */
const shownToProxies = (status: number): number => (status === 401 || status === 429 || status >= 500 ? status : 403)
