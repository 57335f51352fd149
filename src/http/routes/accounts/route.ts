import type { FastifyInstance } from 'fastify'
import type { AccountAdministration, Request as Requested } from '../../../administration/accounts/accounts.ts'
import { EDIT_ACCOUNTS } from '../../../administration/accounts/accounts.ts'
import type { LoginType } from '../../../session.ts'
import type { Envelopes } from '../../server/envelope.ts'
import type { Guards } from '../../server/guards.ts'
import { originOf } from '../../server/origin.ts'
import { type Contract, type DataOf, type Request, serveAny } from '../contract.ts'

/** The permissions of the account administration. Administrators of the B side hold them, for both sides. */
export const SEE_ACCOUNTS = 'sys:account:page'
export { EDIT_ACCOUNTS }
export const ACCOUNT_PERMISSIONS = [SEE_ACCOUNTS, EDIT_ACCOUNTS] as const

export interface AccountRoutesOptions {
  versions: readonly number[]
  /** `null` for a side whose accounts are not administered here. */
  accounts: Readonly<Record<LoginType, AccountAdministration | null>>
  guards: Guards
  envelopes: Envelopes
}

/** Serves one route of the account administration for one side. */
export type AccountRoute = (
  app: FastifyInstance,
  at: { method: 'GET' | 'POST'; path: string; type: LoginType; accounts: AccountAdministration },
  options: Pick<AccountRoutesOptions, 'guards' | 'envelopes'>,
) => void

export const accountRoute =
  <C extends Contract>(
    permission: (typeof ACCOUNT_PERMISSIONS)[number],
    contract: C,
    answer: (request: Request<C>, accounts: AccountAdministration) => Promise<DataOf<C>>,
  ): AccountRoute =>
  (app, { method, path, type, accounts }, { guards, envelopes }) =>
    serveAny(app, envelopes, {
      method,
      path,
      place: { group: 'administration', side: type, needs: 'BUSINESS', permission },
      contract,
      onRequest: guards.requirePermission('BUSINESS', [permission]),
      answer: request => answer(request as Request<C>, accounts),
    })

/** Who requests a change. The guard of the route has found the session. */
export const requestedBy = (request: Parameters<typeof originOf>[0]): Requested => ({
  session: request.session!.record,
  origin: originOf(request),
})
