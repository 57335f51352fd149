import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log/log.ts'
import type { AnnouncementListener, Announcements } from './announcer.ts'

/** Questions within the heartbeat: some may be late, or wait behind a busy event loop. */
const PINGS_PER_HEARTBEAT = 4

/** Listens for keys below a prefix. */
export interface KeyListener {
  /** Something became of the key with this name, which is what follows the prefix. */
  evict(name: string): void
  /** Any key may have changed. */
  clear(): void
  /** Announcements may be missed, until the next proof is completed. */
  switchOff(): void
  /**
   * Begins a proof that every change until now is known; the answered function completes it, and says until when it holds, by
   * `Clock.elapsed`.
   */
  beginProof(): (until: number) => void
}

export interface TrackingOptions {
  /** Opens the announcements of keys with these prefixes. */
  open(prefixes: readonly string[], listener: AnnouncementListener): Announcements
  /** The listeners and their prefixes. If several match, they are called in the order of the list. */
  listeners: readonly { prefix: string; listener: KeyListener }[]
  /** What the listeners do to sessions, as the log has it. */
  purpose: 'cached' | 'watched'
  /** How long after the last proof the listeners are believed, in milliseconds. */
  heartbeat: number
  clock: Clock
  log: Logger
}

/** Keeps what listens true to what Redis announces, and switches it off whenever an announcement could be missed. */
export class RedisTracking implements AnnouncementListener {
  readonly #listeners: TrackingOptions['listeners']
  readonly #purpose: TrackingOptions['purpose']
  readonly #heartbeat: number
  readonly #clock: Clock
  readonly #log: Logger
  readonly #announcements: Announcements
  readonly #pulse: NodeJS.Timeout
  readonly #silence: NodeJS.Timeout
  /** Another object after each loss: a proof that began before a loss proves nothing. */
  #period: object = {}
  #believed = false
  /** Why they are not believed, as the log has it. */
  #obstacle: string | null = null

  constructor({ open, listeners, purpose, heartbeat, clock, log }: TrackingOptions) {
    this.#listeners = listeners
    this.#purpose = purpose
    this.#heartbeat = heartbeat
    this.#clock = clock
    this.#log = log
    this.#announcements = open([...new Set(listeners.map(({ prefix }) => prefix))], this)
    this.#pulse = setInterval(() => this.#prove(), heartbeat / PINGS_PER_HEARTBEAT).unref()
    this.#silence = setTimeout(() => this.#doubt('Redis is silent'), heartbeat).unref()
  }

  begun(): void {
    this.#prove()
  }

  lost(why: string): void {
    this.#period = {}
    this.#doubt(why)
  }

  obstructed(why: string): void {
    if (why !== this.#obstacle) this.#log.warn(`sessions are not ${this.#purpose}: ${why}`)
    this.#obstacle = why
  }

  announced(keys: readonly Buffer[] | null): void {
    if (keys === null) {
      for (const { listener } of this.#listeners) listener.clear()
      return
    }
    for (const bytes of keys) {
      const key = bytes.toString()
      for (const { prefix, listener } of this.#listeners) {
        if (key.startsWith(prefix)) listener.evict(key.slice(prefix.length))
      }
    }
  }

  #doubt(why: string): void {
    for (const { listener } of this.#listeners) listener.switchOff()
    if (this.#believed) this.obstructed(why)
    this.#believed = false
  }

  #prove(): void {
    if (!this.#announcements.isTracked) return
    const period = this.#period
    const until = this.#clock.elapsed() + this.#heartbeat
    const proofs = this.#listeners.map(({ listener }) => listener.beginProof())
    const complete = (isProven: boolean): void => {
      if (!isProven || this.#period !== period) return
      for (const proof of proofs) proof(until)
      this.#silence.refresh()
      if (!this.#believed) this.#log.info(`sessions are ${this.#purpose}`)
      this.#believed = true
      this.#obstacle = null
    }
    // A question that fails does so because its connection is lost.
    this.#announcements.prove().then(complete, () => undefined)
  }

  close(): void {
    clearInterval(this.#pulse)
    clearTimeout(this.#silence)
    this.#believed = false
    this.#announcements.close()
  }
}
