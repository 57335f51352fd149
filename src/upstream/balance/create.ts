import type { Clock } from '../../clock.ts'
import type { HttpTarget } from '../targets.ts'
import type { Balance } from './balance.ts'
import { type BalanceKind, createInTurn } from './in-turn.ts'
import { createWeighted } from './weighted.ts'

/** The balance of an upstream. Targets of weight 0 take no part in it; at least one has another weight. */
export function createBalance(targets: readonly HttpTarget[], kind: BalanceKind, clock: Clock): Balance {
  const used = targets.filter(({ weight }) => weight > 0)
  const areEqual = used.every(({ weight }) => weight === used[0]!.weight)
  return areEqual ? createInTurn(used, kind, clock) : createWeighted(used, kind, clock)
}
