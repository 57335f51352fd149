import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/refusal.ts'
import type { SessionRecord } from '../session/record.ts'

export interface RateLimitSettings {
  /** How many requests of one client per window. */
  requests: number
  /** Milliseconds, in whole seconds. */
  window: number
  /** How many of them at once; `requests` when it is not given. */
  burst?: number | undefined
  per: 'login-id' | 'address'
}

/** What counts as a client: a login id of one side, or else a network. */
export interface Counted {
  session: { record: SessionRecord } | null
  /** The network of its address; `null` if it is not known. */
  network: string | null
}

/** When the bucket of a client is full again, in milliseconds of `Clock.elapsed`. */
interface Bucket {
  fullAt: number
}

/** How many clients one half of the memory remembers: about 150 bytes each. */
const REMEMBERED = 50_000

/**
 * Limits the requests of each client by a token bucket, in this process alone: with several workers each has its share of
 * the whole. A bucket is one number, as in the generic cell rate algorithm (ITU-T I.371): the time at which it is full again.
 *
 * Buckets that are full need no memory. So there are two halves: buckets in use move to the newer one, which becomes the
 * older one when every bucket of that is full again, or when the newer one has no more room.
 */
export class RateLimit {
  readonly settings: RateLimitSettings
  readonly #clock: Clock
  /** Milliseconds in which one request comes back into a bucket. */
  readonly #interval: number
  /** How long an empty bucket takes until it is full. */
  readonly #whole: number
  #newer = new Map<string, Bucket>()
  #older = new Map<string, Bucket>()
  #since: number

  /** `workers`: how many processes share the limit. */
  constructor(settings: RateLimitSettings, workers: number, clock: Clock) {
    const { requests, window, burst = requests } = settings
    this.settings = settings
    this.#clock = clock
    this.#interval = (window * workers) / requests
    this.#whole = Math.max(1, Math.floor(burst / workers)) * this.#interval
    this.#since = clock.elapsed()
  }

  /** How many clients are remembered. */
  get size(): number {
    return this.#newer.size + this.#older.size
  }

  /** Counts a request; refuses it with `RATE_LIMITED` beyond the limit, and does not count it then. */
  take(counted: Counted): void {
    const key = this.#keyOf(counted)
    if (key === null) return
    const now = this.#clock.elapsed()
    const bucket = this.#bucketOf(key, now)
    this.#refuseEmpty(bucket, now)
    bucket.fullAt = Math.max(bucket.fullAt, now) + this.#interval
  }

  /** As `take`, for an explanation: nothing is counted. */
  inspect(counted: Counted): void {
    const key = this.#keyOf(counted)
    const bucket = key === null ? undefined : (this.#newer.get(key) ?? this.#older.get(key))
    if (bucket !== undefined) this.#refuseEmpty(bucket, this.#clock.elapsed())
  }

  /** Neither kind of key can be the other: a network has no space. */
  #keyOf({ session, network }: Counted): string | null {
    if (this.settings.per === 'address' || session === null) return network
    return `${session.record.type} ${session.record.user_id}`
  }

  #bucketOf(key: string, now: number): Bucket {
    if (now - this.#since > this.#whole || this.#newer.size >= REMEMBERED) this.#turn(now)
    const known = this.#newer.get(key)
    if (known !== undefined) return known
    const bucket = this.#older.get(key) ?? { fullAt: now }
    this.#older.delete(key)
    this.#newer.set(key, bucket)
    return bucket
  }

  #turn(now: number): void {
    this.#older = this.#newer
    this.#newer = new Map()
    this.#since = now
  }

  #refuseEmpty(bucket: Bucket, now: number): void {
    const wait = bucket.fullAt - now + this.#interval - this.#whole
    // Intervals are no whole numbers, so sums of them are not exact.
    if (wait > 0.001) throw this.#refusal(Math.ceil(wait / 1000))
  }

  /** With the fields of draft-ietf-httpapi-ratelimit-headers-11, of which only clients that have to wait need to know. */
  #refusal(seconds: number): Refusal {
    const { requests, window, per } = this.settings
    return new Refusal('RATE_LIMITED', {
      retryAfter: seconds,
      headers: {
        'ratelimit-policy': `"${per}";q=${requests};w=${window / 1000}`,
        ratelimit: `"${per}";r=0;t=${seconds}`,
      },
    })
  }
}
