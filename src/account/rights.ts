import type { Clock } from '../clock.ts'
import type { Extra, LoginType, SessionRecord } from '../session.ts'
import type { RightsSource } from './accounts.ts'

/** Users whose rights are remembered; beyond it, the one that was read first is forgotten. */
const MAX_REMEMBERED = 10_000
const NO_RIGHTS: Extra = Object.freeze({})

export interface AccountRightsOptions {
  /** Where each side's accounts are; the records of a side without any go on telling the rights themselves. */
  sources: Readonly<Record<LoginType, RightsSource | null>>
  clock: Clock
  /** Milliseconds for which rights are remembered. */
  remember: number
}

/**
 * The rights of users as their accounts have them now (`permissions.source: accounts`): what is granted or withdrawn
 * counts without a new login, and sessions that other programs made need not name any. Answers the record with the
 * account's roles and permissions as its only `extra`, at once where they are remembered. A user without an active
 * account has none; a source that fails throws `Unavailable`, and nothing is remembered of it.
 */
export function createAccountRights({ sources, clock, remember }: AccountRightsOptions) {
  const known = new Map<string, { extra: Extra; until: number }>()
  const underWay = new Map<string, Promise<Extra>>()

  async function read(key: string, source: RightsSource, userId: string): Promise<Extra> {
    // From the question on: an answer is never believed for longer than it says.
    const until = clock.now() + remember
    const rights = await source.findRights(userId)
    const extra = rights === null ? NO_RIGHTS : { ...rights }
    known.delete(key)
    const [first] = known.size >= MAX_REMEMBERED ? known.keys() : []
    if (first !== undefined) known.delete(first)
    known.set(key, { extra, until })
    return extra
  }

  return (record: SessionRecord): SessionRecord | Promise<SessionRecord> => {
    const source = sources[record.type]
    if (source === null) return record
    const key = `${record.type} ${record.user_id}`
    const remembered = known.get(key)
    if (remembered !== undefined && clock.now() < remembered.until) return { ...record, extra: remembered.extra }
    let asked = underWay.get(key)
    if (asked === undefined) {
      asked = read(key, source, record.user_id).finally(() => underWay.delete(key))
      underWay.set(key, asked)
    }
    return asked.then(extra => ({ ...record, extra }))
  }
}
