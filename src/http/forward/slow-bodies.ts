/**
 * How often bodies that are still coming are checked, in milliseconds. A body that is incomplete after the second check
 * is forwarded as it arrives. A client that sends a part and waits for an answer is delayed only once, at the
 * beginning. Most bodies in several packets are complete by then.
 */
const INTERVAL = 200

/** A body that is still arriving, and of which nothing is forwarded yet. */
export interface ComingBody {
  /** Whether its upstream has enough connections for one that may be occupied for long. */
  readonly isAdmitted: boolean
  /** Forwards the received part, and the rest as it arrives. */
  forward(): void
}

/**
 * Slow bodies. They are forwarded as they arrive while enough connections remain for others; otherwise each waits until
 * it is complete, or large. One timer serves them all; it runs while there are any.
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
