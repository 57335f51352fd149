import { Refusal } from '../base/refusal.ts'
import { type EndReason, notLoggedIn } from '../session/end-reason.ts'
import type { SessionRecord } from '../session/record.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { Token } from '../token/bearer.ts'
import type { CookieCredential, Credential } from './credential.ts'
import { type GatedKey, KeyCredential } from './key-credential.ts'
import type { Verdict } from './rules.ts'

/* Which live session a request passes with, by its verdict and its credential. */

/** The parts of a session that the gate reads. */
export interface GatedSession {
  record: SessionRecord
  /** The key that proves it; absent where a token does. */
  key?: GatedKey
}

/** Finds the live session of a token or of a key; `null` for none. Throws `Unavailable` when the store cannot tell. */
export interface GateSide<S extends GatedSession> {
  authenticate(token: Token, source: TokenSource): S | null | Promise<S | null>
  /** Absent where no program of this side has a key. Throws the refusal `TOO_MANY_WRONG_KEYS` after too many wrong ones. */
  authenticateKey?: ((credential: KeyCredential) => S | null | Promise<S | null>) | null
  /** Why the session of a token has ended, for its client; absent or `null` where this is not reported. */
  whyEnded?: ((token: Token) => Promise<EndReason | null>) | null
}

/** Where a token was read: one that was made for a program is not valid as a cookie. */
export type TokenSource = 'header' | 'cookie'

export type GateSides<S extends GatedSession> = Readonly<Record<LoginType, GateSide<S>>>

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

/** For a promise that answers `null` for none. */
export function noneIfRefused(fault: unknown): null {
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

/** The live session that a verdict requires. */
function findSession<S extends GatedSession>(
  verdict: Verdict,
  credential: Credential | null,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  const { need } = verdict
  if (need === 'none' || credential === null) return null
  // Nearly every request: no list is made for it.
  if (need !== 'either') {
    if (typeof credential === 'string') return sides[need].authenticate(credential, 'header')
    if (credential instanceof KeyCredential) return sides[need].authenticateKey?.(credential) ?? null
    const token = provenBy(credential, need)
    return token === null ? null : sides[need].authenticate(token, 'cookie')
  }
  if (credential instanceof KeyCredential) return firstWithKey(typesFor(verdict), credential, sides)
  const candidates = candidatesOf(verdict, credential)
  if (typeof credential !== 'string' && candidates.length > 0) credential.refuseCrossOrigin()
  return firstLive(candidates, typeof credential === 'string' ? 'header' : 'cookie', sides)
}

/** The sides whose sessions a verdict admits; where either will do, that of the rule first. */
function typesFor({ need, rule }: Verdict): readonly LoginType[] {
  const types = LOGIN_TYPES.filter(type => need === 'either' || need === type)
  return rule.side === 'CONSUMER' ? types.toReversed() : types
}

function firstWithKey<S extends GatedSession>(
  [type, ...others]: readonly LoginType[],
  credential: KeyCredential,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  if (type === undefined) return null
  const found = sides[type].authenticateKey?.(credential) ?? null
  if (found instanceof Promise) return found.then(session => session ?? firstWithKey(others, credential, sides))
  return found ?? firstWithKey(others, credential, sides)
}

/** The token in the cookie of a side, of a request that no page of another origin has caused. */
function provenBy(cookies: CookieCredential, type: LoginType): Token | null {
  const token = cookies.tokenOf(type)
  if (token !== null) cookies.refuseCrossOrigin()
  return token
}

type Candidate = readonly [type: LoginType, token: Token]

/**
 * The tokens that may prove the session, in the order in which they are tried. Where either side will do, a header is tried for the
 * side of the rule first. Of cookies each side has its own, and that of the B side is tried first.
 */
function candidatesOf(verdict: Verdict, credential: Token | CookieCredential): readonly Candidate[] {
  if (typeof credential === 'string') return typesFor(verdict).map(type => [type, credential])
  const { need } = verdict
  return LOGIN_TYPES.filter(type => need === 'either' || need === type).flatMap(type => {
    const token = credential.tokenOf(type)
    return token === null ? [] : [[type, token]]
  })
}

function firstLive<S extends GatedSession>(
  [candidate, ...others]: readonly Candidate[],
  source: TokenSource,
  sides: GateSides<S>,
): S | null | Promise<S | null> {
  if (candidate === undefined) return null
  const [type, token] = candidate
  const found = sides[type].authenticate(token, source)
  const next = (): S | null | Promise<S | null> => firstLive(others, source, sides)
  if (found instanceof Promise) return found.then(session => session ?? next(), unlessFound(next))
  return found ?? next()
}

/** What becomes of a refusal: none where another session is found; a disabled login id of one side says nothing of the other. */
const unlessFound =
  <S>(next: () => S | null | Promise<S | null>) =>
  async (fault: unknown): Promise<S> => {
    const found = fault instanceof Refusal && fault.reason === 'SESSION_DISABLED' ? await next() : null
    if (found === null) throw fault
    return found
  }

/** Refuses with `NOT_LOGGED_IN`, and with why the session has ended where that is reported. */
function refuse<S extends GatedSession>(
  verdict: Verdict,
  credential: Credential | null,
  sides: GateSides<S>,
): Promise<never> {
  if (credential === null || credential instanceof KeyCredential) throw notLoggedIn()
  const reporters = candidatesOf(verdict, credential).flatMap(([type, token]) => {
    const { whyEnded } = sides[type]
    return whyEnded ? [() => whyEnded(token)] : []
  })
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
