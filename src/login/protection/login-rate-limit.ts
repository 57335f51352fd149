import { type Clock, secondsUntil } from '../../base/clock.ts'
import { Refusal } from '../../base/refusal.ts'
import type { LoginType } from '../../session/sides.ts'
import { createAttemptWindows } from '../../store/attempt-windows.ts'
import type { AttemptStore } from '../../store/store.ts'
import { networkOf, siteOf } from './network.ts'

export interface RateLimits {
  /** Captchas per client address and window. */
  captcha: number
  /** Login attempts per client address and window, and as many requests of further steps. */
  login: number
  /** Milliseconds. */
  window: number
}

/**
 * The attempts of a whole site, as a multiple of those of one address: a NAT pool or a campus is more than one client.
 */
const ADDRESSES_PER_SITE = 32

/** What is counted apart. */
type Limited = 'captcha' | 'login' | 'step'

/**
 * Counts one more attempt of a client address. Refuses with `TOO_MANY_ATTEMPTS` after too many in the window, from the
 * address or from its site. Refused attempts of an address do not count for its site.
 */
export type RateLimit = (what: Limited, address: string) => Promise<void>

export function createRateLimit(
  type: LoginType,
  attempts: Pick<AttemptStore, 'count' | 'read' | 'clear'>,
  limits: RateLimits | 'off',
  clock: Clock,
): RateLimit {
  if (limits === 'off') return async () => {}

  const { window } = limits
  const windows = createAttemptWindows(attempts, clock)
  async function count(what: Limited, from: string, limit: number): Promise<void> {
    const { count, resetsAt } = await windows.count(`rate:${what}:${type}:${from}`, window)
    if (count > limit) throw tooMany('TOO_MANY_ATTEMPTS', resetsAt, clock)
  }

  return async (what, address) => {
    const limit = limits[what === 'step' ? 'login' : what]
    await count(what, networkOf(address), limit)
    const site = siteOf(address)
    if (site !== null) await count(what, site, limit * ADDRESSES_PER_SITE)
  }
}

export function tooMany(reason: 'TOO_MANY_ATTEMPTS' | 'TOO_MANY_WRONG_KEYS', resetsAt: number, clock: Clock): Refusal {
  const seconds = Math.max(1, secondsUntil(resetsAt, clock.now()))
  return new Refusal(reason, { params: { seconds }, retryAfter: seconds })
}
