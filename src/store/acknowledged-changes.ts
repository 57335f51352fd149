import type { Clock } from '../base/clock.ts'
import { isPlainObject } from '../base/plain-object.ts'

/*
 * Changes that a store in Redis has acknowledged, but that a server after a failover may have lost: replication is
 * asynchronous, and a server that restarts may load an older snapshot. Every process remembers these changes and
 * repeats them on such a server.
 */

/** A change that was acknowledged. `key` is a key of the store; `server` names the server that confirmed it. */
export type Acknowledged =
  /** A token's record was deleted. Tokens are unique: repeating it can end no later login. */
  | { readonly kind: 'ended'; readonly key: string; readonly server: string }
  /** The number of kickouts of a user. */
  | { readonly kind: 'kicked'; readonly key: string; readonly server: string; readonly count: number }
  | Disabled

/** A login id was disabled until then, or untied (`until` is 0). */
export interface Disabled {
  readonly kind: 'disabled'
  readonly key: string
  readonly server: string
  readonly until: number
  /** Of two changes of one login id the one with the higher version is the later. */
  readonly version: number
  /** Ends of earlier disables that this change replaced: a server that still has one of them missed this change. */
  readonly replaced: readonly number[]
}

/** A change in the text of another gateway; `null` for what none has written. Members of later versions stay. */
export function readAcknowledged(text: string): Acknowledged | null {
  try {
    const read: unknown = JSON.parse(text)
    return isPlainObject(read) && isAcknowledged(read) ? (read as Acknowledged) : null
  } catch {
    return null
  }
}

function isAcknowledged({ kind, key, server, count, until, version, replaced }: Record<string, unknown>): boolean {
  if (typeof key !== 'string' || typeof server !== 'string') return false
  if (kind === 'kicked') return Number.isFinite(count)
  if (kind !== 'disabled') return kind === 'ended'
  const areEnds = Array.isArray(replaced) && replaced.every(Number.isFinite)
  return Number.isFinite(until) && Number.isFinite(version) && areEnds
}

/** Shares acknowledged changes between the processes of a gateway. */
export interface Sharing {
  /** Resolves when they were passed on to every process. */
  share(changes: readonly Acknowledged[]): Promise<void>
  /** Receives what others share; what they shared before comes first. */
  receive(receiver: (changes: readonly Acknowledged[]) => void): void
}

/** For a gateway with a single process. */
export const NO_SHARING: Sharing = { share: async () => undefined, receive: () => undefined }

/**
 * How long a change is remembered, in milliseconds. A Sentinel elects no replica that has not followed its master for ten
 * times `down-after-milliseconds`, which is 300 s as Redis ships it. A disable is remembered until it ends.
 */
export const MEMORY = 600_000
/** Changes that are remembered, some 400 bytes each; beyond this number the oldest is dropped. */
export const MAX_RECENT = 50_000
export const MAX_DISABLED = 10_000
/** Ends that one change remembers to have replaced. */
const MAX_REPLACED = 8

export class AcknowledgedChanges {
  readonly #clock: Clock
  /** All but disables, with the times of `Clock.elapsed` at which they are forgotten, oldest first. */
  readonly #recent = new Map<string, { change: Acknowledged; until: number }>()
  readonly #disabled = new Map<string, Disabled>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Remembers changes, and returns those that were new. */
  add(changes: readonly Acknowledged[]): Acknowledged[] {
    const news = changes.map(change => this.#add(change)).filter(change => change !== null)
    this.#forget()
    return news
  }

  /** Whether the token below this key was ended. */
  isEnded(key: string): boolean {
    return this.#recent.size > 0 && this.#recent.get(key)?.change.kind === 'ended'
  }

  /** The last change of a login id; `undefined` when none is known. */
  disabled(key: string): Disabled | undefined {
    const change = this.#disabled.get(key) ?? this.#recent.get(key)?.change
    return change?.kind === 'disabled' ? change : undefined
  }

  /** Everything that is remembered. */
  all(): Acknowledged[] {
    this.#forget()
    const now = this.#clock.now()
    for (const [key, { until }] of this.#disabled) if (until <= now) this.#disabled.delete(key)
    return [...Array.from(this.#recent.values(), ({ change }) => change), ...this.#disabled.values()]
  }

  #add(change: Acknowledged): Acknowledged | null {
    if (change.kind === 'disabled') return this.#addDisabled(change)
    const known = this.#recent.get(change.key)?.change
    if (change.kind === 'ended' && known !== undefined) return null
    if (change.kind === 'kicked' && known?.kind === 'kicked' && known.count >= change.count) return null
    return this.#keep(change)
  }

  #addDisabled(change: Disabled): Acknowledged | null {
    const known = this.disabled(change.key)
    if (known !== undefined && known.version >= change.version) return null
    const before = known === undefined ? [] : [...known.replaced, known.until]
    const replaced = [...new Set([...before, ...change.replaced])].filter(end => end > 0 && end !== change.until)
    const merged = { ...change, replaced: replaced.slice(-MAX_REPLACED) }
    this.#disabled.delete(change.key)
    this.#recent.delete(change.key)
    if (merged.until === 0) return this.#keep(merged)
    this.#disabled.set(merged.key, merged)
    return merged
  }

  #keep(change: Acknowledged): Acknowledged {
    this.#recent.delete(change.key)
    this.#recent.set(change.key, { change, until: this.#clock.elapsed() + MEMORY })
    return change
  }

  #forget(): void {
    const now = this.#clock.elapsed()
    for (const [key, { until }] of this.#recent) {
      if (until > now && this.#recent.size <= MAX_RECENT) break
      this.#recent.delete(key)
    }
    for (const key of this.#disabled.keys()) {
      if (this.#disabled.size <= MAX_DISABLED) break
      this.#disabled.delete(key)
    }
  }
}
