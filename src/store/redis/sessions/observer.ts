import type { SessionRecord } from '../../../session/record.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { StoredToken } from '../../store.ts'

/** Receives changes of sessions after they were done. Its failures do not fail a verb. */
export interface SessionObserver {
  added(type: LoginType, token: string, record: SessionRecord, expiresAt: number): void
  ended(type: LoginType, userId: string, tokens: readonly string[]): void
  renewed(type: LoginType, userId: string, token: string, expiresAt: number): void
  /** A login id was disabled until then, or enabled (0). */
  disabled(type: LoginType, userId: string, until: number): void
  /** A live session was read, on its way through the gate or otherwise. Called for each request that asks the store. */
  seen(type: LoginType, token: string, userId: string): void
  /** Called before a user's tokens are read; the returned function receives the tokens found. */
  reading(type: LoginType, userId: string): (live: readonly StoredToken[]) => Promise<void>
}

export const NO_OBSERVER: SessionObserver = {
  added: () => undefined,
  ended: () => undefined,
  renewed: () => undefined,
  disabled: () => undefined,
  seen: () => undefined,
  reading: () => async () => undefined,
}
