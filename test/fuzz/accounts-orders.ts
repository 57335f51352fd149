import type { Call } from './accounts-calls.ts'
import type { readFound } from './accounts-file.ts'
import { type Accounts, type Change, endsSessions, type ModelAccount } from './accounts-model.ts'

/* Calls at the same time: the orders in which one after the other would have come to the same. */

export interface ModelSession {
  token: string
  /** Of the account, when the session began. */
  then: ModelAccount
  /** Sessions that backends begin carry no version of their account. */
  isVersioned: boolean
  isLive: boolean
}

/** What one call came to. */
export interface Done {
  call: Call
  session: ModelSession | null
  change: Change
  code: number
}

export interface Order {
  done: readonly Done[]
  /** The accounts before and after each call. */
  states: Accounts[]
}

export const permutationsOf = <T>(items: readonly T[]): T[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item, i) => permutationsOf(items.toSpliced(i, 1)).map(rest => [item, ...rest]))

/** Whether the file holds these accounts, and other hashes exactly where there are other passwords. */
export function isFound(
  accounts: Accounts,
  found: Awaited<ReturnType<typeof readFound>>,
  hashes: ReadonlyMap<string, string>,
  before: Accounts,
): boolean {
  const shown = (all: readonly Omit<ModelAccount, 'password' | 'resets'>[]) =>
    JSON.stringify(
      all.map(({ id, username, nickname, status, roles, permissions, mustChange, hasFactor }) => [
        ...[id, username, nickname, status, roles, permissions, mustChange, hasFactor],
      ]),
    )
  if (shown(accounts) !== shown(found.accounts)) return false
  return before.every(({ id, password }) => {
    const now = accounts.find(account => account.id === id)
    return now === undefined || (now.password !== password) === (hashes.get(id) !== found.hashes.get(id))
  })
}

/**
 * What becomes of a session: changes through the gateway end it before they are answered; those past the gateway end it when
 * they are seen, unless another change has undone them by then.
 */
export function fateOf(
  session: ModelSession,
  before: Accounts,
  { done, states }: Order,
): 'ended at once' | 'ends' | 'lives' | 'either' {
  const { then, isVersioned } = session
  const of = (accounts: Accounts) => accounts.find(({ id }) => id === then.id)
  const earlier = isVersioned ? then : of(before)!
  const ends = states.slice(1).map(accounts => endsSessions(earlier, of(accounts)))
  const isAtOnce = done.some(
    ({ session: by, change }, i) =>
      by !== null &&
      'id' in change &&
      change.id === then.id &&
      ends[i]! &&
      isWritten(of(states[i]!), of(states[i + 1]!)),
  )
  if (isAtOnce) return 'ended at once'
  if (ends.at(-1) === true) return 'ends'
  // The time of a reset ends sessions, too, that began without the factor; of two in one second it is the same.
  const isReset = states.some(accounts => of(accounts)?.resets !== earlier.resets)
  return ends.includes(true) || isReset ? 'either' : 'lives'
}

/** A change to what is there already writes nothing, so the gateway reads no earlier what others have written. */
const isWritten = (before: ModelAccount | undefined, after: ModelAccount | undefined): boolean =>
  JSON.stringify(before) !== JSON.stringify(after)
