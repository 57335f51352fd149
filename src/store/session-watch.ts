import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import { Refusal } from '../base/refusal.ts'
import { bySide, LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { ChangeListener, Changes } from './changes.ts'
import type { SessionStore } from './store.ts'
import { type EndOfWatch, WatchedEntry, type WatchedSession } from './watched-session.ts'

/** How often changes and ends are checked while any session is watched, in milliseconds. */
const TICK = 25
/** Sessions that are read from the store at the same time, at most. */
const MAX_READS = 250
/** How often a session is read while changes may be missed, or the store fails, in milliseconds. */
const READ_INTERVAL = 1000
/** The same for a session by key: it depends on the account of its owner, too, of which no change is announced here. */
const KEY_INTERVAL = 500
/** How long a session counts as live while the store does not answer, in milliseconds. */
export const MAX_UNKNOWN = 30_000

export interface SessionWatchOptions {
  sessions: SessionStore
  changes: Changes
  clock: Clock
  log: Logger
  /** Whether a session counts as ended while its login id is disabled. */
  enforceDisable: boolean
  /** Absent where no session is proven by a key. */
  keys?: WatchedKeys | undefined
}

/** What the watch asks about sessions by key, which have a name in the place of a token. */
export interface WatchedKeys {
  /** The id of the key in the name of a session; `null` for a token. */
  idIn(name: string): string | null
  /** When the session ends; `null` when it has ended. Throws `Unavailable` when that is not known. */
  endOf(type: LoginType, name: string): Promise<number | null>
}

/**
 * Reports when sessions end, for any reason, so that connections that depend on them can be closed. Each change of a
 * session leads to a read from the store: renewals are changes too. While changes may be missed, all watched sessions
 * are read again and again; while the store does not answer, a session is kept for `MAX_UNKNOWN` and then given up.
 */
export class SessionWatch {
  readonly #sessions: SessionStore
  readonly #changes: Changes
  readonly #clock: Clock
  readonly #log: Logger
  readonly #enforceDisable: boolean
  readonly #keys: WatchedKeys | null
  readonly #watched: Readonly<Record<LoginType, Map<string, WatchedEntry>>> = bySide(() => new Map())
  /** Waiting to be read until fewer than `MAX_READS` are in progress. */
  readonly #due = new Set<WatchedEntry>()
  /** To be read again, in the order of `nextRead`. */
  readonly #later = new Set<WatchedEntry>()
  #ticking: NodeJS.Timeout | null = null
  /** Whether the store announces every change. */
  #isNotified = false
  /** When it last did, by `Clock.elapsed`. */
  #notifiedAt = 0
  /** The first end of a watched session, as far as it is known: a timestamp. */
  #nextEnd = Number.POSITIVE_INFINITY
  /** Reads in progress. */
  #reads = 0

  constructor({ sessions, changes, clock, log, enforceDisable, keys }: SessionWatchOptions) {
    this.#sessions = sessions
    this.#changes = changes
    this.#clock = clock
    this.#log = log
    this.#enforceDisable = enforceDisable
    this.#keys = keys ?? null
  }

  /** Calls `ended` once, when the session ends, or at once if it has ended. Returns a function to stop. */
  watch(session: WatchedSession, ended: (why: EndOfWatch) => void): () => void {
    const known = this.#watched[session.type].get(session.token)
    const entry = known ?? new WatchedEntry(session, this.#keys?.idIn(session.token) ?? null, this.#clock.elapsed())
    entry.listeners.add(ended)
    if (known === undefined) this.#enter(entry)
    return () => {
      if (entry.listeners.delete(ended) && entry.listeners.size === 0) this.#forget(entry)
    }
  }

  /** Stops reporting. */
  close(): void {
    if (this.#ticking !== null) clearInterval(this.#ticking)
    this.#ticking = null
    this.#changes.notify(null)
  }

  #enter(entry: WatchedEntry): void {
    this.#watched[entry.type].set(entry.token, entry)
    this.#begin()
    this.#due.add(entry)
    this.#readDue()
  }

  #begin(): void {
    if (this.#ticking !== null) return
    this.#isNotified = false
    this.#changes.notify(this.#listener)
    this.#ticking = setInterval(() => this.#tick(), TICK).unref()
  }

  #forget(entry: WatchedEntry): void {
    this.#watched[entry.type].delete(entry.token)
    this.#due.delete(entry)
    this.#later.delete(entry)
    if (LOGIN_TYPES.every(type => this.#watched[type].size === 0)) this.close()
  }

  readonly #listener: ChangeListener = {
    session: (type, token) => {
      const entry = this.#watched[type].get(token)
      if (entry === undefined) return
      this.#doubt(entry, this.#clock.elapsed())
      this.#readDue()
    },
    disabled: (type, userId) => {
      for (const entry of this.#watched[type].values()) {
        const depends = this.#enforceDisable || entry.keyId !== null
        if (depends && entry.userId === userId) this.#doubt(entry, this.#clock.elapsed())
      }
    },
    credential: (type, id) => {
      for (const entry of this.#watched[type].values())
        if (entry.keyId === id) this.#doubt(entry, this.#clock.elapsed())
      this.#readDue()
    },
    anything: () => {
      for (const entry of this.#all()) this.#doubt(entry, this.#clock.elapsed())
    },
  }

  #tick(): void {
    const now = this.#clock.elapsed()
    const isNotified = this.#poll()
    if (isNotified !== this.#isNotified) this.#doubtAll(isNotified ? now : this.#notifiedAt)
    this.#isNotified = isNotified
    if (isNotified) this.#notifiedAt = now
    this.#doubtEnding()
    for (const entry of this.#later) {
      if (entry.nextRead > now) break
      this.#later.delete(entry)
      this.#due.add(entry)
    }
    this.#readDue()
  }

  *#all(): Iterable<WatchedEntry> {
    for (const type of LOGIN_TYPES) yield* this.#watched[type].values()
  }

  #poll(): boolean {
    try {
      return this.#changes.poll()
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault
      return false
    }
  }

  /** When the announcements stop, and when they begin again, changes may have been missed. */
  #doubtAll(confirmedAt: number): void {
    for (const entry of this.#all()) this.#doubt(entry, confirmedAt)
  }

  #doubtEnding(): void {
    const now = this.#clock.now()
    if (now < this.#nextEnd) return
    this.#nextEnd = Number.POSITIVE_INFINITY
    for (const entry of this.#all()) {
      if (entry.expiresAt <= now) this.#doubt(entry, this.#clock.elapsed())
      else this.#nextEnd = Math.min(this.#nextEnd, entry.expiresAt)
    }
  }

  /** The session is read as soon as possible. */
  #doubt(entry: WatchedEntry, confirmedAt: number): void {
    if (!entry.isInDoubt) entry.confirmedAt = confirmedAt
    entry.isInDoubt = true
    entry.mayHaveChanged = true
    this.#later.delete(entry)
    if (!entry.isBeingRead) this.#due.add(entry)
  }

  #readDue(): void {
    for (const entry of this.#due) {
      if (this.#reads >= MAX_READS) return
      this.#due.delete(entry)
      void this.#read(entry)
    }
  }

  #readLater(entry: WatchedEntry): void {
    entry.nextRead = this.#clock.elapsed() + (entry.keyId === null ? READ_INTERVAL : KEY_INTERVAL)
    this.#later.add(entry)
  }

  async #read(entry: WatchedEntry): Promise<void> {
    entry.isBeingRead = true
    entry.mayHaveChanged = false
    this.#reads++
    const began = this.#clock.elapsed()
    const end = await this.#endOf(entry)
    this.#reads--
    entry.isBeingRead = false
    if (entry.listeners.size > 0) this.#learn(entry, began, end)
  }

  #learn(entry: WatchedEntry, began: number, end: number | null | 'unknown'): void {
    if (end === null) this.#end(entry, 'ended')
    else if (end !== 'unknown') this.#confirm(entry, began, end)
    else if (this.#clock.elapsed() - entry.confirmedAt >= MAX_UNKNOWN) this.#end(entry, 'unknown')
    else this.#readLater(entry)
  }

  #confirm(entry: WatchedEntry, began: number, end: number): void {
    entry.confirmedAt = began
    entry.expiresAt = end
    this.#nextEnd = Math.min(this.#nextEnd, end)
    if (entry.mayHaveChanged) this.#due.add(entry)
    else if (this.#isNotified && entry.keyId === null) entry.isInDoubt = false
    else this.#readLater(entry)
  }

  /** When the session ends; `null` when it has ended. */
  async #endOf({ type, token, userId, keyId }: WatchedEntry): Promise<number | null | 'unknown'> {
    try {
      if (keyId !== null) return await this.#keys!.endOf(type, token)
      if (this.#enforceDisable && (await this.#sessions.disabledUntil(type, userId)) !== null) return null
      return await this.#sessions.tokenExpiresAt(type, token)
    } catch (fault) {
      if (!(fault instanceof Refusal)) this.#log.error({ err: fault }, 'a session cannot be watched')
      return 'unknown'
    }
  }

  #end(entry: WatchedEntry, why: EndOfWatch): void {
    const listeners = [...entry.listeners]
    entry.listeners.clear()
    this.#forget(entry)
    for (const ended of listeners) ended(why)
  }
}
