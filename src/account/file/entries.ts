import { systemClock } from '../../base/clock.ts'
import { invalid, NOT_A_LOGIN_ID } from '../../base/refusal.ts'
import { isLoginId } from '../../session/record.ts'
import { type AccountEdit, type AddedAccount, type HashedPassword, refuseServiceAccount } from '../management.ts'
import { type Change, entryAfter, type Fields } from './changed-text.ts'
import { faultOfSize, isUsername, nameKey } from './document.ts'
import type { AccountEntry } from './schema.ts'

/**
 * The change of the entries that an edit means; `null` without such an account. Refuses with `INVALID` a name or an id that
 * exists or is invalid, an account that is too large for a session, and a password or second factor for a service account.
 */
export function changeOf(edit: AccountEdit, entries: readonly AccountEntry[]): Change | null {
  if ('add' in edit) return { add: fitting(refuseTaken(entryOf(edit.add), entries)) }
  const at = indexOfId(entries, edit.id)
  const entry = entries[at]
  if (entry === undefined) return null
  if ('remove' in edit) return { at, remove: true }
  if (edit.set.password !== undefined || edit.set.secondFactor !== undefined) refuseServiceAccount(entry)
  const set = fieldsOf(edit.set, entry)
  fitting(entryAfter(entry, set))
  return { at, set }
}

function refuseTaken(entry: AccountEntry, entries: readonly AccountEntry[]): AccountEntry {
  const { username, id } = entry
  if (!isUsername(username)) throw invalid('username', 'must be 1 to 128 characters without spaces at its ends')
  if (!isLoginId(id)) throw invalid('id', NOT_A_LOGIN_ID)
  if (entryNamed(entries, username) !== undefined) throw invalid('username', 'is taken')
  if (indexOfId(entries, id) !== -1) throw invalid('id', 'is taken')
  return entry
}

function fitting(entry: AccountEntry): AccountEntry {
  const fault = faultOfSize(entry)
  if (fault !== null) throw invalid('account', fault)
  return entry
}

type Settings = Extract<AccountEdit, { set: unknown }>['set']

const fieldsOf = (
  { nickname, status, roles, permissions, password, secondFactor }: Settings,
  entry: AccountEntry,
): Fields => ({
  ...(nickname !== undefined && { nickname }),
  ...(status !== undefined && { status }),
  ...(roles !== undefined && { roles: [...roles] }),
  ...(permissions !== undefined && { permissions: [...permissions] }),
  ...(password !== undefined && passwordFields(password)),
  ...(secondFactor === null && resetFields(entry)),
})

export function entryOf(added: AddedAccount): AccountEntry {
  const { id, username, nickname, status, roles, permissions } = added
  const kind = 'service' in added ? serviceFields(added) : newPasswordFields(added.password)
  return { id, username, ...kind, nickname, status, roles: [...roles], permissions: [...permissions] }
}

/** With the time, so that keys of an account that was removed do not fit one that is added in its place (`version.ts`). */
const serviceFields = ({ service, addedAt }: Extract<AddedAccount, { service: true }>) => ({
  service,
  added: timeText(addedAt),
})

function newPasswordFields(password: HashedPassword) {
  const { must_change_password, ...fields } = passwordFields(password)
  return { ...fields, ...(must_change_password !== undefined && { must_change_password }) }
}

/** Milliseconds as the file shows them. */
const timeText = (time: number): string => new Date(time).toISOString()

const passwordFields = ({ hash, changedAt, mustChange }: HashedPassword) => ({
  password: hash,
  password_changed_at: timeText(changedAt),
  must_change_password: mustChange ? true : undefined,
})

/**
 * Removes the second factor, if there is one. Sessions from before it was set up carry no trace of it: they end because of
 * the time of the reset.
 */
const resetFields = ({ second_factor }: AccountEntry): Fields =>
  second_factor === undefined ? {} : { second_factor: undefined, second_factor_reset_at: timeText(systemClock.now()) }

export const entryNamed = (entries: readonly AccountEntry[], username: string): AccountEntry | undefined =>
  entries.find(entry => nameKey(entry.username) === nameKey(username))

export const indexOfId = (entries: readonly AccountEntry[], id: string): number =>
  entries.findIndex(entry => entry.id === id)
