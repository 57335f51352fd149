import { createGrants } from '../account/permissions.ts'
import type { Account } from '../account/source.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import { createAddressList } from '../gate/address-list.ts'
import type { Client, GatedKey } from '../gate/key-credential.ts'
import { type Extra, type SessionRecord, textsOf } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { Session } from '../side/side.ts'
import type { Token } from '../token/bearer.ts'
import type { StoredKey } from './record.ts'

/** Begins the name of a session by key. It has no dot, so it can be no token. */
const NAME = 'key:'

/** The name of a session by key: `expiresAt` is the end of the access token by which it was made; absent for the key itself. */
export const sessionNameOf = (id: string, expiresAt?: number): Token =>
  `${NAME}${id}${expiresAt === undefined ? '' : `:${expiresAt}`}` as Token

/** The id of the key, and the end of the access token, in the name of a session by key; `null` for a token. */
export function readSessionName(name: string): { id: string; expiresAt: number } | null {
  if (!name.startsWith(NAME)) return null
  const [id, end] = name.slice(NAME.length).split(':') as [string, string?]
  return { id, expiresAt: end === undefined ? Number.POSITIVE_INFINITY : Number(end) }
}

/** A key with its limits, as it proves sessions. */
class UsedKey implements GatedKey {
  readonly id: string
  readonly holder: SessionRecord
  readonly #paths: readonly string[] | null
  readonly #isListed: ((address: string) => boolean) | null
  readonly #grants: ((code: string) => boolean) | null

  constructor({ id, paths, addresses, permissions }: StoredKey, holder: SessionRecord) {
    this.id = id
    this.holder = holder
    this.#paths = paths
    this.#isListed = addresses === null ? null : createAddressList(addresses)
    this.#grants = permissions === null ? null : createGrants(permissions)
  }

  admits(client: Client): boolean {
    if (this.#isListed === null) return true
    const { address } = client
    return address !== null && this.#isListed(address)
  }

  reaches(path: string): boolean {
    return this.#paths === null || this.#paths.some(prefix => path === prefix || path.startsWith(`${prefix}/`))
  }

  includes(code: string): boolean {
    return this.#grants === null || this.#grants(code)
  }
}

/**
 * The session that a key proves. Backends read roles and permissions as rights, so the record of a limited key has no roles, and of
 * the permissions those alone that both the account and the key have as they are written.
 */
export function sessionOf(
  type: LoginType,
  key: StoredKey,
  { id: user_id, username, status, extra: stored }: Account,
  timestamps: TimestampFormat,
  expiresAt?: number,
): Session {
  const extra = { ...stored, username, status }
  const created_at = timestamps.write(key.createdAt)
  const holder: SessionRecord = { user_id, type, created_at, extra }
  const used = new UsedKey(key, holder)
  return {
    token: sessionNameOf(key.id, expiresAt),
    claims: { jti: key.id, iat: Math.floor(key.createdAt / 1000) },
    record: key.permissions === null ? holder : { ...holder, extra: limited(extra, key.permissions, used) },
    key: used,
  }
}

function limited(extra: Extra, permissions: readonly string[], used: UsedKey): Extra {
  const holds = createGrants(textsOf(extra, 'permissions'))
  const held = [...permissions.filter(holds), ...textsOf(extra, 'permissions').filter(code => used.includes(code))]
  return { ...extra, roles: [], permissions: [...new Set(held)] }
}
