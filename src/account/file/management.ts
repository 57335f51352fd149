import { invalid } from '../../base/refusal.ts'
import type { AccountEdit, AccountManagement, AddedAccount, Edited, ListedAccount } from '../management.ts'
import { type Change, entryAfter } from './change.ts'
import { faultOfSize } from './document.ts'
import { adding, indexOfId, passwordFields, resetFields, setting } from './edit.ts'
import { knownOf } from './known.ts'
import type { AccountEntry } from './schema.ts'
import { editByGateway, type FollowedEdits } from './updates.ts'

/** The administration of the accounts in a file. `current` are those that logins see. */
export function createFileManagement(
  file: FollowedEdits,
  current: () => Promise<{ readonly listed: readonly ListedAccount[] }>,
): AccountManagement {
  return {
    list: async () => (await current()).listed,
    async edit(decide) {
      // A file that was removed is unavailable: an account that is added to it would replace all others.
      await current()
      const outcomes: Omit<Edited<Awaited<ReturnType<typeof decide>>['result']>, 'changed'>[] = []
      const changed = await editByGateway(file, async entries => {
        const decided = await decide(entries.map(entry => knownOf(entry).listed))
        const change = decided.edit === null ? null : changeOf(decided.edit, entries)
        const version = change === null ? null : versionAfter(change, entries)
        outcomes.push({ result: decided.result, version })
        return change
      })
      return { ...outcomes.at(-1)!, changed }
    },
  }
}

function changeOf(wanted: AccountEdit, entries: readonly AccountEntry[]): Change | null {
  if ('add' in wanted) return adding(entries, fitting(entryOf(wanted.add)))
  const at = indexOfId(entries, wanted.id)
  if ('remove' in wanted) return at === -1 ? null : { at, remove: true }
  const { nickname, status, password, secondFactor, roles, permissions } = wanted.set
  const change = setting(at, {
    ...(nickname !== undefined && { nickname }),
    ...(status !== undefined && { status }),
    ...(roles !== undefined && { roles: [...roles] }),
    ...(permissions !== undefined && { permissions: [...permissions] }),
    ...(password !== undefined && passwordFields(password)),
    ...(secondFactor === null && at !== -1 && resetFields(entries[at]!)),
  })
  if (change !== null) fitting(entryAfter(entries[at]!, change.set))
  return change
}

/** Refuses with `INVALID` an account that is too large for a session. */
function fitting(entry: AccountEntry): AccountEntry {
  const fault = faultOfSize(entry)
  if (fault !== null) throw invalid('account', fault)
  return entry
}

function entryOf({ id, username, nickname, status, roles, permissions, password }: AddedAccount): AccountEntry {
  const { must_change_password, ...fields } = passwordFields(password)
  return {
    id,
    username,
    ...fields,
    ...(must_change_password !== undefined && { must_change_password }),
    nickname,
    status,
    roles: [...roles],
    permissions: [...permissions],
  }
}

function versionAfter(change: Change, entries: readonly AccountEntry[]): string | null {
  if ('remove' in change) return null
  const entry = 'add' in change ? change.add : entryAfter(entries[change.at]!, change.set)
  const { account, version } = knownOf(entry)
  return account.status === 'ACTIVE' ? version : null
}
