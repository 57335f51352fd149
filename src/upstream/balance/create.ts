import type { Clock } from '../../base/clock.ts'
import type { UpstreamSettings } from '../../settings/schema/upstreams.ts'
import type { HttpTarget } from '../targets.ts'
import type { Balance } from './balance.ts'
import { createHash } from './hash.ts'
import { type BalanceKind, createRoundRobin } from './round-robin.ts'
import { createWeighted } from './weighted.ts'

/** The balance of an upstream. Targets of weight 0 take no part in it; at least one has another weight. */
export function createBalance(
  targets: readonly HttpTarget[],
  settings: UpstreamSettings['balance'],
  clock: Clock,
): Balance {
  const used = targets.filter(({ weight }) => weight > 0)
  if (typeof settings === 'string') return createShares(used, settings, clock)
  return createHash(used, clock, createShares(used, 'round-robin', clock))
}

function createShares(targets: readonly HttpTarget[], kind: BalanceKind, clock: Clock): Balance {
  const areEqual = targets.every(({ weight }) => weight === targets[0]!.weight)
  return areEqual ? createRoundRobin(targets, kind, clock) : createWeighted(targets, kind, clock)
}
