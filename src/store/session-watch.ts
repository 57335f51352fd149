import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { Refusal } from '../refusal.ts'
import { bySide, LOGIN_TYPES, type LoginType } from '../session.ts'
import type { ChangeHearer, Changes } from './changes.ts'
import type { SessionStore } from './store.ts'

/** How often changes and ends are looked for while anything is watched, in milliseconds. */
const TICK = 25
/** Sessions that are asked for at the same time, at most. */
const MAX_ASKED = 250
/** How often a session is asked for while changes are not told, or the store fails, in milliseconds. */
const ASK_INTERVAL = 1000
/** For how long a session is believed to live while the store cannot tell, in milliseconds. */
export const MAX_UNKNOWN = 30_000

/** Why a session is watched no longer: it has ended, or nobody could tell for too long. */
export type EndOfWatch = 'ended' | 'unknown'

export interface WatchedSession {
  readonly type: LoginType
  readonly token: string
  readonly userId: string
}

export interface SessionWatchOptions {
  sessions: SessionStore
  changes: Changes
  clock: Clock
  log: Logger
  /** Whether a session counts as ended while its login id is disabled. */
  enforceDisable: boolean
}

class Entry implements WatchedSession {
  readonly type: LoginType
  readonly token: string
  readonly userId: string
  readonly hearers = new Set<(why: EndOfWatch) => void>()
  expiresAt = Number.POSITIVE_INFINITY
  /** When it was last known to live; looked at only while it is in doubt. */
  confirmedAt: number
  isInDoubt = true
  isAsked = false
  /** Whether anything was heard of it since it was asked for. */
  wasHeardOf = false
  nextAsk = 0

  constructor({ type, token, userId }: WatchedSession, now: number) {
    this.type = type
    this.token = token
    this.userId = userId
    this.confirmedAt = now
  }
}

/**
 * Tells when sessions end, whoever ends them, so that what was opened with them can be closed. Every change that is told
 * leads to a question to the store: renewals are changes too. While changes are not told, all watched sessions are asked
 * for again and again; while the store does not answer, a session is kept for `MAX_UNKNOWN` and then given up.
 */
export class SessionWatch {
  readonly #sessions: SessionStore
  readonly #changes: Changes
  readonly #clock: Clock
  readonly #log: Logger
  readonly #enforceDisable: boolean
  readonly #watched: Readonly<Record<LoginType, Map<string, Entry>>> = bySide(() => new Map())
  /** Those to be asked for as soon as there is room, */
  readonly #due = new Set<Entry>()
  /** and those to be asked for again, in the order of `nextAsk`. */
  readonly #later = new Set<Entry>()
  #ticking: NodeJS.Timeout | null = null
  #isTold = false
  /** When changes were last known to be told. */
  #toldAt = 0
  /** The first end of a watched session, as far as it is known. */
  #nextEnd = Number.POSITIVE_INFINITY
  #asked = 0

  constructor({ sessions, changes, clock, log, enforceDisable }: SessionWatchOptions) {
    this.#sessions = sessions
    this.#changes = changes
    this.#clock = clock
    this.#log = log
    this.#enforceDisable = enforceDisable
  }

  /** Tells once, when the session ends, and answers how to stop. One that has ended already is told at once. */
  watch(session: WatchedSession, ended: (why: EndOfWatch) => void): () => void {
    const known = this.#watched[session.type].get(session.token)
    const entry = known ?? new Entry(session, this.#clock.now())
    entry.hearers.add(ended)
    if (known === undefined) this.#enter(entry)
    return () => {
      if (entry.hearers.delete(ended) && entry.hearers.size === 0) this.#forget(entry)
    }
  }

  /** Nobody is told anything any more. */
  close(): void {
    if (this.#ticking !== null) clearInterval(this.#ticking)
    this.#ticking = null
    this.#changes.tell(null)
  }

  #enter(entry: Entry): void {
    this.#watched[entry.type].set(entry.token, entry)
    this.#begin()
    this.#due.add(entry)
    this.#askDue()
  }

  #begin(): void {
    if (this.#ticking !== null) return
    this.#isTold = false
    this.#changes.tell(this.#hearer)
    this.#ticking = setInterval(() => this.#tick(), TICK).unref()
  }

  #forget(entry: Entry): void {
    this.#watched[entry.type].delete(entry.token)
    this.#due.delete(entry)
    this.#later.delete(entry)
    if (LOGIN_TYPES.every(type => this.#watched[type].size === 0)) this.close()
  }

  readonly #hearer: ChangeHearer = {
    session: (type, token) => {
      const entry = this.#watched[type].get(token)
      if (entry === undefined) return
      this.#doubt(entry, this.#clock.now())
      this.#askDue()
    },
    bar: (type, userId) => {
      if (!this.#enforceDisable) return
      for (const entry of this.#watched[type].values())
        if (entry.userId === userId) this.#doubt(entry, this.#clock.now())
    },
    anything: () => {
      for (const entry of this.#all()) this.#doubt(entry, this.#clock.now())
    },
  }

  #tick(): void {
    const now = this.#clock.now()
    const isTold = this.#look()
    if (isTold !== this.#isTold) this.#doubtAll(isTold ? now : this.#toldAt)
    this.#isTold = isTold
    if (isTold) this.#toldAt = now
    if (now >= this.#nextEnd) this.#doubtEnding(now)
    for (const entry of this.#later) {
      if (entry.nextAsk > now) break
      this.#later.delete(entry)
      this.#due.add(entry)
    }
    this.#askDue()
  }

  *#all(): Iterable<Entry> {
    for (const type of LOGIN_TYPES) yield* this.#watched[type].values()
  }

  #look(): boolean {
    try {
      return this.#changes.look()
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault
      return false
    }
  }

  /** Between being told and not being told, something may have been missed. */
  #doubtAll(confirmedAt: number): void {
    for (const entry of this.#all()) this.#doubt(entry, confirmedAt)
  }

  #doubtEnding(now: number): void {
    this.#nextEnd = Number.POSITIVE_INFINITY
    for (const entry of this.#all()) {
      if (entry.expiresAt <= now) this.#doubt(entry, now)
      else this.#nextEnd = Math.min(this.#nextEnd, entry.expiresAt)
    }
  }

  /** To be asked for as soon as possible. */
  #doubt(entry: Entry, confirmedAt: number): void {
    if (!entry.isInDoubt) entry.confirmedAt = confirmedAt
    entry.isInDoubt = true
    entry.wasHeardOf = true
    this.#later.delete(entry)
    if (!entry.isAsked) this.#due.add(entry)
  }

  #askDue(): void {
    for (const entry of this.#due) {
      if (this.#asked >= MAX_ASKED) return
      this.#due.delete(entry)
      void this.#ask(entry)
    }
  }

  #askAgain(entry: Entry): void {
    entry.nextAsk = this.#clock.now() + ASK_INTERVAL
    this.#later.add(entry)
  }

  async #ask(entry: Entry): Promise<void> {
    entry.isAsked = true
    entry.wasHeardOf = false
    this.#asked++
    const askedAt = this.#clock.now()
    const end = await this.#endOf(entry)
    this.#asked--
    entry.isAsked = false
    if (entry.hearers.size > 0) this.#answered(entry, askedAt, end)
  }

  #answered(entry: Entry, askedAt: number, end: number | null | 'unknown'): void {
    if (end === null) this.#end(entry, 'ended')
    else if (end !== 'unknown') this.#confirm(entry, askedAt, end)
    else if (this.#clock.now() - entry.confirmedAt >= MAX_UNKNOWN) this.#end(entry, 'unknown')
    else this.#askAgain(entry)
  }

  #confirm(entry: Entry, askedAt: number, end: number): void {
    entry.confirmedAt = askedAt
    entry.expiresAt = end
    this.#nextEnd = Math.min(this.#nextEnd, end)
    if (entry.wasHeardOf) this.#due.add(entry)
    else if (this.#isTold) entry.isInDoubt = false
    else this.#askAgain(entry)
  }

  /** When the session ends; `null` when it has ended. */
  async #endOf({ type, token, userId }: Entry): Promise<number | null | 'unknown'> {
    try {
      if (this.#enforceDisable && (await this.#sessions.disabledUntil(type, userId)) !== null) return null
      return await this.#sessions.tokenExpiresAt(type, token)
    } catch (fault) {
      if (!(fault instanceof Refusal)) this.#log.error({ err: fault }, 'a session cannot be watched')
      return 'unknown'
    }
  }

  #end(entry: Entry, why: EndOfWatch): void {
    const hearers = [...entry.hearers]
    entry.hearers.clear()
    this.#forget(entry)
    for (const ended of hearers) ended(why)
  }
}
