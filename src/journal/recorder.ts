import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { within } from '../base/deadline.ts'
import type { Logger } from '../base/log/log.ts'
import { Refusal } from '../base/refusal.ts'
import { isUnproven, type Publish, type SessionEvent } from '../event/event.ts'
import type { Meter } from '../metrics/meter.ts'
import { type JournalEntry, type JournalStore, PARTS, type Part } from '../store/journal.ts'
import { createEntryId } from '../store/journal-id.ts'

/** How long events are collected before they are stored together, in milliseconds. */
const COLLECTED_FOR = 100
/** Entries that are stored together: a transaction of some milliseconds. */
const AT_ONCE = 200
/** Entries that wait while the store fails; beyond it the oldest are lost. */
const MAX_WAITING = 10_000
/** Beyond it, failed logins are lost as they come: so they never displace another entry. */
const MAX_WAITING_FAILURES = 1000
/** How long to wait before entries are stored that the store refused, in milliseconds. */
const RETRY = 1000
/** How often entries that are too old are removed, in milliseconds. */
const TRIM_INTERVAL = 30_000
/** Steps of one removal at most: a journal that became much smaller takes several of them. */
const TRIM_STEPS = 50

/** What the journal keeps; the age in milliseconds. */
export interface JournalSettings {
  keep: number
  max_entries: number
  /** Of the failed logins of accounts, and as many of names that no account has. */
  max_failures: number
}

export interface RecorderOptions {
  store: JournalStore
  settings: JournalSettings
  clock: Clock
  log: Logger
  meter: Meter
}

interface Counter {
  /** Counts entries that were stored, or lost. */
  journaled(result: 'written' | 'lost', entries: number): void
  /** Counts a failure of the store; the entries wait. */
  failed(): void
}

function createCounter(meter: Meter): Counter {
  const entries = meter.counter({
    name: 'dualgate_journal_entries_total',
    help: 'Entries of the journal by result: written, or lost because the store failed for too long',
    labelNames: ['result'],
  })
  const failures = meter.counter({
    name: 'dualgate_journal_failures_total',
    help: 'How often the store refused entries of the journal, which then wait',
  })
  // A counter that begins with its first loss would hide it from an alert, which needs a rise.
  for (const result of ['written', 'lost']) entries.inc({ result }, 0)
  return {
    journaled: (result, count) => entries.inc({ result }, count),
    failed: () => failures.inc(),
  }
}

/**
 * Writes events into the journal, after their requests were answered: collected for a tenth of a second and stored together.
 * So no request waits for the journal, or fails because of it, and a login costs little more. While the store fails, entries
 * wait in memory. A process that is killed loses the entries of its last tenth of a second; one that is stopped loses none
 * unless the store fails.
 */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #counter: Counter
  readonly #createId = createEntryId()
  readonly #interval: NodeJS.Timeout
  #waiting: JournalEntry[] = []
  /** Given to the store, which has not answered. */
  #unanswered: JournalEntry[] = []
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> | null = null
  #trimming: Promise<void> | null = null
  #isFailing = false
  #isClosed = false

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#counter = createCounter(options.meter)
    this.#interval = setInterval(() => this.#beginTrim(), TRIM_INTERVAL).unref()
  }

  readonly publish: Publish = event => {
    const { clock } = this.#options
    const { journaled } = this.#counter
    const entry = entryOf(event, this.#createId(Math.floor(clock.now())))
    if (entry === null) return
    if (isUnproven(event) && this.#waiting.length >= MAX_WAITING_FAILURES) return journaled('lost', 1)
    this.#waiting.push(entry)
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift()
      journaled('lost', 1)
    }
    this.#schedule(COLLECTED_FOR)
  }

  /** Stores what waits. Never fails: what the store refuses keeps waiting. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null
    })
    return this.#writing
  }

  /** Stores what waits, for up to `limit` milliseconds; what remains is lost. */
  async close(limit: number): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#interval)
    if (this.#timer !== null) clearTimeout(this.#timer)
    const over = new AbortController()
    const stored = this.#storeRest(over.signal)
    await within<unknown>(limit, Promise.all([stored, this.#trimming]), () => undefined)
    over.abort()
    const lost = this.#unanswered.length + this.#waiting.splice(0).length
    if (lost === 0) return
    this.#counter.journaled('lost', lost)
    this.#options.log.error({ entries: lost }, 'entries of the journal are lost')
  }

  /** Stores what waits, in as many attempts as it takes. Rejects when `over` ends a pause between them. */
  async #storeRest(over: AbortSignal): Promise<void> {
    await this.flush()
    // What was published while an earlier write was under way waits, too, although that did not fail.
    while (this.#waiting.length > 0) {
      if (this.#isFailing) await pause(RETRY, undefined, { signal: over })
      await this.flush()
    }
  }

  #schedule(delay: number): void {
    if (this.#timer !== null || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.flush()
    }, delay)
    this.#timer.unref()
  }

  async #write(): Promise<void> {
    const { store, settings, clock } = this.#options
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, AT_ONCE)
      this.#unanswered = some
      try {
        await store.append(some, clock.now() + settings.keep)
      } catch (fault) {
        this.#waiting.unshift(...some)
        this.#report(fault)
        this.#schedule(RETRY)
        return
      } finally {
        this.#unanswered = []
      }
      this.#isFailing = false
      this.#counter.journaled('written', some.length)
    }
    this.#beginTrim()
  }

  #report(err: unknown): void {
    const { log } = this.#options
    this.#counter.failed()
    const message = 'the journal cannot be written; its entries wait'
    if (!(err instanceof Refusal)) log.error({ err }, message)
    else if (!this.#isFailing) log.warn({ err }, message)
    this.#isFailing = true
  }

  /** Nothing waits for it: what fails is done by the next. */
  #beginTrim(): void {
    if (this.#isClosed) return
    this.#trimming ??= this.#trim()
      .catch(fault => {
        if (!(fault instanceof Refusal)) this.#report(fault)
      })
      .finally(() => {
        this.#trimming = null
      })
  }

  async #trim(): Promise<void> {
    for (const part of PARTS) await this.#trimPart(part)
  }

  async #trimPart(part: Part): Promise<void> {
    const { store, settings, clock } = this.#options
    const most = part === 'trail' ? settings.max_entries : settings.max_failures
    for (let step = 0; step < TRIM_STEPS && !this.#isClosed; step++) {
      if ((await store.trim(clock.now() - settings.keep, most, part)) === 0) return
    }
  }
}

/** The entry of an event. `null` for a renewal: a backend may renew a session with every request. */
function entryOf({ seconds, ended, replicated, ...event }: SessionEvent, id: string): JournalEntry | null {
  return event.event === 'renew' ? null : { ...event, id }
}
