import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import type { LoginType } from '../../session/sides.ts'
import type { Failure } from '../server/failure-texts.ts'
import type { FieldsSchema } from '../server/validation.ts'

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
