import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { END_REASONS } from '../../session/end-reason.ts'
import { LOGIN_ID_PATTERN } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import { MAX_SECONDS } from '../../side/input.ts'
import type { Envelopes } from '../server/envelope.ts'
import type { Failure } from '../server/failure-texts.ts'
import type { FieldSchema, FieldsSchema } from '../server/validation.ts'

/**
 * What a route takes and answers, said once, beside the route: Fastify checks requests by it, TypeScript has its types from
 * it, and the API document shows it. A route whose contract has no body ignores the bodies of its requests.
 */
export interface Contract {
  summary: string
  details?: string
  query?: FieldsSchema
  body?: { schema: FieldsSchema; example: unknown }
  /** The envelope's `data`. */
  data: { schema: JsonSchema; example: unknown }
  /** The reasons for which the route refuses requests, beside those that hold for every route. */
  refusals?: readonly Failure[]
}

/** A route that answers with a file, and refuses with an envelope. */
export interface DownloadContract extends Omit<Contract, 'data'> {
  download: { type: 'text/csv'; description: string; example: string }
}

/** Answers without an envelope. */
export interface PlainContract {
  summary: string
  details?: string
  /** The fields of a body that is sent as a form. */
  form?: { schema: JsonSchema; example: unknown }
  plain: readonly PlainAnswer[]
}

export interface PlainAnswer {
  status: number
  description: string
  type: 'application/json' | 'text/plain'
  /** `Refusal` stands for the envelope of refusals. */
  schema: JsonSchema | 'Refusal'
  example: unknown
}

/** Where a route stands in its document, and what a client needs for it. */
export interface Place {
  group: Group
  /** `null` where the route is about neither side. */
  side: LoginType | null
  /** Nothing, a live session of one side, or the secret of the internal listener. */
  needs: 'nothing' | LoginType | 'secret'
  /** The permission code that a session needs besides. */
  permission?: string
}

export type Group =
  | 'login'
  | 'account'
  | 'own sessions'
  | 'keys'
  | 'administration'
  | 'journal'
  | 'operations'
  | 'probes'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route with it is in the API document. */
    documented?: Place & (Contract | DownloadContract | PlainContract)
  }
}

/** Any schema. The exact type of JSON Schema is too large for the compiler in generic code. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** An object that always has all of these properties. */
export const Complete = <const P extends JsonSchema>(properties: P) =>
  ({ type: 'object', properties, required: Object.keys(properties) as (keyof P & string)[] }) as const

/** A page of a list. `what` names the items in the texts. */
export const PageOf = <const R extends JsonSchema>(what: string, records: R) =>
  Complete({
    records,
    total: { type: 'integer', description: `${what} that were found.` },
    page: { type: 'integer', description: 'The number of this page.' },
    size: { type: 'integer', description: `${what} on a page.` },
    pages: { type: 'integer', description: 'Pages.' },
  })

/** The values of a schema; of an object whose schema names its properties, these only. */
export type ValueOf<S> = S extends JSONSchema ? Named<FromSchema<S>> : never
type Named<T> = T extends readonly (infer Item)[]
  ? Named<Item>[]
  : T extends object
    ? [keyof NamedProperties<T>] extends [never]
      ? T
      : NamedProperties<T>
    : T
type NamedProperties<T> = { [K in keyof T as string extends K ? never : K]: Named<T[K]> }

export type QueryOf<C extends Contract> = C extends { query: infer S } ? ValueOf<S> : unknown
export type BodyOf<C extends Contract> = C extends { body: { schema: infer S } } ? ValueOf<S> : undefined
export type DataOf<C extends Contract> = ValueOf<C['data']['schema']>

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

/** In examples. */
export const SAMPLE_USER = '1923410000000000001'

export const USER_ID = {
  type: 'string',
  pattern: LOGIN_ID_PATTERN,
  description: 'Login id of the user.',
} as const satisfies FieldSchema

export const SECONDS = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_SECONDS,
  description: 'Seconds.',
} as const satisfies FieldSchema

/** What a 401 says with `sessions.tell_end`. */
export const ENDED = `With \`sessions.tell_end\`, the \`data\` of a 401 is \`{"ended": …}\` if its token was ended: ${END_REASONS.join(', ')}.`

/** For routes that only confirm. */
export const NOTHING = { schema: { type: 'null' }, example: null } as const

export const PROBE = { group: 'probes', side: null, needs: 'nothing' } as const satisfies Place
