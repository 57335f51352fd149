/** When failures take a target out, and for how long; durations in milliseconds. */
export interface EjectionRules {
  /** In a row. */
  failures: number
  duration: number
  /** The longest ejection. */
  limit: number
}

/** What a request or a check has changed. */
export type TargetHealthChange = 'ejected' | 'returned' | 'unhealthy' | 'healthy'

export type TargetState = 'up' | 'ejected' | 'on-trial' | 'unhealthy'

/** A target on trial gets one request in this many milliseconds, until one of them is answered. */
const TRIAL_INTERVAL = 1000

/**
 * Whether a target gets requests. Failures in a row eject it. When its time is over it is on trial: a failure ejects it
 * for twice as long, an answer brings it back. Active checks say the same in their own right, and both have to agree.
 * Time is an argument, in milliseconds.
 */
export class TargetHealth {
  /**
   * Counts ejections. A request notes it when it is sent: what comes of requests that were sent before an ejection says
   * nothing about what came after.
   */
  era = 0
  /** Whether it gets its share of requests. */
  isUp = true
  readonly #rules: EjectionRules | null
  #failures = 0
  #isEjected = false
  #isHealthy = true
  #ejectedUntil = 0
  /** How long the last ejection was; 0 when that is forgotten. */
  #lastDuration = 0
  #returnedAt = 0
  #nextTrial = 0

  /** `null` for no ejection. */
  constructor(rules: EjectionRules | null) {
    this.#rules = rules
  }

  /** Whether an answer changes nothing. */
  get isUnblemished(): boolean {
    return this.#failures === 0 && !this.#isEjected
  }

  /** For a target that is not up: whether this one request may try it. */
  admitsTrial(now: number): boolean {
    if (!this.#isHealthy || now < this.#ejectedUntil || now < this.#nextTrial) return false
    this.#nextTrial = now + TRIAL_INTERVAL
    return true
  }

  succeeded(era: number, now: number): TargetHealthChange | null {
    if (era !== this.era || this.#rules === null) return null
    this.#failures = 0
    if (!this.#isEjected) return null
    this.#isEjected = false
    this.isUp = this.#isHealthy
    this.#returnedAt = now
    return 'returned'
  }

  failed(era: number, now: number): TargetHealthChange | null {
    if (era !== this.era || this.#rules === null) return null
    this.#failures++
    // Sent for want of a better target, while its time was not over: that it failed is no news.
    if (this.#isEjected ? now < this.#ejectedUntil : this.#failures < this.#rules.failures) return null
    this.#eject(this.#rules, now)
    return 'ejected'
  }

  #eject({ duration, limit }: EjectionRules, now: number): void {
    const isRepeated = this.#isEjected || now - this.#returnedAt < limit
    this.#lastDuration = Math.min(limit, isRepeated && this.#lastDuration > 0 ? 2 * this.#lastDuration : duration)
    this.#ejectedUntil = now + this.#lastDuration
    this.#nextTrial = 0
    this.#failures = 0
    this.#isEjected = true
    this.isUp = false
    this.era++
  }

  /** What the active checks have come to. */
  checked(isHealthy: boolean): TargetHealthChange | null {
    if (isHealthy === this.#isHealthy) return null
    this.#isHealthy = isHealthy
    this.isUp = isHealthy && !this.#isEjected
    return isHealthy ? 'healthy' : 'unhealthy'
  }

  /** How long the ejection that is under way is, in milliseconds. */
  get duration(): number {
    return this.#lastDuration
  }

  state(now: number): TargetState {
    if (!this.#isHealthy) return 'unhealthy'
    if (!this.#isEjected) return 'up'
    return now < this.#ejectedUntil ? 'ejected' : 'on-trial'
  }
}
