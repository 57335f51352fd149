import type {
  AccountAdministration,
  Request as Requested,
} from '../../../administration/accounts/account-administration.ts'
import { EDIT_ACCOUNTS } from '../../../administration/accounts/account-administration.ts'
import type { LoginType } from '../../../session/sides.ts'
import { originOf } from '../../server/origin.ts'
import type { Contract, DataOf } from '../contract.ts'
import { answering, type Endpoint, required } from '../own-routes.ts'
import type { Request } from '../serve-route.ts'

/** The permissions of the account administration. Administrators of the B side hold them, for both sides. */
export const SEE_ACCOUNTS = 'sys:account:page'
export { EDIT_ACCOUNTS }
export const ACCOUNT_PERMISSIONS = [SEE_ACCOUNTS, EDIT_ACCOUNTS] as const

/** `null` for a side whose accounts are not administered here. */
export type Administrations = Readonly<Record<LoginType, AccountAdministration | null>>

/** One route of the account administration, for both sides. */
export const accountRoute =
  <C extends Contract>(
    permission: (typeof ACCOUNT_PERMISSIONS)[number],
    contract: C,
    answer: (request: Request<C>, accounts: AccountAdministration) => Promise<DataOf<C>>,
  ) =>
  (administrations: Administrations): Endpoint =>
  type => {
    const accounts = required(administrations[type])
    return answering(contract, request => answer(request, accounts), permission)
  }

/** Who requests a change. The guard of the route has found the session. */
export const requestedBy = (request: Parameters<typeof originOf>[0]): Requested => ({
  session: request.session!.record,
  origin: originOf(request),
})
