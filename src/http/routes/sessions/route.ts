import type { FastifyInstance } from 'fastify'
import type { Permissions } from '../../../account/permissions.ts'
import type { Administration } from '../../../administration/administration.ts'
import type { LoginType } from '../../../session.ts'
import type { Envelopes } from '../../server/envelope.ts'
import type { Guards } from '../../server/guards.ts'
import { type Contract, type DataOf, type Request, serveAny } from '../contract.ts'

/** The permissions of the session administration. Administrators of the B side hold them, for both sides. */
export const SEE = 'sys:session:page'
export const END = 'sys:session:exit'
/** To disable and enable login ids. */
export const DISABLE = 'sys:session:disable'
/** With it a list shows tokens, without it handles. */
export const SEE_TOKENS = 'sys:session:token'

export const PERMISSIONS = [SEE, END, DISABLE, SEE_TOKENS] as const

export interface SessionRoutesOptions {
  versions: readonly number[]
  administration: Administration
  guards: Guards
  permissions: Permissions
  envelopes: Envelopes
}

/** Serves one route of the session administration for one side. */
export type SessionRoute = (
  app: FastifyInstance,
  at: { method: 'GET' | 'POST'; path: string; type: LoginType },
  options: SessionRoutesOptions,
) => void

export const sessionRoute =
  <C extends Contract>(
    permission: (typeof PERMISSIONS)[number],
    contract: C,
    answer: (request: Request<C>, type: LoginType, options: SessionRoutesOptions) => Promise<DataOf<C>>,
  ): SessionRoute =>
  (app, { method, path, type }, options) =>
    serveAny(app, options.envelopes, {
      method,
      path,
      place: { group: 'administration', side: type, needs: 'BUSINESS', permission },
      contract,
      onRequest: options.guards.requirePermission('BUSINESS', [permission]),
      answer: request => answer(request as Request<C>, type, options),
    })
