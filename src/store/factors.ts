import type { LoginType } from '../session/sides.ts'

/**
 * Second factors of accounts whose source has no place for them: one text for each login id of a side, without an end. In the
 * embedded store they are in the file of the credentials, which belongs into backups. Absence is a value, never an error; a store
 * that cannot answer throws `Unavailable`.
 */
export interface FactorStore {
  /** The text of a login id; `null` without one. Sees every change acknowledged before the call, by whichever process. */
  read(type: LoginType, loginId: string): Promise<string | null>

  /**
   * Stores another text in the place of `from`; `null` stands for no text. `false`, and nothing is changed, if the stored
   * one is another: of several simultaneous calls with one `from`, in any process, one succeeds. What it answered is durable as a new
   * session is. Refuses a text that is empty or has more than 8 KiB with a `RangeError`.
   */
  replace(type: LoginType, loginId: string, from: string | null, to: string): Promise<boolean>
}

const MAX_FACTOR_BYTES = 8192

/** Throws a `RangeError` for a text that no store keeps. */
export function checkFactor(text: string): void {
  if (text === '') throw new RangeError('the text of the second factor is empty')
  if (Buffer.byteLength(text) > MAX_FACTOR_BYTES) throw new RangeError('the text of the second factor is too long')
}
