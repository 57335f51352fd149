/**
 * How often bodies that are still coming are checked, in milliseconds. One that is not whole after the second check is
 * forwarded as it comes: whoever sends a part and waits for an answer notices that once, at the beginning, and most
 * bodies that come in several packets are whole by then.
 */
const INTERVAL = 200

/** A body that is still coming, and of which nothing is forwarded yet. */
export interface ComingBody {
  /** Whether its upstream has enough connections for one that may be held long. */
  readonly isAdmitted: boolean
  /** Forwards what is there, and the rest as it comes. */
  forward(): void
}

/**
 * The bodies that come slowly. They are forwarded as they come while that leaves enough connections to others; until then
 * each waits until it is whole, or large. One timer serves them all, and runs while there are any.
 */
export class SlowBodies {
  readonly #young = new Set<ComingBody>()
  readonly #old = new Set<ComingBody>()
  #timer: NodeJS.Timeout | null = null

  add(body: ComingBody): void {
    this.#young.add(body)
    this.#timer ??= setInterval(() => this.#check(), INTERVAL).unref()
  }

  delete(body: ComingBody): void {
    if (!this.#young.delete(body)) this.#old.delete(body)
  }

  #check(): void {
    for (const body of this.#old) if (body.isAdmitted) body.forward()
    for (const body of this.#young) this.#old.add(body)
    this.#young.clear()
    if (this.#old.size > 0) return
    clearInterval(this.#timer!)
    this.#timer = null
  }
}
