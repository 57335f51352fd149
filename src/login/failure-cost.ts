import type { Account, AccountSource } from '../account/accounts.ts'
import { COST, costOf } from '../account/password.ts'
import type { Clock } from '../clock.ts'
import type { LoginType } from '../session.ts'
import type { AttemptStore } from '../store/store.ts'

/**
 * The bcrypt cost that a failed login spends: the highest among the accounts of its side. If each spent that of its own
 * hash, the time would tell which names exist. `account` is the one that was found.
 */
export type FailureCost = (account: Account | null) => Promise<number>

/** For how long, in milliseconds, a cost counts after the last login of an account that has it. */
const REMEMBERED = 90 * 86_400_000

export function createFailureCost(
  type: LoginType,
  accounts: AccountSource,
  attempts: AttemptStore,
  clock: Clock,
): FailureCost {
  const { highestCost } = accounts
  if (highestCost !== undefined) return async () => highestCost()
  // A source that sees one account at a time: the highest that any worker or gateway saw, before a restart too.
  const name = `bcrypt-cost:${type}`
  return async account => {
    const seen = await attempts.read(name)
    const cost = account === null ? 0 : (costOf(account.passwordHash) ?? 0)
    const known = seen?.count ?? COST
    const isFading = seen !== null && seen.resetsAt - clock.now() < REMEMBERED / 2
    if (cost > known || (cost === known && isFading)) await attempts.set(name, cost, clock.now() + REMEMBERED)
    return Math.max(cost, known)
  }
}
