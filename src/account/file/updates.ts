import { Unavailable } from '../../base/refusal.ts'
import { ConfigurationError } from '../../yaml/fault.ts'
import { refuseUnwritable } from '../accounts.ts'
import type { HashUpdates } from '../hash-accounts.ts'
import { type Decide, type EditedFile, edit, indexOfId, passwordFields, setting } from './edit.ts'
import type { Writability } from './writability.ts'

/** A file that the gateway itself edits. */
export interface FollowedEdits extends EditedFile {
  readonly writability: Writability
}

/**
 * An edit by the gateway. Faults of the file, or of its place, are not those of the request: the source has failed. A place that is
 * known not to be writable is not tried.
 */
export async function editByGateway(file: FollowedEdits, decide: Decide): Promise<boolean> {
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
export const fileUpdates = (file: FollowedEdits): HashUpdates => ({
  can: new Set(['password', 'second-factor'] as const),
  fault: () => file.writability.fault(),
  setPassword: (id, { before, ...update }) =>
    editByGateway(file, entries => {
      const index = indexOfId(entries, id)
      const isExpected = before === undefined || entries[index]?.password === before
      return isExpected ? setting(index, passwordFields(update)) : null
    }),
  setSecondFactor: (id, sealed, expected) =>
    editByGateway(file, entries => {
      const index = indexOfId(entries, id)
      const isExpected = (entries[index]?.second_factor ?? null) === expected
      return isExpected ? setting(index, { second_factor: sealed ?? undefined }) : null
    }),
})
