import { type Clock, systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { RequiredPermission } from '../gate/decide.ts'
import { createMaintenance, type Maintenance } from '../gate/maintenance.ts'
import { type CanonicalPath, checkRewritten } from '../gate/path.ts'
import { RateLimit } from '../gate/rate-limit.ts'
import type { LoginType } from '../session/sides.ts'
import type { PassAuthorization, UpstreamSettings, WebSocketSettings } from '../settings/schema/upstreams.ts'
import { targetsOf, type WeightedTarget } from '../settings/targets.ts'
import { readUpstreamTls } from '../settings/tls.ts'
import type { AssertionSigner } from '../token/assertion.ts'
import { type Assertions, createAssertions } from './assertions.ts'
import { createBalance } from './balance/create.ts'
import { createKey, type KeyOf } from './balance/hash-key.ts'
import { createEdits, type HeaderEdits } from './headers/header-edits.ts'
import { createIdentity, type Identity, namedHeaders } from './headers/identity.ts'
import { HealthChecks } from './health-checks.ts'
import { healthLog } from './health-log.ts'
import { type LookUp, systemLookUp } from './look-ups.ts'
import { TargetGroup } from './target-group.ts'
import { HttpTarget } from './targets.ts'

/** The target that is no server: the gateway answers with what a backend would have received. */
export const ECHO_URL = 'builtin:echo'

/** A group of equal servers that one part of the paths is forwarded to. */
export interface Upstream {
  readonly name: string
  readonly match: string
  /** The targets as they are configured. */
  readonly urls: readonly string[]
  /** The servers; none for `builtin:echo`. */
  readonly targets: readonly HttpTarget[]
  /** How long a response's head may take, and the idle limit of its body, in milliseconds. */
  readonly response: number
  readonly idle: number
  /** Whether `Host` is the client's or the target's. */
  readonly host: 'preserve' | 'target'
  readonly passAuthorization: PassAuthorization
  /** Whether its requests name the gateway in `Via`. */
  readonly via: boolean
  /** Whether its answers say themselves which pages of other origins may read them. */
  readonly passCors: boolean
  /** The largest request body, in bytes; `Infinity` for no limit. */
  readonly bodyLimit: number
  /** How often an idempotent request without a body is sent again. */
  readonly retries: number
  /** How WebSockets are forwarded; `null` for not at all. */
  readonly webSocket: WebSocketSettings | null
  /** Whether responses under way are cut when their session ends. */
  readonly endWithSession: boolean
  /** Additional headers about the client beside id and type; `null` for none. */
  readonly identity: Identity | null
  /** Signed JWTs about the client; `null` for none. */
  readonly assertions: Assertions | null
  /** Whether it gets the identity of a live session where none is needed. */
  readonly findsOptional: boolean
  /** The side whose users it signs in itself; `null` for none. */
  readonly signsIn: LoginType | null
  /** What the settings change in the headers of requests and responses; `null` for nothing. */
  readonly requestEdits: HeaderEdits | null
  readonly responseEdits: HeaderEdits | null
  /** While it is out of service; `null` while it is in service. */
  readonly maintenance: Maintenance | null
  /** How many requests each client may send; `null` for no limit. */
  readonly rateLimit: RateLimit | null
  /** What a session must be permitted; `null` for nothing. */
  readonly permission: RequiredPermission | null
  /**
   * The path that the upstream gets for one below `match`. Throws the refusal `URI_TOO_LONG` or `BAD_PATH` where the rewritten
   * path is ambiguous.
   */
  pathFor(path: CanonicalPath): CanonicalPath
  /** The key of a request that `next` and `another` choose by; `null` where they need none. */
  readonly keyOf: KeyOf | null
  /** The target of the next request; `null` for `builtin:echo`. */
  next(key: string | null): HttpTarget | null
  /** The one to try when these came to nothing; `null` when all did. */
  another(tried: readonly HttpTarget[], key: string | null): HttpTarget | null
  /** Whether a request that may take long leaves enough connections to others, whichever target it goes to. */
  admitsSlow(client: string): boolean
  /** Begins to look names up and to check the targets, where that is configured; resolves when names are known. */
  start(): Promise<void>
  close(): void
}

export interface UpstreamCircumstances {
  clock?: Clock
  /** Where changes in how targets stand are written, one line each. */
  log?: Pick<Logger, 'info' | 'warn'>
  /** Whether the gateway decides which pages of other origins may read answers. */
  ownsCors?: boolean
  /** Signs the assertions of upstreams that get any. */
  signer?: AssertionSigner | null
  /** How many processes share the rate limits; 1 when it is not given. */
  workers?: number
  /** Looks names up; the system when it is not given. */
  lookUp?: LookUp
}

/** Throws on settings without a target. */
export function createUpstream(settings: UpstreamSettings, circumstances: UpstreamCircumstances): Upstream {
  const { clock = systemClock, ownsCors = false, workers = 1 } = circumstances
  const { name, match, rewrite, host, timeouts } = settings
  const configured = targetsOf(settings)
  if (!configured.some(({ weight }) => weight > 0)) throw new Error(`upstream ${name} has no target`)
  const group = openGroup(settings, configured, circumstances)

  return {
    name,
    match,
    urls: configured.map(({ url }) => url),
    // Not an accessor: V8 keeps an object with one in a form that takes several times as long to read.
    targets: group.targets,
    response: timeouts.response,
    idle: timeouts.idle,
    host,
    passAuthorization: settings.pass_authorization,
    via: settings.via,
    passCors: !ownsCors,
    bodyLimit: settings.body_limit ?? Number.POSITIVE_INFINITY,
    retries: settings.retries,
    webSocket: settings.websocket === 'off' ? null : settings.websocket,
    endWithSession: settings.end_with_session,
    identity: createIdentity(settings.identity, clock),
    assertions: openAssertions(settings, circumstances),
    findsOptional: settings.identity.optional,
    signsIn: settings.signs_in === 'consumer' ? 'CONSUMER' : null,
    requestEdits: createEdits(settings.request_headers, namedHeaders(settings.identity)),
    responseEdits: createEdits(settings.response_headers),
    maintenance: settings.maintenance === 'off' ? null : createMaintenance(settings.maintenance),
    rateLimit: settings.rate_limit === 'off' ? null : new RateLimit(settings.rate_limit, workers, clock),
    permission: requiredPermission(settings.permission),
    pathFor: rewrite === undefined || rewrite === match ? path => path : createRewrite(match, rewrite),
    keyOf: typeof settings.balance === 'string' ? null : createKey(settings.balance.hash),
    next: key => (group.targets.length === 0 ? null : group.balance.next(key)),
    another: (tried, key) => group.balance.another(tried, key),
    admitsSlow: client => group.targets.every(target => target.admitsSlow(client)),
    start: () => group.start(),
    close: () => group.close(),
  }
}

/** Replaces the beginning of a path, and checks the result: the gate has not seen it. */
function createRewrite(match: string, rewrite: string): Upstream['pathFor'] {
  const base = rewrite.endsWith('/') ? rewrite.slice(0, -1) : rewrite
  const replaced = match === '/' ? 0 : match.length
  return path => checkRewritten(base + path.slice(replaced) || '/')
}

function openAssertions(
  { name, identity: { assertion } }: UpstreamSettings,
  { signer, clock = systemClock }: UpstreamCircumstances,
): Assertions | null {
  if (assertion === 'off') return null
  return createAssertions(assertion, assertion.audience ?? name, signer ?? NO_SIGNER, clock)
}

/** Of a table that only explains: no request of it is sent. */
const NO_SIGNER: AssertionSigner = {
  keys: { keys: [] },
  sign: () => Promise.reject(new Error('there is no key that signs assertions')),
}

function openGroup(
  settings: UpstreamSettings,
  configured: readonly WeightedTarget[],
  { clock = systemClock, log, lookUp = systemLookUp }: UpstreamCircumstances,
): TargetGroup {
  const { name, timeouts, connections, ejection, health } = settings
  const tls = settings.tls === undefined ? {} : readUpstreamTls(settings.tls)
  const report = healthLog(name, log)
  const options = { timeouts, connections, ejection: ejection === 'off' ? null : ejection, tls, clock, report }
  return new TargetGroup({
    name,
    servers: configured.filter(({ url }) => url !== ECHO_URL),
    resolve: settings.resolve === 'off' ? null : settings.resolve,
    lookUp,
    patience: timeouts.connect,
    open: ({ url, weight }, ip) => new HttpTarget(url, options, weight, ip),
    check: target => (health === undefined ? null : new HealthChecks(target, health, tls)),
    balance: targets => createBalance(targets, settings.balance, clock),
    log,
  })
}

function requiredPermission(written: UpstreamSettings['permission']): RequiredPermission | null {
  if (written === undefined) return null
  if (typeof written === 'string') return { codes: [written], mode: 'all' }
  return Array.isArray(written) ? { codes: written, mode: 'all' } : { codes: written.any, mode: 'any' }
}
