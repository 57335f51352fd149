import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoginType } from '../../../session/sides.ts'
import { DISABLED_AT_MOST, type PageQuery, type UserPage } from '../../online.ts'
import type { EmbeddedFile } from '../file/lmdb-file.ts'
import { readSideKey, sideKey } from '../file/members.ts'
import type { ExpiringTable } from '../file/table.ts'

/** Login ids that are read from one snapshot: below a millisecond. */
const IDS_AT_ONCE = 200

interface DisabledId {
  userId: string
  until: number
}

/** The list of disabled login ids. It reads all of them, some at a time, because the table has them in the order of the ids. */
export class DisabledIds {
  readonly #file: EmbeddedFile
  readonly #disables: ExpiringTable

  constructor(file: EmbeddedFile, disables: ExpiringTable) {
    this.#file = file
    this.#disables = disables
  }

  async page(type: LoginType, { offset, limit }: Pick<PageQuery, 'offset' | 'limit'>): Promise<UserPage> {
    const found: DisabledId[] = []
    let last: string | null = ''
    while (last !== null && found.length < DISABLED_AT_MOST) {
      const batch = this.#after(type, last)
      found.push(...batch.live)
      last = batch.last
      if (last !== null) await nextTurn()
    }
    const listed = found.slice(0, DISABLED_AT_MOST).sort((a, b) => a.until - b.until || (a.userId < b.userId ? -1 : 1))
    return { total: listed.length, userIds: listed.slice(offset, offset + limit).map(({ userId }) => userId) }
  }

  /** Some disabled login ids after one; `last` is `null` if there are no more of the side. */
  #after(type: LoginType, userId: string): { live: DisabledId[]; last: string | null } {
    return this.#file.read(() => {
      const keys = this.#disables.keysAfter(sideKey(type, userId), IDS_AT_ONCE)
      const own = keys.filter(key => readSideKey(key).type === type)
      const live = own.flatMap(key => {
        const entry = this.#disables.get(key)
        return entry === null ? [] : [{ userId: readSideKey(key).id, until: entry.expiresAt }]
      })
      const last = own.at(-1)
      return { live, last: own.length < IDS_AT_ONCE || last === undefined ? null : readSideKey(last).id }
    })
  }
}
