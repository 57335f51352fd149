import type { LoginType } from '../session/sides.ts'

/** Is notified of changes of sessions by this process, another process or another program. */
export interface ChangeListener {
  /** A session was stored, renewed or ended. */
  session(type: LoginType, token: string): void
  /** A login id was disabled or untied. */
  disabled(type: LoginType, userId: string): void
  /** A credential was stored, rewritten or ended. */
  credential(type: LoginType, id: string): void
  /** Any session and any login id may have changed. */
  anything(): void
}

/** Notifies one listener at a time of changes. The expiry of a session is not announced, because its time is known. */
export interface Changes {
  /** Notifies this listener from now on, and the one before no longer; `null` ends it. */
  notify(listener: ChangeListener | null): void
  /**
   * Called some dozens of times a second while there is a listener: notifies it of what a store does not announce by itself.
   * `true` when no change since the call before was missed: the listener has been notified of each, or will be as soon as
   * the announcement arrives. `false` when some may have been missed. Throws `Unavailable` when the store does not answer.
   */
  poll(): boolean
}

/** Of a store that announces nothing: its sessions have to be read again and again. */
export const NO_CHANGES: Changes = { notify: () => undefined, poll: () => false }
