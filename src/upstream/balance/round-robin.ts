import type { Clock } from '../../base/clock.ts'
import type { HttpTarget } from '../targets.ts'
import type { Balance } from './balance.ts'

export type BalanceKind = 'round-robin' | 'least-pending'

/** Uses targets of equal weight in turn, or the one with the fewest requests. */
export function createRoundRobin(targets: readonly HttpTarget[], kind: BalanceKind, clock: Clock): Balance {
  let turn = targets.length - 1

  const inTurn = (): HttpTarget => {
    turn = turn + 1 === targets.length ? 0 : turn + 1
    return targets[turn]!
  }

  /** The first that matches, starting with the next in turn; `null` if none does. */
  const find = (fits: (target: HttpTarget) => boolean): HttpTarget | null => {
    for (let i = 0; i < targets.length; i++) {
      const target = targets[(turn + i) % targets.length]!
      if (fits(target)) return target
    }
    return null
  }

  /** The ready one with the fewest requests. */
  const findFewest = (): HttpTarget | null => {
    let fewest: HttpTarget | null = null
    for (let i = 0; i < targets.length; i++) {
      const target = targets[(turn + i) % targets.length]!
      if (target.isReady && (fewest === null || target.open < fewest.open)) fewest = target
    }
    return fewest
  }

  return {
    next() {
      const first = inTurn()
      if (first.isReady && kind === 'round-robin') return first
      if (!first.health.isUp && first.health.admitsTrial(clock.elapsed())) return first
      const ready = kind === 'round-robin' ? find(target => target.isReady) : findFewest()
      // Otherwise one where the request has to wait for a connection; otherwise any.
      return ready ?? find(({ health }) => health.isUp) ?? first
    },
    another(tried) {
      return (
        find(target => target.isReady && !tried.includes(target)) ??
        find(target => target.health.isUp && !tried.includes(target)) ??
        find(target => !tried.includes(target))
      )
    },
  }
}
