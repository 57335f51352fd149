import type { Origin } from '../event/event.ts'
import type { Account, PreparedUpdate } from './source.ts'

/** The keys of accounts, which follow what becomes of the accounts. */
export interface AccountKeys {
  /**
   * Ends the keys of an owner that are not valid with a version of the account for credentials (version.ts): all of them if it is
   * `null`, and none if it is `undefined`, for a source without versions.
   */
  endOthers(owner: string, version: string | null | undefined, origin?: Origin): Promise<void>
  /**
   * The owners of keys that `endOthers` ends with the version of their account, some at a time; one may come twice. `versionOf` is
   * called for the owner of each key of the side.
   */
  ownersOfOthers(versionOf: (owner: string) => string | null | undefined): AsyncIterable<string[]>
  /**
   * Lets the keys of a user that are valid with the version of the account outlive a change of the own password, which `store`
   * stores and `next` will be the version of. Answers what `store` answers.
   */
  keptThrough(
    account: Pick<Account, 'id' | 'username' | 'credentialVersion'>,
    next: string | undefined,
    store: () => Promise<boolean>,
  ): Promise<boolean>
}

/** An update of the own password that the keys of its user outlive; `null` where the side has no keys. */
export function keptKeys<U extends PreparedUpdate>(
  keys: Pick<AccountKeys, 'keptThrough'> | null,
  account: Parameters<AccountKeys['keptThrough']>[0],
  update: U,
): U {
  return keys === null
    ? update
    : { ...update, store: () => keys.keptThrough(account, update.credentialVersion, update.store) }
}
