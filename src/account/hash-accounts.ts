import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { LoginType } from '../session/sides.ts'
import { type CostMemory, createFailureCost } from './failure-cost.ts'
import type { AccountManagement } from './management.ts'
import { hashPassword, isBcryptHash, MAX_COST, type Passwords } from './password.ts'
import type {
  Account,
  AccountChanges,
  Accounts,
  AccountUpdates,
  PasswordUpdate,
  RightsSource,
  Updatable,
} from './source.ts'
import { type Versions, versionsOf } from './version.ts'

/** An account with the bcrypt hash of its password: `$2a$`, `$2b$` or `$2y$`. */
export interface HashAccount extends Account {
  passwordHash: string
}

/** An account as it leaves a source of hashes: with its versions, and without its hash. */
export function withoutHash(found: HashAccount): Account & Versions {
  const { passwordHash: _, ...account } = found
  return { ...account, ...versionsOf(found) }
}

/** A source that returns hashes and leaves the comparison to the gateway: a file, a table, a backend. */
export interface HashSource extends RightsSource {
  find(username: string): Promise<HashAccount | null>
  /** The highest cost among the hashes of the last look-up; absent in a source that reads one account at a time. */
  highestCost?(): number
  readonly changes?: AccountChanges
  readonly updates?: HashUpdates
  readonly management?: AccountManagement
  close(): Promise<void>
}

export interface HashUpdates {
  readonly can: ReadonlySet<Updatable>
  /** `false` if there is no such account, or if its hash is not `before`, where that is given and the source can compare. */
  setPassword(
    id: string,
    update: Omit<PasswordUpdate, 'password'> & { hash: string; before?: string | undefined },
  ): Promise<boolean>
  /**
   * `false` if there is no such account, or if its second factor is not `expected`, or its hash not `hash`, where that is given and
   * the source can compare.
   */
  setSecondFactor(id: string, sealed: string | null, expected: string | null, hash?: string): Promise<boolean>
  fault?: AccountUpdates['fault']
  /** Fails if the source would not accept a change, as far as this can be found out without one. */
  check?(): Promise<void>
}

export interface HashAccountsOptions {
  /** The side of the accounts. */
  type: LoginType
  passwords: Passwords
  memory: CostMemory
  clock: Clock
  log: Pick<Logger, 'error'>
}

/** The accounts of a source of hashes. The hashes do not leave this function. */
export function createHashAccounts(source: HashSource, options: HashAccountsOptions): Accounts {
  const { type, passwords, log } = options
  const failureCost = createFailureCost(source, options)
  const hashes = new WeakMap<Account, string>()

  return {
    ...(source.changes !== undefined && { changes: source.changes }),
    ...(source.updates !== undefined && { updates: updatesOf(source.updates, hashes) }),
    ...(source.management !== undefined && { management: source.management }),
    async find(username) {
      const found = await source.find(username)
      if (found === null) return null
      const account = withoutHash(found)
      hashes.set(account, found.passwordHash)
      return account
    },
    async verify(found, password) {
      // It has no hash that could be missing by mistake.
      const account = found?.service === true ? null : found
      const hash = account === null ? null : (hashes.get(account) ?? null)
      if (account !== null && (hash === null || !isBcryptHash(hash))) {
        log.error(
          { type, login_id: account.id },
          `the password of this account is not stored as a bcrypt hash of cost 4 to ${MAX_COST}`,
        )
      }
      return passwords.verifyPassword(hash, password, await failureCost(hash))
    },
    findRights: id => source.findRights(id),
    close: () => source.close(),
  }
}

/** The hash of a new password is made here; with it the versions that the account will have. */
function updatesOf(updates: HashUpdates, hashes: WeakMap<Account, string>): AccountUpdates {
  const versionsWith = (
    account: Account,
    changed: { passwordHash?: string; secondFactor?: string | null },
  ): Versions => {
    const { secondFactor: present = null, ...others } = account
    const { passwordHash = hashes.get(account) ?? '', secondFactor = present } = changed
    return versionsOf({ ...others, passwordHash, ...(secondFactor !== null && { secondFactor }) })
  }
  return {
    can: updates.can,
    ...(updates.fault !== undefined && { fault: updates.fault }),
    async password(account, { password, ...update }) {
      const hash = await hashPassword(password)
      const versions = versionsWith(account, { passwordHash: hash })
      const before = hashes.get(account)
      return { ...versions, store: () => updates.setPassword(account.id, { ...update, hash, before }) }
    },
    secondFactor(account, sealed) {
      const versions = versionsWith(account, { secondFactor: sealed })
      const expected = account.secondFactor ?? null
      const hash = hashes.get(account)
      return { ...versions, store: () => updates.setSecondFactor(account.id, sealed, expected, hash) }
    },
  }
}
