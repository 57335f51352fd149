import { Refusal } from '../base/refusal.ts'
import { type EndReason, notLoggedIn } from '../session/end-reason.ts'
import type { SessionRecord } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { Token } from '../token/bearer.ts'
import type { Verdict } from './rules.ts'

/* Which live session a request passes with, by its verdict and its token. */

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
 * The session with which a request passes; `null` where it needs none. Refuses with `NOT_LOGGED_IN` without the session that
 * the verdict requires. A store that answers at once costs no turn of the event loop: then there is no promise.
 */
export function admit<S extends GatedSession>(
  verdict: Verdict,
  token: Token | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  const session = findSession(verdict, token, sides)
  if (session instanceof Promise) return session.then(found => admitted(verdict, found, token, sides))
  return admitted(verdict, session, token, sides)
}

function admitted<S extends GatedSession>(
  verdict: Verdict,
  session: S | null,
  token: Token | null,
  sides: GateSides<S>,
): S | null | Promise<never> {
  return isAdmitted(verdict, session) ? session : refuse(verdict, token, sides)
}

/** The live session that a verdict requires. Where either side will do, the side of the rule is tried first. */
function findSession<S extends GatedSession>(
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
function refuse<S extends GatedSession>(
  { need, rule }: Verdict,
  token: Token | null,
  sides: GateSides<S>,
): Promise<never> {
  if (need === 'none' || token === null) throw notLoggedIn()
  const asked = need === 'either' ? bothSides(rule, sides) : [sides[need]]
  const reporters = asked.flatMap(({ whyEnded }) => whyEnded ?? [])
  if (reporters.length === 0) throw notLoggedIn()
  return refuseEnded(token, reporters)
}

async function refuseEnded(
  token: Token,
  reporters: readonly ((token: Token) => Promise<EndReason | null>)[],
): Promise<never> {
  for (const whyEnded of reporters) {
    const reason = await whyEnded(token)
    if (reason !== null) throw notLoggedIn(reason)
  }
  throw notLoggedIn()
}

/** Whether a session is what a verdict requires. */
export function isAdmitted({ need }: Verdict, session: GatedSession | null): boolean {
  if (need === 'none') return true
  return session !== null && (need === 'either' || session.record.type === need)
}
