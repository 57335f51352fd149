import type { MaybePromise } from '../base/maybe-promise.ts'
import type { LoginType } from '../session/sides.ts'

/*
 * The contract of what users prove themselves with beside a password, kept for as long as it is valid: keys of programs. In the
 * embedded store it is a file of its own (`credentials.mdb`), which belongs into backups. Timestamps are milliseconds since the
 * epoch. Absence is a value, never an error; a store that cannot answer throws `Unavailable`. A crash or a lost connection at any
 * step leaves no credential that can be found, and is in no list of its owner.
 */

export interface Credential {
  /** Unique on its side: letters, digits, `_` and `-`, 64 characters at most. */
  readonly id: string
  /** The login id to which it belongs. */
  readonly owner: string
  /** What its kind stores: text of at most 8 KiB. */
  readonly text: string
  readonly expiresAt: number
}

/** A credential in a list. */
export interface ListedCredential extends Credential {
  /** When it was last used, as far as that was noted; `null` if it was not. */
  readonly usedAt: number | null
  /** Whether another one has taken its place (`succeed`): it no longer counts, and lives on for a while. */
  readonly isSucceeded: boolean
}

export interface CredentialPage {
  /** Live credentials of the side; those that have just ended may be included. */
  total: number
  credentials: ListedCredential[]
}

export interface CredentialStore {
  /**
   * Stores a new credential, unless its owner has `most` live ones that count; `false` if so. Of several simultaneous calls, in any
   * process, as many succeed as there are places. An `add` that overlaps a `removeAll` of its owner is removed by it, or answers
   * after it; what answered `true` can be found and ended. Refuses an id that exists with an exception.
   */
  add(type: LoginType, credential: Credential, most: number): Promise<boolean>

  /**
   * The live credential of an id; `null` if this side has none. Sees every change acknowledged before the call, by whichever
   * process. Answers at once where the store remembers sessions of the side.
   */
  find(type: LoginType, id: string): MaybePromise<Credential | null>

  /** The live credentials of an owner, the newest first. */
  of(type: LoginType, owner: string): Promise<ListedCredential[]>

  /** The live credentials of a side, those that end next first. */
  page(type: LoginType, offset: number, limit: number): Promise<CredentialPage>

  /**
   * Every live credential of a side, some at a time and unordered, also while others are added and ended. One that lives from the
   * first batch to the last is included, perhaps twice.
   */
  all(type: LoginType): AsyncIterable<Credential[]>

  /**
   * Stores `next` in the place of a live credential of the same owner, which lives on until `until`, or until its own end if that
   * is earlier, and no longer counts. `false`, and nothing is changed, if it is not live, of another owner, or was succeeded before:
   * of several simultaneous calls one succeeds.
   */
  succeed(type: LoginType, owner: string, id: string, next: Credential, until: number): Promise<boolean>

  /**
   * Replaces the text of a live credential, which keeps its owner and its end, if the text is `from`. `false` if it is another one,
   * or not live: it is never created.
   */
  rewrite(type: LoginType, id: string, from: string, to: string): Promise<boolean>

  /** Ends a credential of an owner for good; `false` if it is not a live one of that owner. */
  remove(type: LoginType, owner: string, id: string): Promise<boolean>

  /** Ends every credential that the owner had at the call, and answers their ids. */
  removeAll(type: LoginType, owner: string): Promise<string[]>

  /** Notes when a credential was used. It may be lost, and is no change of which a listener is notified. */
  used(type: LoginType, id: string, at: number): Promise<void>
}

const ID = /^[\w-]{1,64}$/
const MAX_TEXT_BYTES = 8192

/** Throws a `RangeError` for a credential that no store keeps. */
export function checkCredential({ id, text, expiresAt }: Credential): void {
  if (!ID.test(id)) throw new RangeError('the id of the credential has another form')
  if (!Number.isFinite(expiresAt)) throw new RangeError('the credential has no end')
  checkText(text)
}

/** The same for its text alone. */
export function checkText(text: string): void {
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES) throw new RangeError('the text of the credential is too long')
}

/** Refuses to store a credential under an id that exists. */
export const existsAlready = (): Error => new Error('a credential of this id exists')
