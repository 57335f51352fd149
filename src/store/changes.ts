import type { LoginType } from '../session.ts'

/** Hears what became of sessions, whoever did it: this process, another one, or another program. */
export interface ChangeHearer {
  /** Something became of a session: it was stored, renewed or ended. */
  session(type: LoginType, token: string): void
  /** A login id was disabled or untied. */
  bar(type: LoginType, userId: string): void
  /** Anything may have become of any session. */
  anything(): void
}

/** Where a store tells what became of its sessions. One hearer at a time. */
export interface Changes {
  /** Tells this hearer from now on; `null` to tell nobody. */
  tell(hearer: ChangeHearer | null): void
  /**
   * Asked some dozens of times a second while there is a hearer: tells what is not told by itself, and answers whether the
   * hearer has been told everything that was done until now. Throws `Unavailable` when the store does not answer.
   */
  look(): boolean
}

/** Of a store that announces nothing: its sessions have to be asked for. */
export const NO_CHANGES: Changes = { tell: () => undefined, look: () => false }
