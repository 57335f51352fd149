import type { Refusal } from '../../base/refusal.ts'
import type { Publish, SessionEvent } from '../../event/event.ts'

/** Whom an attempt concerns, and where it comes from. */
type About = Omit<SessionEvent, 'event' | 'reason' | 'seconds'>

/** Publishes that an attempt to prove an account was refused, and that its wrong code has locked the second factor, if it has. */
export function publishFailure(
  publish: Publish,
  { reason, params: { lockedFor } }: Refusal,
  about: About,
  event: 'login-failed' | 'second-factor-failed' = 'login-failed',
): void {
  publish({ event, ...about, reason })
  if (typeof lockedFor === 'number') publish({ event: 'second-factor-locked', ...about, seconds: lockedFor })
}
