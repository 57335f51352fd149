import { notPermitted, Refusal } from '../base/refusal.ts'
import { notLoggedIn } from '../session/end-reason.ts'
import type { SessionRecord } from '../session/record.ts'
import type { AccessRule } from './address-rules.ts'
import type { Credential } from './credential.ts'
import { type GatedKey, isInReach } from './key-credential.ts'
import { admit, findOptional, type GatedSession, type GateSides } from './live-session.ts'
import type { Maintenance } from './maintenance.ts'
import { type CanonicalPath, readTarget, type Target } from './path.ts'
import type { RateLimit } from './rate-limit.ts'
import { type PathRules, type Verdict, verdictOf } from './rules.ts'

/*
 * The decision about a request: `judge` by its target and method alone, then `decide` by everything else that is known before
 * its body. The public listener, `/verify` and `dualgate explain` run these two functions.
 */

export interface Judged {
  target: Target
  /** `null` where no rule applies: the request is refused with `NOT_FOUND`. */
  verdict: Verdict | null
}

/** Decides by target and method alone. Throws the refusal `URI_TOO_LONG` or `BAD_PATH` for an ambiguous target. */
export function judge(target: string, method: string, rules: PathRules): Judged {
  const read = readTarget(target)
  return { target: read, verdict: verdictOf(read.path, method, rules) }
}

/** The rule about client addresses that decides about a path; `null` for none. */
export const accessRuleOf = (path: CanonicalPath, { access }: Pick<PathRules, 'access'>): AccessRule | null =>
  access.find(rule => rule.covers(path)) ?? null

/** Permission codes, and whether all of them or any one is required. */
export interface RequiredPermission {
  readonly codes: readonly string[]
  readonly mode: 'all' | 'any'
}

/** Throws or rejects with the refusal `NOT_PERMITTED` when a session lacks what is required. */
export interface PermissionCheck {
  require(record: SessionRecord, required: RequiredPermission): Promise<void> | undefined
}

/** What the gate reads of an upstream. */
export interface GatedUpstream {
  readonly permission: RequiredPermission | null
  /** `null` while it is in service. */
  readonly maintenance: Maintenance | null
  readonly rateLimit: Pick<RateLimit, 'take'> | null
  /** Whether it gets the identity of a live session where none is needed. */
  readonly findsOptional: boolean
}

/** A request that was judged. Its properties are read only where a step needs them. */
export interface GatedRequest<S extends GatedSession> {
  readonly path: CanonicalPath
  readonly verdict: Verdict | null
  /** Where it is forwarded to; `null` where no upstream matches, and for what the gateway answers itself. */
  readonly upstream: GatedUpstream | null
  /** Address and network of its client; `null` where they are not known. */
  readonly address: string | null
  readonly network: string | null
  /** What proves its session; `null` for nothing. */
  readonly credential: Credential | null
  /** Receives the session with which the request passed, before the limits and permissions of its upstream are applied. */
  onAdmitted(session: S | null): void
}

export interface Gate<S extends GatedSession> {
  rules: Pick<PathRules, 'access'>
  sides: GateSides<S>
  permissions: PermissionCheck
}

/**
 * The session with which a request passes, `null` where it needs none. Throws or rejects with the refusal. The order of the
 * steps is a security property: address, maintenance, session and limits of a key, then rate limit and permission of the
 * upstream. Where the store and the rights are known at once there is no promise, so that it costs no turn of the event loop.
 */
export function decide<S extends GatedSession>(request: GatedRequest<S>, gate: Gate<S>): S | null | Promise<S | null> {
  allowAddress(request, gate.rules)
  serveOrRefuse(request)
  const session = sessionOf(request, gate.sides)
  if (session instanceof Promise) return session.then(found => allow(request, found, gate))
  return allow(request, session, gate)
}

/** Refuses clients whose address may not call a path. One that is not known is refused where a rule decides. */
function allowAddress<S extends GatedSession>(request: GatedRequest<S>, rules: Gate<S>['rules']): void {
  // Most configurations have no rule: then the address is not read.
  if (rules.access.length === 0) return
  if (accessRuleOf(request.path, rules)?.admits(request.address) === false) throw new Refusal('ADDRESS_NOT_ALLOWED')
}

/** Refuses requests to an upstream under maintenance: nothing is read from the store. */
function serveOrRefuse<S extends GatedSession>(request: GatedRequest<S>): void {
  const maintenance = request.upstream?.maintenance ?? null
  if (maintenance === null) return
  const { address } = request
  if (address === null || !maintenance.admits(address)) {
    throw new Refusal('MAINTENANCE', { retryAfter: maintenance.retryAfter })
  }
}

function sessionOf<S extends GatedSession>(
  request: GatedRequest<S>,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  const { verdict, upstream } = request
  if (verdict === null) throw new Refusal('NOT_FOUND')
  if (isOptional(verdict, upstream)) {
    const found = findOptional(verdict, request.credential, sides)
    return found instanceof Promise
      ? found.then(session => unlessOutOfReach(session, request))
      : unlessOutOfReach(found, request)
  }
  // If no session is needed, the credential is not read.
  return verdict.need === 'none' ? null : admit(verdict, request.credential, sides)
}

/** Where no session is needed, a key outside of its limits counts as none. */
const unlessOutOfReach = <S extends GatedSession>(session: S | null, request: GatedRequest<S>): S | null =>
  session?.key !== undefined && !isInReach(session.key, request) ? null : session

/**
 * Whether a live session is found where none is needed: `identity.optional` of the upstream. Not for a request that passes only
 * because of its method.
 */
export const isOptional = (verdict: Verdict, upstream: Pick<GatedUpstream, 'findsOptional'> | null): boolean =>
  verdict.need === 'none' && upstream?.findsOptional === true && verdict.rule.carries === 'everything'

function allow<S extends GatedSession>(
  request: GatedRequest<S>,
  session: S | null,
  { permissions }: Gate<S>,
): S | null | Promise<S | null> {
  request.onAdmitted(session)
  if (session?.key !== undefined && !isInReach(session.key, request)) throw new Refusal('KEY_NOT_ALLOWED')
  const { upstream } = request
  if (upstream === null) return session
  upstream.rateLimit?.take({ session, network: request.network })
  const permitted = permit(upstream.permission, session, permissions)
  return permitted === undefined ? session : permitted.then(() => session)
}

/**
 * Refuses sessions without the permission that an upstream requires. Without a session nothing is permitted, whatever the rule
 * of the path needs. Returns a promise only where the rights have to be read first.
 */
function permit(
  required: RequiredPermission | null,
  session: GatedSession | null,
  permissions: PermissionCheck,
): Promise<void> | undefined {
  if (required === null) return undefined
  if (session === null) throw notLoggedIn()
  if (session.key === undefined) return permissions.require(session.record, required)
  return permissions.require(session.key.holder, includedBy(session.key, required))
}

/** What is required of the owner of a key, where the key includes it. Throws the refusal `NOT_PERMITTED` where it does not. */
function includedBy(key: GatedKey, { codes, mode }: RequiredPermission): RequiredPermission {
  const included = codes.filter(code => key.includes(code))
  const isEnough = mode === 'all' ? included.length === codes.length : included.length > 0
  if (!isEnough) throw notPermitted(codes.filter(code => !included.includes(code)))
  return { codes: included, mode }
}
