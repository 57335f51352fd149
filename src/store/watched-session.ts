import type { LoginType } from '../session/sides.ts'

/** Why a session is no longer watched: it has ended, or the store did not answer for too long. */
export type EndOfWatch = 'ended' | 'unknown'

export interface WatchedSession {
  readonly type: LoginType
  readonly token: string
  readonly userId: string
}

/** A watched session, and what is known of it. */
export class WatchedEntry implements WatchedSession {
  readonly type: LoginType
  readonly token: string
  readonly userId: string
  readonly listeners = new Set<(why: EndOfWatch) => void>()
  expiresAt = Number.POSITIVE_INFINITY
  /** When it was last known to live, by `Clock.elapsed`; used only while it is in doubt. */
  confirmedAt: number
  isInDoubt = true
  isBeingRead = false
  /** Whether it may have changed since its read began. */
  mayHaveChanged = false
  /** By `Clock.elapsed`. */
  nextRead = 0
  /** The key that proves it; `null` where a token does. */
  readonly keyId: string | null

  constructor({ type, token, userId }: WatchedSession, keyId: string | null, now: number) {
    this.type = type
    this.token = token
    this.userId = userId
    this.keyId = keyId
    this.confirmedAt = now
  }
}
