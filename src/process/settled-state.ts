/** Tells a new state of files that are polled from one that is still being written. */
export class SettledState {
  #seen: string | null = null
  #accepted: string | null = null

  /** Whether two polls in a row have found this state, and no earlier call has accepted it. */
  accept(found: string): boolean {
    const isSettled = found === this.#seen
    this.#seen = found
    if (!isSettled || found === this.#accepted) return false
    this.#accepted = found
    return true
  }
}
