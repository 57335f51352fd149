import { createHash } from 'node:crypto'
import type { ListedAccount } from '../../account/management.ts'
import { Refusal } from '../../base/refusal.ts'

/** What administrators change of an account. */
const FIELDS = ['nickname', 'status', 'roles', 'permissions'] as const

type Revised = Pick<ListedAccount, (typeof FIELDS)[number]>

/** A digest of each field: whoever reads an account and then changes a field learns whether another change came between. */
export const revisionOf = (account: Revised): string => FIELDS.map(field => digest(account[field])).join('.')

/**
 * Refuses with `ACCOUNT_CHANGED` to change a field that is no longer as it was at a revision. A field that is as it shall become is
 * no reason: the answer to the same call may have been lost.
 */
export function refuseOutdated(revision: string, before: Revised, after: Revised): void {
  const [read, now, next] = [revision, revisionOf(before), revisionOf(after)].map(one => one.split('.'))
  if (next!.some((value, i) => value !== now![i] && read![i] !== now![i])) throw new Refusal('ACCOUNT_CHANGED')
}

/** 48 bits. The order in which a source lists roles is not theirs. */
function digest(value: string | readonly string[]): string {
  const text = typeof value === 'string' ? value : JSON.stringify([...new Set(value)].sort())
  return createHash('sha256').update(text).digest('base64url').slice(0, 8)
}
