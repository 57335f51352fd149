/** How many tokens are sorted together, beside those within the limit. */
const SORTED_AT_ONCE = 500

interface Aged {
  token: string
  /** Sorts as tokens do by their age. */
  age: string
}

/** Finds the tokens beyond the newest `most`, of any number of tokens. Sorts a few at a time. */
export class Limit {
  readonly #most: number
  #newest: Aged[] = []
  readonly #surplus: string[] = []

  constructor(most: number) {
    this.#most = most
  }

  add(aged: Aged): void {
    this.#newest.push(aged)
    if (this.#newest.length >= 2 * this.#most + SORTED_AT_ONCE) this.#cut()
  }

  /** The tokens beyond the limit, oldest first. */
  surplus(): string[] {
    this.#cut()
    return this.#surplus
  }

  #cut(): void {
    this.#newest.sort((a, b) => (a.age < b.age ? -1 : a.age > b.age ? 1 : 0))
    for (const { token } of this.#newest.splice(0, Math.max(0, this.#newest.length - this.#most))) {
      this.#surplus.push(token)
    }
  }
}
