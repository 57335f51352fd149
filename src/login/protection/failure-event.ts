import type { SourceLogin } from '../../account/source.ts'
import type { Refusal } from '../../base/refusal.ts'
import type { Publish, SessionEvent } from '../../event/event.ts'

/** Whom an attempt concerns, and where it comes from; why it failed, if its refusal says less. */
type About = Omit<SessionEvent, 'event' | 'seconds'>

/** Why a source refuses an account without regard to the password, as log and journal have it. */
export type ObstacleReason = `${NonNullable<SourceLogin['obstacle']>}-in-directory`

export const obstacleReason = (obstacle: NonNullable<SourceLogin['obstacle']>): ObstacleReason =>
  `${obstacle}-in-directory`

/** Publishes that an attempt to prove an account was refused, and that its wrong code has locked the second factor, if it has. */
export function publishFailure(
  publish: Publish,
  { reason, params: { lockedFor } }: Refusal,
  about: About,
  event: 'login-failed' | 'second-factor-failed' = 'login-failed',
): void {
  publish({ event, reason, ...about })
  if (typeof lockedFor === 'number') publish({ event: 'second-factor-locked', ...about, seconds: lockedFor })
}
