import type { Clock } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Extra } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { RightsHolder } from './permissions.ts'
import type { RightsSource } from './source.ts'

/** Users whose rights are cached; beyond this number the oldest entry is dropped. */
const MAX_REMEMBERED = 10_000
const NO_RIGHTS: Extra = Object.freeze({})

export interface AccountRightsOptions {
  /** Where each side's accounts are; for a side without accounts the records have the rights. */
  sources: Readonly<Record<LoginType, RightsSource | null>>
  clock: Clock
  /** How long rights are cached, in milliseconds. */
  remember: number
}

/**
 * The present rights of users from their accounts (`permissions.source: accounts`): changes take effect without a new
 * login, and sessions of other programs need not contain rights. Returns the record with the account's roles and
 * permissions as its only `extra`, immediately if they are cached. A user without an active account has no rights. A
 * failing source throws `Unavailable`, and the failure is not cached.
 */
export function createAccountRights({ sources, clock, remember }: AccountRightsOptions) {
  const known = new Map<string, { extra: Extra; until: number }>()
  const underWay = new Map<string, Promise<Extra>>()

  async function read(key: string, source: RightsSource, userId: string): Promise<Extra> {
    // Counted from the query, so that an answer is never used for longer than this.
    const until = clock.elapsed() + remember
    const rights = await source.findRights(userId)
    const extra = rights === null ? NO_RIGHTS : { ...rights }
    known.delete(key)
    const [first] = known.size >= MAX_REMEMBERED ? known.keys() : []
    if (first !== undefined) known.delete(first)
    known.set(key, { extra, until })
    return extra
  }

  return <H extends RightsHolder>(record: H): MaybePromise<H> => {
    const source = sources[record.type]
    if (source === null) return record
    const key = `${record.type} ${record.user_id}`
    const remembered = known.get(key)
    if (remembered !== undefined && clock.elapsed() < remembered.until) return { ...record, extra: remembered.extra }
    let asked = underWay.get(key)
    if (asked === undefined) {
      asked = read(key, source, record.user_id).finally(() => underWay.delete(key))
      underWay.set(key, asked)
    }
    return asked.then(extra => ({ ...record, extra }))
  }
}
