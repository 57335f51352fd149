import type { Account, AccountSource } from '../account/source.ts'
import type { Clock } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { createRecent } from '../base/recent.ts'
import { isValidWith, type StoredKey } from './record.ts'

/**
 * The account of the owner of a key, as it is now; `null` while it is not there or not ACTIVE, and if its password or second factor
 * was reset since the key was made. Throws `Unavailable` if the source cannot tell. Whether the key ends is not decided here: a
 * gateway may know an older state of the accounts than the one that made the key. `known` is what it was for the same key before.
 */
export type HolderOf = (key: StoredKey, known?: Account | null) => MaybePromise<Account | null>

export interface HoldersOptions {
  accounts: Pick<AccountSource, 'find' | 'changes'>
  /** How long the answer of a source is used that does not report changes, in milliseconds. */
  recheck: number
  clock: Clock
}

/** Names whose accounts are remembered; beyond it the least recently used half is dropped. */
const REMEMBERED = 20_000

export function createHolders({ accounts, recheck, clock }: HoldersOptions): HolderOf {
  const { changes } = accounts
  if (changes === undefined) return createAsked({ accounts, recheck, clock })
  return (key, known = null) => {
    const present = changes.accountOf(key.owner)
    if (present !== null && (present === known || isHolder(key, present))) return present
    // Another process may have read a later state of the accounts. It fails where they cannot be read: then nothing is known.
    return accounts.find(key.username).then(() => valid(key, changes.accountOf(key.owner)))
  }
}

/** Asks the source, once in a while for each name: the keys of a renamed owner carry several. */
function createAsked({ accounts, recheck, clock }: HoldersOptions): HolderOf {
  const known = createRecent<Read>(REMEMBERED)
  const underWay = new Map<string, Promise<Read>>()

  async function read(username: string): Promise<Read> {
    // Counted from the question, so that an answer is never used for longer than this.
    const [readAt, until] = [clock.now(), clock.elapsed() + recheck]
    const answer = { account: await accounts.find(username), readAt, until }
    known.set(username, answer)
    return answer
  }

  /** Those who ask at the same time get one answer. */
  function ask(username: string): Promise<Read> {
    const asked = underWay.get(username) ?? read(username).finally(() => underWay.delete(username))
    underWay.set(username, asked)
    return asked
  }

  return key => {
    const { username } = key
    const remembered = known.get(username)
    if (remembered !== undefined && clock.elapsed() < remembered.until && decides(key, remembered))
      return valid(key, remembered.account)
    const isUnderWay = underWay.has(username)
    return ask(username)
      .then(answer => (isUnderWay && !decides(key, answer) ? ask(username) : answer))
      .then(({ account }) => valid(key, account))
  }
}

/** What the source answered, when it was asked, and until when the answer is used. */
interface Read {
  account: Account | null
  readAt: number
  until: number
}

/** Whether an answer decides about a key: what was read before the key was made may be the account before a reset. */
const decides = (key: StoredKey, { account, readAt }: Read): boolean =>
  valid(key, account) !== null || readAt > key.createdAt

const valid = (key: StoredKey, account: Account | null): Account | null =>
  account?.id === key.owner && isHolder(key, account) ? account : null

const isHolder = (key: StoredKey, { status, credentialVersion }: Account): boolean =>
  status === 'ACTIVE' && isValidWith(key, credentialVersion)
