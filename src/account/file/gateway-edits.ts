import { Unavailable } from '../../base/refusal.ts'
import { ConfigurationError } from '../../settings/notation/fault.ts'
import type { HashUpdates } from '../hash-accounts.ts'
import { refuseUnwritable } from '../source.ts'
import type { Change } from './changed-text.ts'
import { type Decide, type EditedFile, edit, type Outcome } from './edit-file.ts'
import { changeOf, indexOfId } from './entries.ts'
import type { AccountEntry } from './schema.ts'
import type { Writability } from './writability.ts'

/** A file that the gateway itself edits. */
export interface FollowedEdits extends EditedFile {
  readonly writability: Writability
}

/**
 * An edit by the gateway. Faults of the file, or of its place, are not those of the request: the source has failed. A place that is
 * known not to be writable is not tried.
 */
export async function editByGateway<T>(file: FollowedEdits, decide: Decide<T>): Promise<Outcome<T>> {
  refuseUnwritable(file.writability)
  try {
    return await edit(file, decide)
  } catch (fault) {
    if (fault instanceof ConfigurationError) throw new Unavailable('the accounts file has faults', fault)
    const outage = file.writability.failed(fault)
    throw outage === null ? fault : new Unavailable(outage.message, fault, 'ACCOUNTS_UNWRITABLE')
  }
}

/** What the gateway itself changes of the accounts in a file. */
export function fileUpdates(file: FollowedEdits): HashUpdates {
  /** Changes the account of a person that is as expected; `changeAt` gets its place. Resolves to `false` for another one. */
  async function update(
    id: string,
    isExpected: (entry: AccountEntry) => boolean,
    changeAt: (entries: readonly AccountEntry[], at: number) => Change | null,
  ): Promise<boolean> {
    const { changed } = await editByGateway(file, entries => {
      const at = indexOfId(entries, id)
      const entry = entries[at]
      const isFound = entry !== undefined && entry.service !== true && isExpected(entry)
      return { change: isFound ? changeAt(entries, at) : null, result: null }
    })
    return changed
  }

  return {
    can: new Set(['password', 'second-factor'] as const),
    fault: () => file.writability.fault(),
    setPassword: (id, { before, ...password }) =>
      update(
        id,
        entry => before === undefined || entry.password === before,
        entries => changeOf({ id, set: { password } }, entries),
      ),
    setSecondFactor: (id, sealed, expected, hash) =>
      update(
        id,
        entry => (entry.second_factor ?? null) === expected && (hash === undefined || entry.password === hash),
        (_entries, at) => ({ at, set: { second_factor: sealed ?? undefined } }),
      ),
  }
}
