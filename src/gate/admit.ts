import { Refusal } from '../base/refusal.ts'
import { type EndReason, notLoggedIn } from '../session/end-reason.ts'
import type { SessionRecord } from '../session/record.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { Token } from '../token/bearer.ts'
import type { CookieCredential, Credential } from './credential.ts'
import type { Need } from './need.ts'
import type { Verdict } from './rules.ts'

/* Which live session a request passes with, by its verdict and its credential. */

/** The parts of a session that the gate reads. */
export interface GatedSession {
  record: SessionRecord
}

/** Finds the live session of a token; `null` for none. Throws `Unavailable` when the store cannot tell. */
interface Side<S extends GatedSession> {
  authenticate(token: Token): S | null | Promise<S | null>
  /** Why the session of a token has ended, for its client; absent or `null` where this is not reported. */
  whyEnded?: ((token: Token) => Promise<EndReason | null>) | null
}

export type GateSides<S extends GatedSession> = Readonly<Record<LoginType, Side<S>>>

/**
 * The live session of a token where none is needed; `null` for none. It never refuses: not for a session that is dead or
 * disabled, and not when the store fails.
 */
export function findOptional<S extends GatedSession>(
  { rule }: Verdict,
  credential: Credential | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  if (credential === null) return null
  try {
    const found = findSession({ need: 'either', rule }, credential, sides)
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
 * The session with which a request passes; `null` where it needs none. Refuses with `NOT_LOGGED_IN` without the session that
 * the verdict requires. A store that answers at once costs no turn of the event loop: then there is no promise.
 */
export function admit<S extends GatedSession>(
  verdict: Verdict,
  credential: Credential | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  const session = findSession(verdict, credential, sides)
  if (session instanceof Promise) return session.then(found => admitted(verdict, found, credential, sides))
  return admitted(verdict, session, credential, sides)
}

function admitted<S extends GatedSession>(
  verdict: Verdict,
  session: S | null,
  credential: Credential | null,
  sides: GateSides<S>,
): S | null | Promise<never> {
  return isAdmitted(verdict, session) ? session : refuse(verdict, credential, sides)
}

/** The live session that a verdict requires. Where either side will do, the side of the rule is tried first. */
function findSession<S extends GatedSession>(
  { need, rule }: Verdict,
  credential: Credential | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  if (need === 'none' || credential === null) return null
  if (typeof credential !== 'string') return findByCookie(need, credential, sides)
  if (need !== 'either') return sides[need].authenticate(credential)
  const [first, second] = bothSides(rule, sides)
  const found = first.authenticate(credential)
  if (found instanceof Promise) return found.then(session => session ?? second.authenticate(credential))
  return found ?? second.authenticate(credential)
}

/** The side that the path needs decides which cookie is read; where either will do, that of the B side is tried first. */
function findByCookie<S extends GatedSession>(
  need: Need,
  cookies: CookieCredential,
  sides: GateSides<S>,
): null | Promise<S | null> {
  const held = tokensIn(cookies, need)
  if (held.length === 0) return null
  cookies.refuseCrossOrigin()
  return firstLive(held, sides)
}

async function firstLive<S extends GatedSession>(
  held: readonly [LoginType, Token][],
  sides: GateSides<S>,
): Promise<S | null> {
  for (const [type, token] of held) {
    const session = await sides[type].authenticate(token)
    if (session !== null) return session
  }
  return null
}

/** The cookies of the sides that will do, in the order in which they are tried. */
function tokensIn(cookies: CookieCredential, need: Need): [LoginType, Token][] {
  return LOGIN_TYPES.filter(type => need === 'either' || need === type).flatMap(type => {
    const token = cookies.tokenOf(type)
    return token === null ? [] : [[type, token]]
  })
}

const bothSides = <T>({ side }: Verdict['rule'], sides: Readonly<Record<LoginType, T>>): [first: T, second: T] =>
  side === 'CONSUMER' ? [sides.CONSUMER, sides.BUSINESS] : [sides.BUSINESS, sides.CONSUMER]

/** Refuses with `NOT_LOGGED_IN`, and with why the session has ended where that is reported. */
function refuse<S extends GatedSession>(
  { need, rule }: Verdict,
  credential: Credential | null,
  sides: GateSides<S>,
): Promise<never> {
  if (need === 'none' || credential === null) throw notLoggedIn()
  const asked: [Side<S>, Token][] =
    typeof credential !== 'string'
      ? tokensIn(credential, need).map(([type, token]) => [sides[type], token])
      : (need === 'either' ? bothSides(rule, sides) : [sides[need]]).map(side => [side, credential])
  const reporters = asked.flatMap(([{ whyEnded }, token]) => (whyEnded ? [() => whyEnded(token)] : []))
  if (reporters.length === 0) throw notLoggedIn()
  return refuseEnded(reporters)
}

async function refuseEnded(reporters: readonly (() => Promise<EndReason | null>)[]): Promise<never> {
  for (const whyEnded of reporters) {
    const reason = await whyEnded()
    if (reason !== null) throw notLoggedIn(reason)
  }
  throw notLoggedIn()
}

/** Whether a session is what a verdict requires. */
export function isAdmitted({ need }: Verdict, session: GatedSession | null): boolean {
  if (need === 'none') return true
  return session !== null && (need === 'either' || session.record.type === need)
}
