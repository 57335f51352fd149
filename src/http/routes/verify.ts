import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Permissions } from '../../account/permissions.ts'
import {
  IDENTITY_SPELLINGS,
  isIdentity,
  isOverriding,
  isUnusualSpelling,
  OVERRIDING_SPELLINGS,
} from '../../base/header-names.ts'
import { Refusal } from '../../base/refusal.ts'
import { type Credential, type CredentialRules, cookiesOf } from '../../gate/credential.ts'
import { decide, judge } from '../../gate/decide.ts'
import type { PathRules, Verdict } from '../../gate/rules.ts'
import { networkOf } from '../../login/protection/network.ts'
import type { Session } from '../../side/side.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import { METHODS, refuseDoubled } from '../server/ambiguous.ts'
import type { Sides } from '../server/authenticate.ts'
import { createErrorHandler, type Envelopes } from '../server/envelope.ts'
import { createProxiedClient, type ProxiedClient } from '../server/proxied-client.ts'
import { ENDED, type PlainAnswer, type PlainContract, PROBE } from './contract.ts'

export interface VerifyOptions {
  rules: PathRules
  sides: Sides
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
    refusal(401, `A session is missing. ${ENDED}`, 401, 'Not logged in'),
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

/** A request as the proxy that asks has received it. */
interface Original {
  method: string
  target: string
}

const PATH = '/verify'

/** How proxies tell the original request: nginx as its configuration says, Traefik and Caddy by themselves. */
const CONVENTIONS = [
  { target: 'x-original-uri', method: 'x-original-method' },
  { target: 'x-forwarded-uri', method: 'x-forwarded-method' },
] as const

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
    const byHeaders = answer({ ...options, clientOf }, originalFromHeaders)
    // Some proxies ask with the method of the original request.
    scope.route({
      method: [...METHODS],
      url: PATH,
      config: { documented: { ...PROBE, ...VERIFY } },
      handler: byHeaders,
    })
    scope.route({ method: [...METHODS], url: `${PATH}/*`, handler: answer({ ...options, clientOf }, originalFromPath) })
  })
}

interface Deciding extends VerifyOptions {
  clientOf: ReturnType<typeof createProxiedClient>
}

const answer =
  (options: Deciding, originalOf: (request: FastifyRequest) => Original) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    refuseForged(request.raw.rawHeaders)
    const session = await admit(request, originalOf(request), options)
    return reply
      .headers(session === null ? ANONYMOUS : identityOf(session))
      .header('cache-control', 'no-store')
      .send()
  }

/**
 * Envoy shows only the headers that it is configured to show, and removes those that are named here, after it has set those
 * of the answer: so what the answer sets must not be among them.
 */
const TO_REMOVE = 'x-envoy-auth-headers-to-remove'

/** Without a session both are there and empty: a proxy that copies an absent one may leave what its configuration says instead. */
const ANONYMOUS = {
  'x-login-id': '',
  'x-login-type': '',
  [TO_REMOVE]: [...IDENTITY_SPELLINGS, ...OVERRIDING_SPELLINGS].join(),
}

const OTHER_SPELLINGS = [
  ...IDENTITY_SPELLINGS.filter(name => name !== 'x-login-id' && name !== 'x-login-type'),
  ...OVERRIDING_SPELLINGS,
].join()

const identityOf = ({ record }: Session) => ({
  'x-login-id': record.user_id,
  'x-login-type': record.type,
  [TO_REMOVE]: OTHER_SPELLINGS,
})

/**
 * Refuses what a backend could take for our identity headers, and what could make it serve another path or method than the one
 * that is judged, in every spelling: the proxy forwards the headers of the client and adds ours, so a spelling that it does
 * not replace would arrive beside them. It removes the plain ones before it asks.
 */
function refuseForged(rawHeaders: readonly string[]): void {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (isIdentity(name)) throw forged('identity headers, which the proxy has to remove first')
    if (isOverriding(name)) throw forged('a header that overrides path or method, which the proxy has to remove first')
    if (isUnusualSpelling(name)) throw forged('a header of proxies in another spelling')
  }
}

const forged = (fault: string): Refusal => new Refusal('BAD_REQUEST', { params: { fault } })

/** Decides as the public listener does. */
function admit(
  request: FastifyRequest,
  original: Original,
  { rules, sides, credentials, upstreams, permissions, clientOf }: Deciding,
): Session | null | Promise<Session | null> {
  refuseDoubled(request.raw.rawHeaders, credentials.tokenHeader)
  const {
    target: { path },
    verdict,
  } = judge(original.target, original.method, rules)
  const client = clientOf(request.raw)
  const { address } = client
  const gated = {
    path,
    verdict,
    upstream: upstreams.find(path, rules),
    address,
    network: address === null ? null : networkOf(address),
    credential:
      sides.BUSINESS.getTokenValue(request) ?? proxiedCookies(request, original, verdict, client, credentials),
    onAdmitted: () => undefined,
  }
  return decide(gated, { rules, sides, permissions })
}

/** The cookies of the original request. A proxy shows the handshake of a WebSocket by its key, if at all. */
function proxiedCookies(
  { headers }: FastifyRequest,
  { method }: Original,
  verdict: Verdict | null,
  { own }: ProxiedClient,
  credentials: CredentialRules,
): Credential | null {
  const handshakeTokens = headers['sec-websocket-key'] === undefined ? null : []
  return verdict && cookiesOf({ headers, method, handshakeTokens, own }, verdict, credentials)
}

const originalFromPath = ({ raw }: FastifyRequest): Original => ({
  method: raw.method ?? '',
  target: (raw.url ?? '').slice(PATH.length),
})

/**
 * The headers of one convention, target and method both. A proxy replaces what a client sent in those that it sets itself,
 * and passes the others on: with the headers of two conventions, or with half of one, a client may have chosen.
 */
function originalFromHeaders({ headers }: FastifyRequest): Original {
  const told = CONVENTIONS.filter(
    ({ target, method }) => headers[target] !== undefined || headers[method] !== undefined,
  )
  const [convention] = told
  if (told.length !== 1 || convention === undefined) throw misconfigured()
  const [target, method] = [headers[convention.target], headers[convention.method]]
  if (typeof target !== 'string' || typeof method !== 'string' || !METHODS.has(method)) throw misconfigured()
  return { method, target }
}

const misconfigured = (): Refusal =>
  new Refusal('BAD_REQUEST', {
    params: {
      fault: 'the proxy has to name path and method, in X-Original-URI and -Method or X-Forwarded-Uri and -Method',
    },
  })

/** Proxies know few answers: what is neither a missing session, nor too early, nor a failure of ours is 403 to them. */
const shownToProxies = (status: number): number => (status === 401 || status === 429 || status >= 500 ? status : 403)
