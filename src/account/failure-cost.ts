import { type Clock, DAY } from '../base/clock.ts'
import type { LoginType } from '../session/sides.ts'
import { COST, costOf } from './password.ts'

/**
 * The bcrypt cost that a failed login spends: the highest among the accounts of its side. If each spent the cost of its own
 * hash, the time would tell which names exist. `hash` is that of the account; `null` when the name is unknown.
 */
export type FailureCost = (hash: string | null) => Promise<number>

/** Where a cost is remembered, shared by workers and gateways; the store's attempts are one. */
export interface CostMemory {
  read(name: string): Promise<{ count: number; resetsAt: number } | null>
  set(name: string, count: number, resetsAt: number): Promise<void>
}

interface FailureCostOptions {
  type: LoginType
  memory: CostMemory
  clock: Clock
}

/** How long a cost counts after the last login of an account with it, in milliseconds. */
const REMEMBERED = 90 * DAY

export function createFailureCost(
  { highestCost }: { highestCost?(): number },
  { type, memory, clock }: FailureCostOptions,
): FailureCost {
  if (highestCost !== undefined) return async () => highestCost()
  // For a source that reads one account at a time: the highest cost that any worker or gateway has read, also before a
  // restart.
  const name = `bcrypt-cost:${type}`
  return async hash => {
    const seen = await memory.read(name)
    const cost = hash === null ? 0 : (costOf(hash) ?? 0)
    const known = seen?.count ?? COST
    const isFading = seen !== null && seen.resetsAt - clock.now() < REMEMBERED / 2
    if (cost > known || (cost === known && isFading)) await memory.set(name, cost, clock.now() + REMEMBERED)
    return Math.max(cost, known)
  }
}
