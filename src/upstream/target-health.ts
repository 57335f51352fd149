/** After how many failures a target is ejected, and for how long, in milliseconds. */
export interface EjectionRules {
  /** Failures in a row. */
  failures: number
  duration: number
  /** The longest ejection. */
  limit: number
}

/** A change of health by a request or a check. */
export type TargetHealthChange = 'ejected' | 'returned' | 'unhealthy' | 'healthy'

export type TargetState = 'up' | 'ejected' | 'on-trial' | 'unhealthy'

/** A target on trial gets one request in this many milliseconds, until one of them is answered. */
const TRIAL_INTERVAL = 1000

/**
 * Whether a target gets requests. Failures in a row eject it. After that time it is on trial: a failure ejects it for
 * twice as long, an answer makes it healthy. Active checks decide separately; a target gets requests only if both
 * agree. Time is an argument, in milliseconds.
 */
export class TargetHealth {
  /**
   * The number of ejections. A request stores it when it is sent: results of requests sent before an ejection are
   * ignored afterwards.
   */
  era = 0
  /** Whether the target gets its share of requests. */
  isUp = true
  readonly #rules: EjectionRules | null
  #failures = 0
  #isEjected = false
  #isHealthy = true
  #ejectedUntil = 0
  /** The duration of the last ejection; 0 after it has been reset. */
  #lastDuration = 0
  #returnedAt = 0
  #nextTrial = 0

  /** `null` if it is not ejected. */
  constructor(rules: EjectionRules | null) {
    this.#rules = rules
  }

  /** Whether an answer changes nothing. */
  get isUnblemished(): boolean {
    return this.#failures === 0 && !this.#isEjected
  }

  /** For a target that is not up: whether this request may try it. */
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
    // The request was sent during the ejection because no better target existed; its failure changes nothing.
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

  /** The result of the active checks. */
  checked(isHealthy: boolean): TargetHealthChange | null {
    if (isHealthy === this.#isHealthy) return null
    this.#isHealthy = isHealthy
    this.isUp = isHealthy && !this.#isEjected
    return isHealthy ? 'healthy' : 'unhealthy'
  }

  /** The duration of the present ejection, in milliseconds. */
  get duration(): number {
    return this.#lastDuration
  }

  state(now: number): TargetState {
    if (!this.#isHealthy) return 'unhealthy'
    if (!this.#isEjected) return 'up'
    return now < this.#ejectedUntil ? 'ejected' : 'on-trial'
  }
}
