import { isPlainObject } from '../base/plain-object.ts'
import type { KeyLimits } from '../gate/key-credential.ts'
import type { LoginType } from '../session/sides.ts'
import type { Credential } from '../store/credentials.ts'

/** Who made a key: a login id of a side, or the command line. */
export interface KeyMaker {
  id: string
  /** Absent for the command line. */
  type?: LoginType
}

/** What is stored of a key beside its id, its owner and its end. */
export interface KeyRecord extends KeyLimits {
  name: string
  /** SHA-256 of its secret, in base64url. */
  digest: string
  /** The account's name, by which some sources find it. */
  username: string
  /**
   * The versions of the owner's account with which the key is valid (account/version.ts): that at its making, and, once the owner
   * has changed the password, those before and after the last change, and of changes at the same time. None where its source has none.
   */
  versions: readonly string[]
  /** In milliseconds. */
  createdAt: number
  createdBy: KeyMaker
}

/** A key as it is stored. */
export interface StoredKey extends KeyRecord {
  readonly id: string
  readonly owner: string
  readonly expiresAt: number
}

/** Whether a key is valid with a version of its owner's account: `null` without an account, `undefined` where there are no versions. */
export const isValidWith = ({ versions }: Pick<KeyRecord, 'versions'>, version: string | null | undefined): boolean =>
  version === undefined || (version !== null && (versions.length === 0 || versions.includes(version)))

export const writeKey = (record: KeyRecord): string => JSON.stringify(record)

/** `null` for a credential of another kind. */
export function readKey({ id, owner, text, expiresAt }: Credential): StoredKey | null {
  const value: unknown = JSON.parse(text)
  if (!isPlainObject(value) || typeof value.digest !== 'string') return null
  return { ...(value as unknown as KeyRecord), id, owner, expiresAt }
}

export const recordOf = ({ id: _id, owner: _owner, expiresAt: _end, ...record }: StoredKey): KeyRecord => record
