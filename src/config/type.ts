/*
 * Schemas of what is written in files: JSON Schema as data, with the type of what it describes. The words are those of
 * TypeBox, of which a configuration needs a dozen: to load its seven hundred modules took a quarter of every start.
 */

declare const WRITTEN: unique symbol
declare const DECODED: unique symbol
const OPTIONAL = Symbol('optional')
const DECODE = Symbol('decode')
const TEST = Symbol('test')

/** The words of JSON Schema that are used, and our own annotations (notation.ts). */
export interface Keywords {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly const?: unknown
  readonly anyOf?: readonly TSchema[]
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly patternProperties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: boolean
  readonly required?: readonly string[]
  readonly items?: TSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly title?: string
  readonly description?: string
  readonly 'x-form'?: string
  readonly 'x-secret'?: true
  readonly 'x-path'?: 'file' | 'cwd'
}

/** A schema of values that are written as `Written` and arrive as `Decoded`. What is no JSON is under symbols. */
export interface TSchema<Written = unknown, Decoded = unknown> extends Keywords {
  readonly [WRITTEN]?: Written
  readonly [DECODED]?: Decoded
  readonly [DECODE]?: (written: never) => unknown
  readonly [TEST]?: (written: never) => boolean
}

/** The mark of a key that need not be there. */
export interface Optional {
  readonly [OPTIONAL]: true
}

type Properties = Readonly<Record<string, TSchema>>
type Flat<T> = { [K in keyof T]: T[K] }
type OptionalNames<P> = { [K in keyof P]: P[K] extends Optional ? K : never }[keyof P]

/** The type of what is written by a schema. */
export type Static<S> = S extends TSchema<infer Written, unknown> ? Written : never
/** The type of what it is decoded to. */
export type StaticDecode<S> = S extends TSchema<unknown, infer Decoded> ? Decoded : never

type Members<P, D extends 'written' | 'decoded'> = Flat<
  { [K in Exclude<keyof P, OptionalNames<P>>]: Value<P[K], D> } & { [K in OptionalNames<P>]?: Value<P[K], D> }
>
type Value<S, D extends 'written' | 'decoded'> = D extends 'written' ? Static<S> : StaticDecode<S>

const Text = (options: Keywords = {}): TSchema<string, string> => ({ type: 'string', ...options })
const Integer = (options: Keywords = {}): TSchema<number, number> => ({ type: 'integer', ...options })
const Flag = (options: Keywords = {}): TSchema<boolean, boolean> => ({ type: 'boolean', ...options })

const Literal = <const T extends string | number | boolean>(value: T): TSchema<T, T> => ({
  type: typeof value as 'string' | 'number' | 'boolean',
  const: value,
})

const List = <S extends TSchema>(items: S, options: Keywords = {}): TSchema<Static<S>[], StaticDecode<S>[]> => ({
  type: 'array',
  items,
  ...options,
})

const Union = <const S extends readonly TSchema[]>(
  anyOf: S,
  options: Keywords = {},
): TSchema<Static<S[number]>, StaticDecode<S[number]>> => ({ anyOf, ...options })

const Section = <P extends Properties>(
  properties: P,
  options: Omit<Keywords, 'properties'> = {},
): TSchema<Members<P, 'written'>, Members<P, 'decoded'>> & { readonly properties: P } => {
  const required = Object.keys(properties).filter(name => !isOptional(properties[name]!))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

const Dictionary = <S extends TSchema>(
  values: S,
  options: Keywords = {},
): TSchema<Record<string, Static<S>>, Record<string, StaticDecode<S>>> => ({
  type: 'object',
  patternProperties: { '^.*$': values },
  ...options,
})

/** A key that need not be there. */
const Optional = <S extends TSchema>(schema: S): S & Optional => ({ ...schema, [OPTIONAL]: true })

/** What is decoded to something else than what is written. */
const Codec = <W, D>(schema: TSchema<W>, decode: (written: W) => D): TSchema<W, D> => ({
  ...(schema as Keywords),
  [DECODE]: decode,
})

/** What has to pass a test that JSON Schema has no words for. */
const Refine = <S extends TSchema>(schema: S, test: (written: Static<S>) => boolean): S => ({ ...schema, [TEST]: test })

export default {
  String: Text,
  Integer,
  Boolean: Flag,
  Literal,
  Array: List,
  Union,
  Object: Section,
  Record: Dictionary,
  Optional,
  Codec,
  Refine,
}

export const isOptional = (schema: TSchema): boolean => OPTIONAL in schema

/** Whether a schema takes a value. Of a section's keys nothing is said: whoever reads it goes through them. */
export function accepts(schema: TSchema, value: unknown): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some(branch => accepts(branch, value))
  if (schema.const !== undefined) return value === schema.const
  return hasForm(schema, value) && (schema[TEST]?.(value as never) ?? true)
}

function hasForm(schema: TSchema, value: unknown): boolean {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' && isText(schema, value)
    case 'integer':
      return Number.isInteger(value) && isWithin(value as number, schema.minimum, schema.maximum)
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return Array.isArray(value) && isList(schema, value)
    default:
      return typeof value === 'object' && value !== null && !Array.isArray(value)
  }
}

const isText = ({ minLength, maxLength, pattern }: TSchema, text: string): boolean =>
  isWithin(text.length, minLength, maxLength) && (pattern === undefined || new RegExp(pattern, 'u').test(text))

const isList = ({ items, minItems, maxItems }: TSchema, list: unknown[]): boolean =>
  isWithin(list.length, minItems, maxItems) && list.every(item => items === undefined || accepts(items, item))

const isWithin = (count: number, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): boolean =>
  count >= least && count <= most

/** What a value that a schema accepts stands for. */
export function decode(schema: TSchema, value: unknown): unknown {
  const branch = schema.anyOf?.find(branch => accepts(branch, value))
  const decoded = branch === undefined ? value : decode(branch, value)
  return schema[DECODE] === undefined ? decoded : schema[DECODE](decoded as never)
}
