import type { Ages } from './age.ts'
import type { Overview, StoredToken } from './store.ts'

/** Collects the newest of any number of tokens, without keeping many more than requested. */
export class Newest {
  /** How many were added. */
  added = 0
  readonly #limit: number
  readonly #ages: Ages
  #kept: { age: string; stored: StoredToken }[] = []

  constructor(limit: number, ages: Ages) {
    this.#limit = limit
    this.#ages = ages
  }

  add(tokens: readonly StoredToken[]): void {
    this.added += tokens.length
    for (const stored of tokens) this.#kept.push({ age: this.#ages.ageOf(stored), stored })
    if (this.#kept.length > this.#limit * 1.5) this.#cut()
  }

  /** Oldest first. */
  list(): StoredToken[] {
    this.#cut()
    return this.#kept.map(({ stored }) => stored)
  }

  #cut(): void {
    this.#kept = this.#kept.sort((a, b) => (a.age < b.age ? -1 : 1)).slice(-this.#limit)
  }
}

/** The overview of a user from live tokens, oldest first; `null` without tokens. */
export function overviewOf(tokens: readonly StoredToken[]): Overview | null {
  const first = tokens[0]
  const newest = tokens.at(-1)
  if (first === undefined || newest === undefined) return null
  const expiresAt = tokens.reduce((latest, token) => Math.max(latest, token.expiresAt), 0)
  return { count: tokens.length, first, newest, expiresAt }
}
