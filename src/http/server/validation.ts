import AjvCompiler, { type BuildCompilerFromPool, type ErrorObject } from '@fastify/ajv-compiler'
import { type FieldFault, invalid, NOT_A_LOGIN_ID, type Refusal } from '../../base/refusal.ts'
import { LOGIN_ID_PATTERN } from '../../session/record.ts'
import { ENTRY_ID_PATTERN } from '../../store/journal-id.ts'

/** The schema of a query or a body: an object whose fields are of few kinds, those that have a text for what is wrong. */
export interface FieldsSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  /** One of several sets of fields is needed. */
  readonly anyOf?: readonly {
    readonly required: readonly string[]
    readonly properties?: Readonly<Record<string, { readonly type: string }>>
  }[]
}

export type FieldSchema = { readonly description?: string } & (
  | TextField
  | NumberField
  | ObjectField
  | ListField
  | SwitchField
)

/** With `null` among its types a field may be absent or `null`, as clients send it that write every field. */
interface TextField {
  readonly type: 'string' | readonly ['string', 'null']
  /** In a query, an empty text is an absent field unless the field is required. */
  readonly pattern?: keyof typeof PATTERN_FAULTS
  readonly minLength?: 1
  readonly maxLength?: number
  readonly default?: string
  /** In a query, an empty text is an absent field. */
  readonly enum?: readonly (string | null)[]
}

interface NumberField {
  readonly type: 'integer' | readonly ['integer', 'null']
  readonly minimum: number
  readonly maximum: number
  readonly default?: number
}

interface ListField {
  readonly type: 'array' | readonly ['array', 'null']
  readonly items: { readonly type: 'string'; readonly minLength: 1; readonly maxLength: 128 }
  readonly maxItems: number
}

interface SwitchField {
  readonly type: 'boolean' | readonly ['boolean', 'null']
}

interface ObjectField {
  readonly type: 'object' | readonly ['object', 'null']
  readonly additionalProperties: true
}

/** All faults are found, so that the first field of a schema with a fault is the one that is named. Nothing is coerced. */
const AJV_OPTIONS = {
  allErrors: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  ownProperties: true,
} as const

type Validated = { value: unknown } | { error: Refusal }

interface Definition {
  schema: FieldsSchema
  httpPart: string
}

type Compile = (definition: Definition) => ((value: unknown) => unknown) & { errors?: ErrorObject[] | null }

/** Ajv is made at the first request that needs it, because it compiles its own schemas before others. */
function compilerOf(schemas: Record<string, object>): Compile {
  let compile: Compile | undefined
  return definition => {
    compile ??= AjvCompiler()(schemas, { customOptions: AJV_OPTIONS }) as Compile
    return compile(definition)
  }
}

/** Ajv compiles a schema at the first request of its route, so that a start does not wait for it. */
const createValidator = (compile: Compile) => (definition: Definition) => {
  const { schema, httpPart } = definition
  let validate: ReturnType<Compile> | undefined
  return (sent: unknown): Validated => {
    validate ??= compile(definition)
    // A request without a body has no field.
    const value = httpPart === 'querystring' ? readQuery(sent, schema) : (sent ?? {})
    return validate(value) === true ? { value } : { error: refusalOf(validate.errors ?? [], schema, value) }
  }
}

/**
 * How Fastify checks queries and bodies by the schemas of routes: with its own Ajv. Answers are written as they are; their
 * schemas describe them.
 */
export const schemaController = {
  compilersFactory: {
    // Its types want Ajv's own function; Fastify also accepts one that answers the value or the error.
    buildValidator: ((schemas: Record<string, object>) =>
      createValidator(compilerOf(schemas))) as unknown as BuildCompilerFromPool,
    buildSerializer: () => () => JSON.stringify,
  },
}

/**
 * The fields of a query as their schema has them. Everything in a query is text: where a whole number is needed, up to nine
 * digits are one, and an empty text is an absent field, as front ends send fields of forms that are not filled in.
 */
function readQuery(query: unknown, { properties, required = [] }: FieldsSchema): Record<string, unknown> {
  const read: Record<string, unknown> = { ...(query as object) }
  for (const [name, field] of Object.entries(properties)) {
    const text = read[name]
    const isNumber = field.type === 'integer'
    const isChoice = 'enum' in field || ('pattern' in field && !required.includes(name))
    if (!(isNumber || isChoice) || typeof text !== 'string') continue
    if (text === '') delete read[name]
    else if (isNumber && /^\d{1,9}$/.test(text)) read[name] = Number(text)
  }
  return read
}

/** The refusal of the first invalid field, in the order of the schema. It repeats no value: that may be a secret. */
function refusalOf(errors: readonly ErrorObject[], { properties }: FieldsSchema, value: unknown): Refusal {
  for (const [name, field] of Object.entries(properties)) {
    const error = errors.find(one => fieldOf(one) === name)
    if (error !== undefined) return refusalOfField(name, field, error, (value as Record<string, unknown>)[name])
  }
  return invalid('body', 'must be a JSON object')
}

const fieldOf = ({ keyword, params, instancePath }: ErrorObject): string =>
  keyword === 'required' ? String(params.missingProperty) : instancePath.split('/')[1]!

function refusalOfField(name: string, field: FieldSchema, { keyword }: ErrorObject, value: unknown): Refusal {
  if (keyword === 'required' || value === null) return invalid(name, 'is missing')
  if ('minimum' in field) {
    const { minimum, maximum } = field
    return invalid(name, 'must be a whole number from {minimum} to {maximum}', { minimum, maximum })
  }
  if (keyword === 'maxLength' && 'maxLength' in field) {
    return invalid(name, 'must be at most {maximum} characters', { maximum: field.maxLength ?? 0 })
  }
  if ('maxItems' in field) {
    const fault = 'must be a list of at most {maximum} texts of 1 to 128 characters'
    return invalid(name, fault, { maximum: field.maxItems })
  }
  if (keyword === 'enum' && 'enum' in field) {
    return invalid(name, 'must be one of {values}', { values: field.enum!.filter(one => one !== null).join(', ') })
  }
  if (keyword === 'pattern' && 'pattern' in field) return invalid(name, PATTERN_FAULTS[field.pattern!])
  return invalid(name, TEXT_FAULTS[keyword] ?? TYPE_FAULTS[[field.type].flat()[0]!] ?? 'must be a string')
}

const TYPE_FAULTS: Readonly<Record<string, FieldFault>> = {
  object: 'must be an object',
  boolean: 'must be true or false',
}

/** The fault of a text that does not match, by the pattern. */
const PATTERN_FAULTS = {
  [LOGIN_ID_PATTERN]: NOT_A_LOGIN_ID,
  [ENTRY_ID_PATTERN]: 'must be `next` of another page',
} as const satisfies Readonly<Record<string, FieldFault>>

const TEXT_FAULTS: Readonly<Record<string, FieldFault>> = {
  minLength: 'must not be empty',
}
