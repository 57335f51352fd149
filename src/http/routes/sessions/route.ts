import type { Permissions } from '../../../account/permissions.ts'
import type { Administration } from '../../../administration/administration.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Contract, DataOf } from '../contract.ts'
import { answering, type Endpoint, required } from '../own-routes.ts'
import type { Request } from '../serve-route.ts'

/** The permissions of the session administration. Administrators of the B side hold them, for both sides. */
export const SEE = 'sys:session:page'
export const END = 'sys:session:exit'
/** To disable and enable login ids. */
export const DISABLE = 'sys:session:disable'
/** With it a list shows tokens, without it handles. */
export const SEE_TOKENS = 'sys:session:token'

export const PERMISSIONS = [SEE, END, DISABLE, SEE_TOKENS] as const

export interface SessionRoutesOptions {
  administration: Administration
  permissions: Permissions
}

/** The administration is `null` where it is not served. */
export type SessionEndpointsOptions = Pick<SessionRoutesOptions, 'permissions'> & {
  administration: Administration | null
}

/** One route of the session administration, for both sides. */
export const sessionRoute =
  <C extends Contract>(
    permission: (typeof PERMISSIONS)[number],
    contract: C,
    answer: (request: Request<C>, type: LoginType, options: SessionRoutesOptions) => Promise<DataOf<C>>,
  ) =>
  ({ administration, permissions }: SessionEndpointsOptions): Endpoint =>
  type => {
    const options = { administration: required(administration), permissions }
    return answering(contract, request => answer(request, type, options), permission)
  }
