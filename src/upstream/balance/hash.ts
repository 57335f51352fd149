import type { Clock } from '../../base/clock.ts'
import type { HttpTarget } from '../targets.ts'
import type { Balance } from './balance.ts'

/**
 * Requests with the same key go to the same target, in every worker and every gateway: rendezvous hashing (Thaler and
 * Ravishankar, 1998) with weights (Schindelhauer and Schomaker, 2005). Each target draws a number for a key, and the
 * smallest wins. Without a target, its keys alone draw again among the others. A target whose connections are all in use
 * keeps its keys, which wait for one; one that is down loses them until it is back. Requests without a key are `others`'.
 */
export function createHash(targets: readonly HttpTarget[], clock: Clock, others: Balance): Balance {
  const entries = targets.map(target => ({ target, seed: hashOf(target.url) }))

  /** Of those that fit, the one with the smallest number; `null` if none fits. */
  const findNearest = (key: string, fits: (target: HttpTarget) => boolean): HttpTarget | null => {
    const hash = hashOf(key)
    let least = Number.POSITIVE_INFINITY
    let nearest: HttpTarget | null = null
    for (const { target, seed } of entries) {
      if (!fits(target)) continue
      const drawn = draw(hash ^ seed) / target.weight
      if (drawn >= least) continue
      least = drawn
      nearest = target
    }
    return nearest
  }

  return {
    next(key) {
      if (key === null) return others.next(null)
      const own = findNearest(key, isAny)!
      if (own.health.isUp || own.health.admitsTrial(clock.elapsed())) return own
      return findNearest(key, isUp) ?? own
    },
    another(tried, key) {
      if (key === null) return others.another(tried, null)
      return (
        findNearest(key, target => target.health.isUp && !tried.includes(target)) ??
        findNearest(key, target => !tried.includes(target))
      )
    },
  }
}

const isAny = (): boolean => true
const isUp = ({ health }: HttpTarget): boolean => health.isUp

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash)
}

/** The last step of MurmurHash3: each bit of the input changes each bit of the result with probability 1/2. */
function mix(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** An exponentially distributed number: of two, the smaller is the one of the greater rate as often as the rates say. */
const draw = (bits: number): number => -Math.log(((mix(bits) >>> 0) + 0.5) / 2 ** 32)
