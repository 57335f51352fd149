import { invalid } from '../base/refusal.ts'

/** Only an active account signs in. */
export const ACCOUNT_STATUSES = ['ACTIVE', 'INACTIVE', 'LOCKED'] as const

export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]

/**
 * Whether an editor of the accounts can show a text, or a backend that gets it in a header: without control characters, halves of
 * characters and the two noncharacters that YAML does not have in a text (YAML 1.2.2, 5.1).
 */
export const isPrintable = (text: string): boolean => !/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u.test(text)

/** Refuses texts of a new or changed account, by field, that are not printable. */
export function refuseUnprintable(fields: Readonly<Record<string, readonly string[] | null | undefined>>): void {
  for (const [field, texts] of Object.entries(fields)) {
    if (texts?.every(isPrintable) === false)
      throw invalid(field, 'must not contain control characters or noncharacters')
  }
}

/** What administrators see of an account. */
export interface ListedAccount {
  readonly id: string
  readonly username: string
  readonly nickname: string
  readonly status: AccountStatus
  /** For programs: it has no password and no second factor, and cannot sign in. */
  readonly service: boolean
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
  readonly secondFactor: boolean
  readonly mustChangePassword: boolean
  /** In milliseconds; `null` if it is not known. */
  readonly passwordChangedAt: number | null
}

/** A hash instead of a password: it takes a tenth of a second to compute, in which no one should wait for the accounts. */
export interface HashedPassword {
  hash: string
  /** In milliseconds. */
  changedAt: number
  mustChange: boolean
}

export interface AddedFields {
  id: string
  username: string
  nickname: string
  status: AccountStatus
  roles: readonly string[]
  permissions: readonly string[]
}

/** The account of a person, or a service account; `addedAt` is in milliseconds. */
export type AddedAccount = AddedFields & ({ password: HashedPassword } | { service: true; addedAt: number })

/** A change of one account. */
export type AccountEdit =
  | { add: AddedAccount }
  | {
      id: string
      set: Partial<Omit<AddedFields, 'id' | 'username'>> & { password?: HashedPassword; secondFactor?: null }
    }
  | { id: string; remove: true }

/** Present in a source whose accounts are administered here. */
export interface AccountManagement {
  /** All accounts, in the order of the source. Throws `Unavailable` if the source fails. */
  list(): Promise<readonly ListedAccount[]>

  /**
   * Makes the change that `decide` returns for the present accounts, which no other process changes meanwhile. It may be
   * called again for other accounts; the last result is returned. `null` changes nothing, and what it throws changes nothing
   * either. Refuses with `INVALID` a username or an id that exists, and a password or a second factor for a service account.
   * Throws `Unavailable` if the source fails or has faults. When it resolves, `AccountChanges` of this process answers by the change.
   */
  edit<T>(decide: (accounts: readonly ListedAccount[]) => Decided<T> | Promise<Decided<T>>): Promise<Edited<T>>
}

export interface Decided<T> {
  edit: AccountEdit | null
  result: T
}

export interface Edited<T> {
  result: T
  /** `false` if everything was as the edit sets it. */
  changed: boolean
  /** The version of the account afterwards; `null` if there is no such account, or it is not `ACTIVE`. */
  version: string | null
  /** The version that its keys carry; `null` if there is no such account. */
  credentialVersion: string | null
}

/** Refuses a service account, which has nothing to reset. */
export function refuseServiceAccount({ service }: { service?: boolean | undefined }): void {
  if (service === true) throw invalid('id', 'belongs to a service account, which has no password and no second factor')
}
