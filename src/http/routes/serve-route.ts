import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Envelopes } from '../server/envelope.ts'
import type { BodyOf, Contract, DataOf, Place, QueryOf } from './contract.ts'

export interface Route<C extends Contract> extends Omit<AnyRoute, 'contract' | 'answer'> {
  contract: C
  /** The answer to a request that fulfils the contract: the envelope's `data`. */
  answer(request: Request<C>, reply: FastifyReply): Promise<DataOf<C>>
}

export type Request<C extends Contract> = FastifyRequest<{ Querystring: QueryOf<C>; Body: BodyOf<C> }>

/** A route whose contract is known at run time only. */
export interface AnyRoute {
  method: 'GET' | 'POST'
  path: string
  place: Place
  contract: Contract
  onRequest?: onRequestHookHandler[]
  answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
}

export function serveAny(app: FastifyInstance, envelopes: Envelopes, route: AnyRoute): void {
  const { method, path, place, contract, onRequest = [], answer } = route
  app.route({
    method,
    url: path,
    onRequest,
    schema: {
      ...(contract.query !== undefined && { querystring: contract.query }),
      ...(contract.body !== undefined && { body: contract.body.schema }),
    },
    config: { documented: { ...place, ...contract } },
    async handler(request, reply) {
      const data = await answer(request, reply)
      // Answers are for one client, and many hold a secret: a token, a password that was made, the sessions of a user.
      reply.header('cache-control', 'no-store')
      return envelopes.success(request.id, data)
    },
  })
}

/** Serves a route by its contract. Hooks decide who is admitted before a query or a body is checked. */
export const serve = serveAny as <C extends Contract>(
  app: FastifyInstance,
  envelopes: Envelopes,
  route: Route<C>,
) => void
