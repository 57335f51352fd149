import fastifySwagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { bySide, type LoginType, SIDES } from '../../session.ts'
import {
  type Contract,
  ENDED,
  type Group,
  type JsonSchema,
  type Place,
  type PlainAnswer,
  type PlainContract,
} from '../routes/contract.ts'
import { httpStatusOf, type StatusStyle } from '../server/envelope.ts'
import { FAILURES, type Failure, failureMessage, inLocale, type Locale, SUCCESS } from '../server/messages.ts'
import type { FieldsSchema } from '../server/validation.ts'

export interface OpenApiOptions {
  title: string
  /** What stands above everything, in Markdown. */
  introduction: string
  version: string
  locale: Locale
  /** It decides under which status a refusal is described. */
  style: StatusStyle
  /** Name of the header that carries a token. */
  tokenName: string
}

type Document = Record<string, unknown> & {
  paths: Record<string, Record<string, object>>
  components: Record<string, object>
}

/** The headings of the documents, for each side. */
const GROUPS: Readonly<Record<Group, { name: string; description: string }>> = {
  login: { name: 'Login', description: 'Signing in and out.' },
  account: { name: 'Account', description: 'What users do with their own account.' },
  'own sessions': { name: 'Own sessions', description: 'A user’s own sessions, and their end.' },
  administration: { name: 'Sessions', description: 'Who is online, and the end of their sessions.' },
  journal: { name: 'Journal', description: 'What happened, kept for administrators.' },
  probes: { name: 'Probes', description: 'For operators and their tools.' },
  operations: { name: 'Operations', description: 'Sessions in the hands of the services behind the gateway.' },
}

/** The reasons for which every route may refuse a request. */
const ALWAYS: readonly Failure[] = ['BAD_REQUEST', 'UNAVAILABLE', 'INTERNAL']
/** For the placeholders of the texts. */
const SAMPLE = {
  field: 'user_id',
  fault: 'is missing',
  faults: 'min_length',
  min_length: 10,
  seconds: 42,
  permissions: "['sys:session:page']",
}
/** `data` of the refusals that carry any. */
const SAMPLE_DATA: Partial<Record<Failure, object>> = {
  STEP_REQUIRED: { ticket: 'pT0u2mGq5bYk1Zr8wXc3Lh7dVfNs6JaE', required: 'password', expires_in: 300 },
  TICKET_INVALID: { required: 'login' },
  PASSWORD_NOT_ALLOWED: { faults: ['min_length', 'common'] },
  DISABLED: { disable_time: 42 },
}
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

/**
 * Lets `app.swagger()` write the OpenAPI document of the routes that are made from now on and have a contract. It is written
 * when it is requested for the first time.
 */
export async function documentRoutes(app: FastifyInstance, options: OpenApiOptions): Promise<void> {
  const places = new Set<Place>()
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: options.title,
        version: options.version,
        description: options.introduction,
        license: { name: 'MIT', identifier: 'MIT' } as { name: string },
      },
      servers: [{ url: '/' }],
      components: { schemas: { Refusal: Refusal as object }, securitySchemes: securitySchemes(options.tokenName) },
    },
    // OpenAPI 3.1 has `const`.
    convertConstToEnum: false,
    transform({ schema, url, route }) {
      const { documented } = route.config ?? {}
      if (documented === undefined) return { url, schema: { hide: true } }
      places.add(documented)
      return { url, schema: describe(documented, schema, options) }
    },
    transformObject: source => finish(source as { openapiObject: Document }, places),
  } satisfies FastifyDynamicSwaggerOptions)
}

const tagOf = ({ group, side }: Place): string =>
  side === null ? GROUPS[group].name : `${GROUPS[group].name}, ${SIDES[side].letter} side`

/** What is known only when all routes are: tags and security schemes that are used, and names of operations. */
function finish({ openapiObject: document }: { openapiObject: Document }, places: ReadonlySet<Place>): Document {
  const tags = [...places].map(place => [tagOf(place), GROUPS[place.group].description] as const)
  document.tags = [...new Map(tags)].map(([name, description]) => ({ name, description }))
  const needed = new Set<string>([...places].map(({ needs }) => needs))
  const { components } = document
  components.securitySchemes = Object.fromEntries(
    Object.entries(components.securitySchemes ?? {}).filter(([name]) => needed.has(name)),
  )
  for (const [path, item] of Object.entries(document.paths)) {
    // It stands beside every GET, and is described by it.
    delete item.head
    for (const [method, operation] of Object.entries(item)) {
      item[method] = { operationId: operationIdOf(method, path), ...operation }
    }
  }
  return document
}

/** `POST /api/v1/sys/session/exit-token` is `post_api_v1_sys_session_exitToken`. */
const operationIdOf = (method: string, path: string): string =>
  method + path.replaceAll('/', '_').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The contract of a route in the words of `@fastify/swagger`, with all that the configuration decides. */
function describe(
  documented: Place & (Contract | PlainContract),
  { body, querystring }: FastifySchema = {},
  options: OpenApiOptions,
): FastifySchema {
  const { summary, details, permission, needs } = documented
  const words = [details, permission === undefined ? undefined : `Needs the permission \`${permission}\`.`]
  const description = words.filter(part => part !== undefined).join('\n\n')
  const example = 'body' in documented ? documented.body?.example : undefined
  return {
    tags: [tagOf(documented)],
    summary,
    ...(description !== '' && { description }),
    security: needs === 'nothing' ? [] : [{ [needs]: [] }],
    ...(querystring !== undefined && { querystring: asSent(querystring as FieldsSchema) }),
    ...(body !== undefined && { body: { ...(body as object), examples: [example] } }),
    response: 'plain' in documented ? plainResponses(documented.plain) : responsesOf(documented, options),
  }
}

/** An optional field of a query may be sent empty, which is the same as absent (`readQuery`). */
const asSent = ({ properties, required = [], ...schema }: FieldsSchema): JsonSchema => ({
  ...schema,
  required,
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, field]) =>
      'pattern' in field && !required.includes(name)
        ? [name, { ...field, pattern: `^$|${field.pattern}` }]
        : [name, field],
    ),
  ),
})

const plainResponses = (answers: readonly PlainAnswer[]): JsonSchema =>
  Object.fromEntries(
    answers.map(({ status, description, type, schema, example }) => [
      String(status),
      { description, content: { [type]: { schema: schema === 'Refusal' ? REFUSAL : schema, example } } },
    ]),
  )

/** Answers by HTTP status: refusals that arrive with 200 stand beside the success, as they do on the wire. */
function responsesOf(contract: Contract & Place, { locale, style }: OpenApiOptions): JsonSchema {
  const refusals = [...new Set([...refusalsOf(contract), ...ALWAYS])]
  const statuses = [...new Set([200, ...refusals.map(reason => httpStatusOf(reason, style))])].sort((a, b) => a - b)
  return Object.fromEntries(
    statuses.map(status => {
      const here = refusals.filter(reason => httpStatusOf(reason, style) === status)
      return [String(status), responseOf(status, here, contract, locale)]
    }),
  )
}

/** What a place and the fields of a contract imply, and what the contract names. */
const refusalsOf = ({ needs, permission, query, body, refusals = [] }: Contract & Place): Failure[] => [
  ...(needs === 'nothing' ? [] : (['NOT_LOGGED_IN'] as const)),
  ...(permission === undefined ? [] : (['NOT_PERMITTED'] as const)),
  ...(query === undefined && body === undefined ? [] : (['INVALID'] as const)),
  ...(body === undefined ? [] : (['BODY_TOO_LARGE'] as const)),
  ...refusals,
]

function responseOf(status: number, refusals: readonly Failure[], { data }: Contract, locale: Locale): JsonSchema {
  const success = envelopeOf(data.schema as JsonSchema)
  const refused = refusals.map(reason => [reason, { value: refusalExample(reason, locale) }] as const)
  const isSuccess = status === 200
  const schema = !isSuccess ? REFUSAL : refusals.length === 0 ? success : { oneOf: [success, REFUSAL] }
  const mayWait = refusals.some(reason => reason === 'TOO_MANY_ATTEMPTS' || reason === 'BUSY')
  return {
    description: isSuccess && refusals.length > 0 ? 'Done, or refused: see `code`.' : isSuccess ? 'Done.' : 'Refused.',
    headers: {
      'X-Request-Id': { type: 'string', description: 'The trace id, as in the body.' },
      ...(mayWait && { 'Retry-After': { type: 'integer', description: 'Seconds to wait, where it is known.' } }),
    },
    content: {
      'application/json': {
        schema,
        examples: {
          ...(isSuccess && { SUCCESS: { value: successExample(data.example, locale) } }),
          ...Object.fromEntries(refused),
        },
      },
    },
  }
}

const ENVELOPE_TEXTS = {
  message: { type: 'string', description: 'In the configured language.' },
  trace_id: { type: 'string', description: 'Names the request in the log.' },
} as const satisfies JsonSchema

const envelopeOf = (data: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    code: { type: 'integer', description: '200.', const: 200 },
    data,
    success: { type: 'boolean', const: true },
    ...ENVELOPE_TEXTS,
  },
  required: ['code', 'message', 'data', 'success', 'trace_id'],
})

const Refusal = {
  type: 'object',
  properties: {
    code: { type: 'integer', description: 'The status that the refusal means, whatever the HTTP status is.' },
    data: { description: `Mostly \`null\`; the examples show what else it may hold. ${ENDED}` },
    success: { type: 'boolean', const: false },
    ...ENVELOPE_TEXTS,
  },
  required: ['code', 'message', 'data', 'success', 'trace_id'],
} as const satisfies JsonSchema

const REFUSAL = { $ref: '#/components/schemas/Refusal' }

const successExample = (data: unknown, locale: Locale) => ({
  code: 200,
  message: inLocale(SUCCESS, locale),
  data,
  success: true,
  trace_id: TRACE_ID,
})

const refusalExample = (reason: Failure, locale: Locale) => ({
  code: FAILURES[reason].code,
  message: failureMessage(reason, SAMPLE, locale),
  data: SAMPLE_DATA[reason] ?? null,
  success: false,
  trace_id: TRACE_ID,
})

type SecurityScheme =
  | { type: 'http'; scheme: 'bearer'; bearerFormat?: string; description: string }
  | { type: 'apiKey'; in: 'header'; name: string; description: string }

function securitySchemes(tokenName: string): Record<LoginType | 'secret', SecurityScheme> {
  const byToken = (side: LoginType): SecurityScheme =>
    tokenName.toLowerCase() === 'authorization'
      ? {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: `The token of a live ${SIDES[side].letter}-side session.`,
        }
      : {
          type: 'apiKey',
          in: 'header',
          name: tokenName,
          description: `\`Bearer \` and the token of a live ${SIDES[side].letter}-side session.`,
        }
  return {
    ...bySide(byToken),
    secret: {
      type: 'http',
      scheme: 'bearer',
      description: 'The secret of the internal listener, `internal.secret`.',
    },
  }
}
