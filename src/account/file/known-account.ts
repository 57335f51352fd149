import { type HashAccount, withoutHash } from '../hash-accounts.ts'
import type { ListedAccount } from '../management.ts'
import type { AccountEntry } from './schema.ts'

interface Known {
  account: HashAccount
  /** The same without its hash. */
  shown: ReturnType<typeof withoutHash>
  listed: ListedAccount
}

const known = new WeakMap<AccountEntry, Known>()

/** The account of an entry, and its versions. Computed once for each entry: they are some digests. */
export function knownOf(entry: AccountEntry): Known {
  const found = known.get(entry)
  if (found !== undefined) return found
  const account = accountOf(entry)
  const made = { account, shown: withoutHash(account), listed: listedOf(account) }
  known.set(entry, made)
  return made
}

function accountOf(entry: AccountEntry): HashAccount {
  const { id, username, password = '', must_change_password, password_changed_at, ...rest } = entry
  const { second_factor, second_factor_reset_at, service, added, ...others } = rest
  const status = others.status ?? 'ACTIVE'
  // Of a person, `added` is a further key like any other.
  const further = service === true || added === undefined ? others : { ...others, added }
  const extra = { nickname: username, avatar: null, roles: [], permissions: [], ...further, status }
  return {
    id,
    username,
    passwordHash: password,
    status,
    extra,
    ...(service === true && { service, ...(added !== undefined && { added }) }),
    ...(must_change_password === true && { mustChangePassword: true }),
    ...(password_changed_at !== undefined && { passwordChangedAt: Date.parse(password_changed_at) }),
    ...(second_factor !== undefined && { secondFactor: second_factor }),
    ...(second_factor_reset_at !== undefined && { secondFactorResetAt: second_factor_reset_at }),
  }
}

function listedOf({ id, username, status, extra, ...account }: HashAccount): ListedAccount {
  const { nickname, roles, permissions } = extra as { nickname: string; roles: string[]; permissions: string[] }
  return {
    id,
    username,
    nickname,
    status,
    service: account.service === true,
    roles,
    permissions,
    secondFactor: account.secondFactor !== undefined,
    mustChangePassword: account.mustChangePassword === true,
    passwordChangedAt: account.passwordChangedAt ?? null,
  }
}
