import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { LoginType } from '../../session/sides.ts'
import { type OwnRouteName, type RouteSettings, type ServedRoute, servedRoutes } from '../../settings/own-routes.ts'
import type { Profile } from '../../settings/profile.ts'
import type { Envelopes } from '../server/envelope.ts'
import type { Guards } from '../server/guards.ts'
import type { Contract, DataOf, DownloadContract, Place, PlainContract } from './contract.ts'
import { type AnyRoute, type Request, serveAny } from './serve-route.ts'

/** What answers a route of the gateway's own API, for one side. */
export interface Answering {
  contract: Contract
  /** The permission code that a session needs besides. */
  permission?: string
  answer: AnyRoute['answer']
}

/** What answers a route without an envelope. */
export interface Sending extends Omit<Answering, 'contract' | 'answer'> {
  contract: DownloadContract | PlainContract
  send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/** Makes what answers a route for a side; it is called only where the route is served. */
export type Endpoint = (type: LoginType) => Answering | Sending

export type Endpoints = Readonly<Record<OwnRouteName, Endpoint>>

/** A route by its contract. `answer` returns the envelope's `data`. */
export const answering = <C extends Contract>(
  contract: C,
  answer: (request: Request<C>, reply: FastifyReply) => Promise<DataOf<C>>,
  permission?: string,
): Answering => ({
  contract,
  answer: answer as AnyRoute['answer'],
  ...(permission !== undefined && { permission }),
})

/** A part that the settings make where they serve the route. Throws at the start where they do not. */
export function required<T>(part: T | null | undefined): T {
  if (part === null || part === undefined) throw new Error('a route is served, but what answers it was not made')
  return part
}

export interface OwnRoutesOptions {
  settings: RouteSettings
  profile: Profile
  guards: Guards
  envelopes: Envelopes
}

/** Registers the gateway's own API, as far as it is served (settings/own-routes.ts). */
export function serveOwnRoutes(app: FastifyInstance, endpoints: Endpoints, options: OwnRoutesOptions): void {
  const { settings, profile, guards, envelopes } = options
  for (const route of servedRoutes(settings, profile)) {
    const { name, method, path, type } = route
    const endpoint = endpoints[name](type)
    const place = placeOf(route, endpoint.permission)
    const onRequest = guardOf(place, guards)
    if (!('send' in endpoint)) {
      serveAny(app, envelopes, { method, path, place, onRequest, ...endpoint })
      continue
    }
    const { contract, send: handler } = endpoint
    const schema = 'query' in contract ? { querystring: contract.query } : {}
    app.route({ method, url: path, onRequest, schema, config: { documented: { ...place, ...contract } }, handler })
  }
}

const placeOf = ({ group, needs, type }: ServedRoute, permission: string | undefined): Place => ({
  group,
  // The journal is about both sides.
  side: group === 'journal' ? null : type,
  needs: needs === 'own session' ? type : needs,
  ...(permission !== undefined && { permission }),
})

/** Checks the session that the gate has found: of this side, whatever the gate has admitted. */
function guardOf({ needs, permission }: Place, guards: Guards): onRequestHookHandler[] {
  if (needs === 'nothing' || needs === 'secret') return []
  return [permission === undefined ? guards.requireLogin(needs) : guards.requirePermission(needs, [permission])]
}
