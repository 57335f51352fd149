import { type Clock, secondsUntil } from '../clock.ts'
import { Refusal } from '../refusal.ts'
import type { LoginType } from '../side/record.ts'
import type { AttemptStore } from '../store/store.ts'
import { networkOf } from './address.ts'

export interface RateLimits {
  /** Captchas per client address and window. */
  captcha: number
  /** Login attempts per client address and window. */
  login: number
  /** Milliseconds. */
  window: number
}

/** Counts one more attempt of a client address; refuses with `TOO_MANY_ATTEMPTS` when there were too many in the window. */
export type RateLimit = (what: 'captcha' | 'login', address: string) => Promise<void>

export function createRateLimit(
  type: LoginType,
  attempts: AttemptStore,
  limits: RateLimits | 'off',
  clock: Clock,
): RateLimit {
  if (limits === 'off') return async () => {}
  return async (what, address) => {
    const { count, resetsAt } = await attempts.count(`rate:${what}:${type}:${networkOf(address)}`, limits.window)
    if (count > limits[what]) throw tooManyAttempts(resetsAt, clock)
  }
}

export function tooManyAttempts(resetsAt: number, clock: Clock): Refusal {
  const seconds = Math.max(1, secondsUntil(resetsAt, clock.now()))
  return new Refusal('TOO_MANY_ATTEMPTS', { params: { seconds }, retryAfter: seconds })
}
