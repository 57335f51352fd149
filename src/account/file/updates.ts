import { Unavailable } from '../../refusal.ts'
import { ConfigurationError } from '../../yaml/fault.ts'
import type { HashUpdates } from '../hash-accounts.ts'
import { type Decide, type EditedFile, edit, indexOfId, passwordFields, setting } from './edit.ts'

/** An edit by the gateway. Faults of the file are not those of the request: the source has failed. */
export const editByGateway = (file: EditedFile, decide: Decide): Promise<boolean> =>
  edit(file, decide).catch(fault => {
    throw fault instanceof ConfigurationError ? new Unavailable('the accounts file has faults', fault) : fault
  })

/** What the gateway itself changes of the accounts in a file. */
export const fileUpdates = (file: EditedFile): HashUpdates => ({
  can: new Set(['password', 'second-factor'] as const),
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
