import type { LoginType } from '../../../session/sides.ts'
import { type EmbeddedFile, MAX_KEY_BYTES, type Rows } from '../file/lmdb-file.ts'
import { sideKey } from '../file/members.ts'

const BETWEEN_IDS = ' '

/** Which credentials an owner has. One table: side, owner -> their ids, the oldest first. */
export class CredentialOwners {
  readonly #rows: Rows

  constructor(file: EmbeddedFile) {
    this.#rows = file.table('owners')
  }

  /** Whether credentials of an owner can be stored here. */
  fits(owner: string): boolean {
    return sideKey('BUSINESS', owner).length <= MAX_KEY_BYTES
  }

  /** The ids of an owner, expired ones that no sweep has met yet included. */
  idsOf(type: LoginType, owner: string): string[] {
    if (!this.fits(owner)) return []
    return this.#rows.get(sideKey(type, owner))?.split(BETWEEN_IDS) ?? []
  }

  /** Within a write. */
  enter(type: LoginType, owner: string, id: string): void {
    this.#put(type, owner, [...this.idsOf(type, owner), id])
  }

  /** Within a write. */
  leave(type: LoginType, owner: string, id: string): void {
    this.#put(
      type,
      owner,
      this.idsOf(type, owner).filter(other => other !== id),
    )
  }

  #put(type: LoginType, owner: string, ids: readonly string[]): void {
    const key = sideKey(type, owner)
    if (ids.length === 0) this.#rows.removeSync(key)
    else this.#rows.putSync(key, ids.join(BETWEEN_IDS))
  }
}
