import type { SessionRecord } from '../session/record.ts'
import type { Key } from '../token/key-form.ts'

/* What the gate knows of keys: the credential of a program, and what a key allows of all that its owner may do. */

/** Who sends a request. */
export interface Client {
  /** `null` if it is not known. Read only where it is needed: behind a proxy it is searched in headers. */
  readonly address: string | null
}

/** A key in the header of a request. */
export class KeyCredential {
  readonly key: Key
  readonly client: Client

  constructor(key: Key, client: Client) {
    this.key = key
    this.client = client
  }
}

/** Each is `null` for no limit. */
export interface KeyLimits {
  /** Permission codes, and patterns of them; an empty list grants nothing. */
  readonly permissions: readonly string[] | null
  /** Prefixes of paths, which end where a segment ends. */
  readonly paths: readonly string[] | null
  /** Addresses and CIDR ranges of clients. */
  readonly addresses: readonly string[] | null
}

/** The key that proves a session, as the gate reads it. */
export interface GatedKey {
  /** The owner with all present rights of the account: `record` has no more than the key allows. */
  readonly holder: SessionRecord
  /** Whether the key may be used by a client; one whose address is not known is in no list. */
  admits(client: Client): boolean
  /** Whether the key reaches a path. */
  reaches(path: string): boolean
  /** Whether the key includes a permission. Whether the owner holds it is another question. */
  includes(code: string): boolean
}

/** Whether a key may be used for a request. */
export const isInReach = (key: GatedKey, request: Client & { readonly path: string }): boolean =>
  key.reaches(request.path) && key.admits(request)
