import type { Clock } from '../../base/clock.ts'
import type { HttpTarget } from '../targets.ts'
import type { Balance } from './balance.ts'
import type { BalanceKind } from './round-robin.ts'

/**
 * Shares by weight, by the smooth weighted round-robin of nginx (ngx_http_upstream_round_robin.c): each choice credits
 * every candidate with its weight, takes the one with the most credit, and charges it what all were credited. Weights of
 * 5, 1 and 1 give a a b a c a a, not a a a a a b c; without a target the others share by their weights.
 */
export function createWeighted(targets: readonly HttpTarget[], kind: BalanceKind, clock: Clock): Balance {
  const entries = targets.map(target => ({ target, credit: 0 }))

  /** One of those that fit, by weight; `null` if none does. */
  const pick = (fits: (target: HttpTarget) => boolean): HttpTarget | null => {
    let credited = 0
    let most: (typeof entries)[number] | null = null
    for (const entry of entries) {
      if (!fits(entry.target)) continue
      entry.credit += entry.target.weight
      credited += entry.target.weight
      if (most === null || entry.credit > most.credit) most = entry
    }
    if (most === null) return null
    most.credit -= credited
    return most.target
  }

  /** Of the ready ones with the fewest requests for their weight, one by weight. */
  const pickLeastLoaded = (): HttpTarget | null => {
    let least = Number.POSITIVE_INFINITY
    for (const target of targets) if (target.isReady) least = Math.min(least, loadOf(target))
    return pick(target => target.isReady && loadOf(target) === least)
  }

  return {
    next() {
      for (const target of targets) if (!target.health.isUp && target.health.admitsTrial(clock.elapsed())) return target
      const ready = kind === 'round-robin' ? pick(isReady) : pickLeastLoaded()
      // Otherwise one where the request has to wait for a connection; otherwise any.
      return ready ?? pick(isUp) ?? pick(() => true)!
    },
    another(tried) {
      return (
        pick(target => target.isReady && !tried.includes(target)) ??
        pick(target => target.health.isUp && !tried.includes(target)) ??
        pick(target => !tried.includes(target))
      )
    },
  }
}

const isReady = (target: HttpTarget): boolean => target.isReady
const isUp = ({ health }: HttpTarget): boolean => health.isUp
const loadOf = ({ open, weight }: HttpTarget): number => open / weight
