import type { LoginType } from '../session.ts'
import type { Session, Side } from '../side/side.ts'
import type { Token } from '../token/bearer.ts'
import { readTarget, type Target } from './path.ts'
import { type PathRules, type Verdict, verdictOf } from './rules.ts'

/*
 * What becomes of a request, whoever asks: the public listener, `/verify`, `dualgate explain`. First by target and method
 * alone, then by the session that comes along.
 */

/** Where sessions are found, by side. */
export type Admission = Readonly<Record<LoginType, Pick<Side, 'authenticate'>>>

export interface Judged {
  target: Target
  /** `null` where no rule applies: not found. */
  verdict: Verdict | null
}

/** Decides by target and method alone. Throws the refusal `URI_TOO_LONG` or `BAD_PATH` for an ambiguous target. */
export function judge(target: string, method: string, rules: PathRules): Judged {
  const read = readTarget(target)
  return { target: read, verdict: verdictOf(read.path, method, rules) }
}

/**
 * The live session of a token that a verdict asks for; `null` without one, and where none is needed. Where either side
 * will do, the side of the rule is asked first. Throws `Unavailable` when a store that has to be asked cannot tell.
 */
export function findSession(
  { need, rule }: Verdict,
  token: Token | null,
  sides: Admission,
): Session | null | Promise<Session | null> {
  if (need === 'none' || token === null) return null
  if (need !== 'either') return sides[need].authenticate(token)
  const [first, second] = rule.side === 'CONSUMER' ? [sides.CONSUMER, sides.BUSINESS] : [sides.BUSINESS, sides.CONSUMER]
  const found = first.authenticate(token)
  if (found instanceof Promise) return found.then(session => session ?? second.authenticate(token))
  return found ?? second.authenticate(token)
}

/** Whether a session is what a verdict asks for. */
export function isAdmitted({ need }: Verdict, session: Session | null): boolean {
  if (need === 'none') return true
  return session !== null && (need === 'either' || session.record.type === need)
}
