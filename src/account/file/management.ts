import type { AccountManagement, ListedAccount } from '../management.ts'
import type { Account } from '../source.ts'
import type { Versions } from '../version.ts'
import { type Change, entryAfter } from './changed-text.ts'
import { changeOf } from './entries.ts'
import { editByGateway, type FollowedEdits } from './gateway-edits.ts'
import { knownOf } from './known-account.ts'
import { activeVersionOf } from './read-accounts.ts'
import type { AccountEntry } from './schema.ts'

/** The administration of the accounts in a file. `current` are those that logins see. */
export function createFileManagement(
  edits: FollowedEdits,
  { current, refresh }: { current(): Promise<{ readonly listed: readonly ListedAccount[] }>; refresh(): Promise<void> },
): AccountManagement {
  return {
    list: async () => (await current()).listed,
    async edit(decide) {
      // A file that was removed is unavailable: an account that is added to it would replace all others.
      await current()
      const { changed, result } = await editByGateway(edits, async entries => {
        const { edit, result } = await decide(entries.map(entry => knownOf(entry).listed))
        const change = edit === null ? null : changeOf(edit, entries)
        const after = change === null ? undefined : accountAfter(change, entries)
        const credentialVersion = after?.credentialVersion ?? null
        return { change, result: { result, version: activeVersionOf(after), credentialVersion } }
      })
      // Requests by key need the account as it is now, and no session of theirs ends.
      if (changed) await refresh()
      return { ...result, changed }
    },
  }
}

function accountAfter(change: Change, entries: readonly AccountEntry[]): (Account & Versions) | undefined {
  if ('remove' in change) return undefined
  return knownOf('add' in change ? change.add : entryAfter(entries[change.at]!, change.set)).shown
}
