/** Counts the places that each client holds, so that one client cannot hold all of them. */
export class ClientShares {
  readonly #limit: number
  readonly #held = new Map<string, number>()

  /** `limit`: the maximum of one client. */
  constructor(limit: number) {
    this.#limit = limit
  }

  hasRoom(client: string): boolean {
    return (this.#held.get(client) ?? 0) < this.#limit
  }

  /** Whether the client can hold one more and leave half of its places free. */
  hasHalf(client: string): boolean {
    return 2 * ((this.#held.get(client) ?? 0) + 1) <= this.#limit
  }

  enter(client: string): void {
    this.#held.set(client, (this.#held.get(client) ?? 0) + 1)
  }

  leave(client: string): void {
    const left = (this.#held.get(client) ?? 0) - 1
    if (left > 0) this.#held.set(client, left)
    else this.#held.delete(client)
  }
}
