import { Refusal } from '../base/refusal.ts'
import { type EndReason, type LoginType, notLoggedIn, type SessionRecord } from '../session.ts'
import type { Token } from '../token/bearer.ts'
import type { AccessRule } from './access.ts'
import type { Maintenance } from './maintenance.ts'
import { type CanonicalPath, readTarget, type Target } from './path.ts'
import type { Counted, RateLimit } from './rate-limit.ts'
import { type PathRules, type Verdict, verdictOf } from './rules.ts'

/*
 * The decision about a request, in six steps: `judge` by its target and method alone, `allowAddress` by the address of its
 * client, `serveOrRefuse` by whether its upstream is in service, `admit` by its session, `limitRate` by how many requests its
 * client has sent, `permit` by the permissions that its upstream requires. The public listener runs them as the request
 * proceeds, `/verify` runs all of them with `decide`, and `dualgate explain` shows them.
 */

/** The parts of a session that the gate reads. */
interface Session {
  record: SessionRecord
}

/** Finds the live session of a token; `null` for none. Throws `Unavailable` when the store cannot tell. */
interface Side<S extends Session> {
  authenticate(token: Token): S | null | Promise<S | null>
  /** Why the session of a token has ended, for its client; absent or `null` where this is not reported. */
  whyEnded?: ((token: Token) => Promise<EndReason | null>) | null
}

export type GateSides<S extends Session> = Readonly<Record<LoginType, Side<S>>>

/** Permission codes, and whether all of them or any one is required. */
export interface RequiredPermission {
  readonly codes: readonly string[]
  readonly mode: 'all' | 'any'
}

/** Throws or rejects with the refusal `NOT_PERMITTED` when a session lacks what is required. */
export interface PermissionCheck {
  require(record: SessionRecord, required: RequiredPermission): Promise<void> | undefined
}

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

/**
 * Refuses clients whose address may not call a path, ahead of tokens. An address that is not known is `null`, and is
 * refused where a rule decides.
 */
export function allowAddress(path: CanonicalPath, address: string | null, rules: Pick<PathRules, 'access'>): void {
  if (accessRuleOf(path, rules)?.admits(address) === false) throw new Refusal('ADDRESS_NOT_ALLOWED')
}

/** What the gate reads of an upstream. */
interface GatedUpstream {
  readonly permission: RequiredPermission | null
  /** `null` while it is in service. */
  readonly maintenance: Maintenance | null
  readonly rateLimit: RateLimit | null
  /** Whether it gets the identity of a live session where none is needed. */
  readonly findsOptional: boolean
}

/**
 * Refuses requests to an upstream under maintenance, ahead of tokens: nothing is read from the store. A client whose
 * address is not known is `null`.
 */
export function serveOrRefuse(upstream: Pick<GatedUpstream, 'maintenance'> | null, address: string | null): void {
  const maintenance = upstream?.maintenance ?? null
  if (maintenance === null || (address !== null && maintenance.admits(address))) return
  throw new Refusal('MAINTENANCE', { retryAfter: maintenance.retryAfter })
}

/**
 * Whether a live session is found where none is needed: `identity.optional` of the upstream. Not for a
 * request that passes only because of its method.
 */
export const isOptional = (verdict: Verdict, upstream: Pick<GatedUpstream, 'findsOptional'> | null): boolean =>
  verdict.need === 'none' && upstream?.findsOptional === true && verdict.rule.carries === 'everything'

/**
 * The live session of a token where none is needed; `null` for none. It never refuses: not for a session that is dead or
 * disabled, and not when the store fails.
 */
export function findOptional<S extends Session>(
  { rule }: Verdict,
  token: Token | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  if (token === null) return null
  try {
    const found = findSession({ need: 'either', rule }, token, sides)
    return found instanceof Promise ? found.catch(noneIfRefused) : found
  } catch (fault) {
    return noneIfRefused(fault)
  }
}

function noneIfRefused(fault: unknown): null {
  if (fault instanceof Refusal) return null
  throw fault
}

/**
 * The session with which a request passes; `null` where it needs none. Refuses with `NOT_FOUND` where no rule applies,
 * with `NOT_LOGGED_IN` without the session that the verdict requires. A store that answers at once costs no turn of the
 * event loop: then there is no promise.
 */
export function admit<S extends Session>(
  verdict: Verdict | null,
  token: Token | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  if (verdict === null) throw new Refusal('NOT_FOUND')
  const session = findSession(verdict, token, sides)
  if (session instanceof Promise) return session.then(found => admitted(verdict, found, token, sides))
  return admitted(verdict, session, token, sides)
}

function admitted<S extends Session>(
  verdict: Verdict,
  session: S | null,
  token: Token | null,
  sides: GateSides<S>,
): S | null | Promise<never> {
  return isAdmitted(verdict, session) ? session : refuse(verdict, token, sides)
}

/** The live session that a verdict requires. Where either side will do, the side of the rule is tried first. */
function findSession<S extends Session>(
  { need, rule }: Verdict,
  token: Token | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  if (need === 'none' || token === null) return null
  if (need !== 'either') return sides[need].authenticate(token)
  const [first, second] = bothSides(rule, sides)
  const found = first.authenticate(token)
  if (found instanceof Promise) return found.then(session => session ?? second.authenticate(token))
  return found ?? second.authenticate(token)
}

const bothSides = <T>({ side }: Verdict['rule'], sides: Readonly<Record<LoginType, T>>): [first: T, second: T] =>
  side === 'CONSUMER' ? [sides.CONSUMER, sides.BUSINESS] : [sides.BUSINESS, sides.CONSUMER]

/** Refuses with `NOT_LOGGED_IN`, and with why the session has ended where that is reported. */
function refuse<S extends Session>({ need, rule }: Verdict, token: Token | null, sides: GateSides<S>): Promise<never> {
  if (need === 'none' || token === null) throw notLoggedIn()
  const asked = need === 'either' ? bothSides(rule, sides) : [sides[need]]
  const tellers = asked.flatMap(({ whyEnded }) => whyEnded ?? [])
  if (tellers.length === 0) throw notLoggedIn()
  return refuseEnded(token, tellers)
}

async function refuseEnded(
  token: Token,
  tellers: readonly ((token: Token) => Promise<EndReason | null>)[],
): Promise<never> {
  for (const whyEnded of tellers) {
    const reason = await whyEnded(token)
    if (reason !== null) throw notLoggedIn(reason)
  }
  throw notLoggedIn()
}

/** Whether a session is what a verdict requires. */
export function isAdmitted({ need }: Verdict, session: Session | null): boolean {
  if (need === 'none') return true
  return session !== null && (need === 'either' || session.record.type === need)
}

/** Refuses requests beyond the rate limit of their upstream, and counts the others. */
export function limitRate(upstream: Pick<GatedUpstream, 'rateLimit'> | null, counted: Counted): void {
  upstream?.rateLimit?.take(counted)
}

/**
 * Refuses sessions without the permission that an upstream requires. Without a session nothing is permitted, whatever the
 * rule of the path needs. Returns a promise only where the rights have to be read first.
 */
export function permit(
  required: RequiredPermission | null,
  session: Session | null,
  permissions: PermissionCheck,
): Promise<void> | undefined {
  if (required === null) return undefined
  if (session === null) throw notLoggedIn()
  return permissions.require(session.record, required)
}

/** The inputs of the decision about a request. */
export interface Gate<S extends Session> {
  rules: PathRules
  sides: GateSides<S>
  permissions: PermissionCheck
  /** The upstream of a path; `null` for none. */
  upstreamOf(path: CanonicalPath): GatedUpstream | null
}

/** A request as a proxy describes it. Address and network of its client are `null` where they are not known. */
export interface Asked {
  target: string
  method: string
  token: Token | null
  address: string | null
  network: string | null
}

/** The whole decision: the session with which a request passes, `null` where it needs none. Rejects with a refusal. */
export async function decide<S extends Session>(
  request: Asked,
  { rules, sides, permissions, upstreamOf }: Gate<S>,
): Promise<S | null> {
  const { target, verdict } = judge(request.target, request.method, rules)
  allowAddress(target.path, request.address, rules)
  const upstream = upstreamOf(target.path)
  serveOrRefuse(upstream, request.address)
  const session =
    verdict !== null && isOptional(verdict, upstream)
      ? await findOptional(verdict, request.token, sides)
      : await admit(verdict, request.token, sides)
  limitRate(upstream, { session, network: request.network })
  await permit(upstream?.permission ?? null, session, permissions)
  return session
}
