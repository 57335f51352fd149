import { Refusal } from '../../base/refusal.ts'
import type { AttemptStore } from '../../store/store.ts'
import { siteOf } from './network.ts'

/** Limits the space in the store of what clients cause that have proven nothing. */
const MAX_OUTSTANDING = 100_000
/**
 * Above this number each site gets only a few more in the lifetime of one: enough to sign in. An attacker needs ten
 * thousand sites to reach the upper limit.
 */
const MANY_OUTSTANDING = 50_000
const FEW_PER_SITE = 5
/** Seconds. */
const RETRY_AFTER = 10

export interface OutstandingOptions {
  /** Begins the names of the counters of sites. */
  name: string
  attempts: Pick<AttemptStore, 'count'>
  /** How long one is kept, in milliseconds. */
  lifetime: number
  /** How many are kept now, at most. */
  outstanding(): Promise<number>
}

/** Refuses one more for a client address with `BUSY` when too many are kept. */
export type CheckOutstanding = (address: string) => Promise<void>

export function createOutstandingCheck({
  name,
  attempts,
  lifetime,
  outstanding,
}: OutstandingOptions): CheckOutstanding {
  return async address => {
    const kept = await outstanding()
    if (kept < MANY_OUTSTANDING) return
    if (kept >= MAX_OUTSTANDING) throw new Refusal('BUSY', { retryAfter: RETRY_AFTER })
    const { count } = await attempts.count(`${name}:${siteOf(address) ?? address}`, lifetime)
    if (count > FEW_PER_SITE) throw new Refusal('BUSY', { retryAfter: RETRY_AFTER })
  }
}
