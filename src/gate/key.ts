import type { SessionRecord } from '../session/record.ts'
import type { Key } from '../token/key-form.ts'
import { createAddressList } from './address-list.ts'

/* What the gate knows of keys: the credential of a program, and what a key allows of all that its owner may do. */

/** A key in the header of a request, and the address from which it came; `null` if that is not known. */
export class KeyCredential {
  readonly key: Key
  readonly address: string | null

  constructor(key: Key, address: string | null) {
    this.key = key
    this.address = address
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
  /** Whether the key may be used from an address; one that is not known is in no list. */
  admits(address: string | null): boolean
  /** Whether the key reaches a path. */
  reaches(path: string): boolean
  /** Whether the key includes a permission. Whether the owner holds it is another question. */
  includes(code: string): boolean
}

/** Where a key with these limits may be used. */
export function createReach({
  paths,
  addresses,
}: Omit<KeyLimits, 'permissions'>): Pick<GatedKey, 'admits' | 'reaches'> {
  const isListed = addresses === null ? () => true : createAddressList(addresses)
  return {
    admits: address => addresses === null || (address !== null && isListed(address)),
    reaches: path => paths === null || paths.some(prefix => path === prefix || path.startsWith(`${prefix}/`)),
  }
}

/** Whether a key may be used for a path, from an address. */
export const isInReach = (key: GatedKey, path: string, address: string | null): boolean =>
  key.reaches(path) && key.admits(address)
