import type { LoginType } from '../../../session/sides.ts'

/** A session that passed the gate in this process for the first time. */
export interface Sighting {
  type: LoginType
  userId: string
  token: string
}

/** Tokens that are remembered as noticed, in each of two generations: some 5 MB in all. */
const MAX_REMEMBERED = 10_000
/** Sightings that wait for one check. What comes beyond them is noticed with one of its next requests. */
const MAX_WAITING = 1000

/**
 * Which sessions have passed: each is noticed once, for other programs sign users in without an announcement. Noticing
 * is one look-up in a set; everything else happens off the request's path, when the sightings are taken.
 */
export class Sightings {
  #young = new Set<string>()
  #old = new Set<string>()
  #waiting: Sighting[] = []

  note(type: LoginType, token: string, userId: string): void {
    if (this.#young.has(token) || this.#waiting.length >= MAX_WAITING) return
    if (!this.#old.has(token)) this.#waiting.push({ type, userId, token })
    this.remember(token)
  }

  /** A token that need not be noticed: this process knows how it came. */
  remember(token: string): void {
    if (this.#young.size >= MAX_REMEMBERED) {
      this.#old = this.#young
      this.#young = new Set()
    }
    this.#young.add(token)
  }

  /** The sightings since the last time, which are not answered again. */
  take(): Sighting[] {
    const taken = this.#waiting
    this.#waiting = []
    return taken
  }
}
