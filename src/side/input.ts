import { secondsUntil } from '../base/clock.ts'
import { invalid, NOT_A_LOGIN_ID } from '../base/refusal.ts'
import { isLoginId } from '../session/record.ts'

/** Ten years: a longer time is a mistake in units. */
export const MAX_SECONDS = 315_360_000

/** The answer for every remaining lifetime that does not exist. */
export const NONE = -1

/** Whole seconds until a timestamp; `NONE` without one, when it has passed, and when there is no end. */
export function remaining(timestamp: number | null, now: number): number {
  if (timestamp === null || timestamp === Number.POSITIVE_INFINITY) return NONE
  const left = secondsUntil(timestamp, now)
  return left > 0 ? left : NONE
}

export function checkLoginId(value: unknown): void {
  if (!isLoginId(value)) throw invalid('user_id', NOT_A_LOGIN_ID)
}

export const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_SECONDS

export function checkSeconds(value: unknown): void {
  if (!isSeconds(value)) {
    throw invalid('seconds', 'must be a whole number from {minimum} to {maximum}', { minimum: 1, maximum: MAX_SECONDS })
  }
}
