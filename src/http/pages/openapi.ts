import { LOGIN_TYPES, type LoginType, SIDES } from '../../session.ts'
import { httpStatusOf, type StatusStyle } from '../server/envelope.ts'
import { FAILURES, type Failure, failureMessage, inLocale, type Locale, SUCCESS } from '../server/messages.ts'
import { type DescribedRoute, type Description, GROUPS, type PlainAnswer } from './description.ts'
import { type JsonSchema, object, text, whole } from './json-schema.ts'

export interface OpenApiOptions {
  title: string
  /** What stands above everything, in Markdown. */
  introduction: string
  version: string
  locale: Locale
  /** Where refusals are: that decides under which status they are described. */
  style: StatusStyle
  /** Name of the header that carries a token. */
  tokenName: string
}

/** What every route may be refused for, whatever it does. */
const ALWAYS: readonly Failure[] = ['BAD_REQUEST', 'UNAVAILABLE', 'INTERNAL']
/** For the placeholders of the texts. */
const SAMPLE = { field: 'user_id', fault: 'is missing', seconds: 42, permissions: "['sys:session:page']" }
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

/** The OpenAPI 3.1 document of a listener: of the routes that it has, with this configuration. */
export function createOpenApi(routes: readonly DescribedRoute[], options: OpenApiOptions): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { method, path, description } of routes) {
    paths[path] ??= {}
    paths[path][method.toLowerCase()] = operationOf(method, path, description, options)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: options.version,
      description: options.introduction,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: tagsOf(routes),
    paths,
    components: {
      schemas: { Refusal },
      headers: {
        'X-Request-Id': { description: 'The trace id, as in the body.', schema: { type: 'string' } },
      },
      securitySchemes: securitySchemes(routes, options.tokenName),
    },
  }
}

const tagOf = ({ group, side }: Description): string =>
  side === null ? GROUPS[group].name : `${GROUPS[group].name}, ${SIDES[side].letter} side`

const tagsOf = (routes: readonly DescribedRoute[]): JsonSchema[] => {
  const tags = routes.map(({ description }) => [tagOf(description), GROUPS[description.group].description] as const)
  return [...new Map(tags)].map(([name, description]) => ({ name, description }))
}

const Refusal = object({
  code: whole('The status that the refusal means, whatever the HTTP status is.'),
  message: text('In the configured language.'),
  data: { description: 'Mostly `null`.' },
  success: { type: 'boolean', const: false },
  trace_id: text('Names the request in the log.'),
})

const envelopeOf = (data: JsonSchema): JsonSchema =>
  object({
    code: whole('200.', { const: 200 }),
    message: text('In the configured language.'),
    data,
    success: { type: 'boolean', const: true },
    trace_id: text('Names the request in the log.'),
  })

function operationOf(method: string, path: string, said: Description, options: OpenApiOptions): JsonSchema {
  const { summary, details, permission, query, body } = said
  const needs = permission === undefined ? [] : [`Needs the permission \`${permission}\`.`]
  const words = [details, ...needs].filter(part => part !== undefined).join('\n\n')
  return {
    operationId: operationIdOf(method, path),
    tags: [tagOf(said)],
    summary,
    ...(words !== '' && { description: words }),
    security: said.needs === 'nothing' ? [] : [{ [said.needs]: [] }],
    ...(query !== undefined && { parameters: query.map(parameter => ({ in: 'query', ...parameter })) }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: body.schema, example: body.example } } },
    }),
    responses: 'plain' in said ? plainResponses(said.plain) : responsesOf(said, options),
  }
}

/** `POST /api/v1/sys/session/exit-token` is `post_api_v1_sys_session_exitToken`. */
const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() + path.replaceAll('/', '_').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

type Enveloped = Extract<Description, { refusals: unknown }>

const plainResponses = (answers: readonly PlainAnswer[]): JsonSchema =>
  Object.fromEntries(
    answers.map(({ status, what, type, schema, example }) => [
      String(status),
      { description: what, content: { [type]: { schema, example } } },
    ]),
  )

/** Answers by HTTP status: refusals that arrive with 200 stand beside the success, as they do on the wire. */
function responsesOf(said: Enveloped, { locale, style }: OpenApiOptions): JsonSchema {
  const refusals = [...new Set([...said.refusals, ...ALWAYS])]
  const statuses = [...new Set([200, ...refusals.map(reason => httpStatusOf(reason, style))])].sort((a, b) => a - b)
  return Object.fromEntries(
    statuses.map(status => {
      const here = refusals.filter(reason => httpStatusOf(reason, style) === status)
      return [String(status), responseOf(status, here, said, locale)]
    }),
  )
}

function responseOf(status: number, refusals: readonly Failure[], { data }: Enveloped, locale: Locale): JsonSchema {
  const refusal = { $ref: '#/components/schemas/Refusal' }
  const success = envelopeOf(data.schema)
  const refused = refusals.map(reason => [reason, { value: refusalExample(reason, locale) }] as const)
  const succeeded = {
    code: 200,
    message: inLocale(SUCCESS, locale),
    data: data.example,
    success: true,
    trace_id: TRACE_ID,
  }
  const isSuccess = status === 200
  const schema = !isSuccess ? refusal : refusals.length === 0 ? success : { oneOf: [success, refusal] }
  const mayWait = refusals.some(reason => reason === 'TOO_MANY_ATTEMPTS' || reason === 'BUSY')
  return {
    description: isSuccess && refusals.length > 0 ? 'Done, or refused: see `code`.' : isSuccess ? 'Done.' : 'Refused.',
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      ...(mayWait && {
        'Retry-After': { description: 'Seconds to wait, where it is known.', schema: { type: 'integer' } },
      }),
    },
    content: {
      'application/json': {
        schema,
        examples: { ...(isSuccess && { SUCCESS: { value: succeeded } }), ...Object.fromEntries(refused) },
      },
    },
  }
}

const refusalExample = (reason: Failure, locale: Locale) => ({
  code: FAILURES[reason].code,
  message: failureMessage(reason, SAMPLE, locale),
  data: null,
  success: false,
  trace_id: TRACE_ID,
})

function securitySchemes(routes: readonly DescribedRoute[], tokenName: string): JsonSchema {
  const needed = new Set(routes.map(({ description }) => description.needs))
  const byToken = (side: LoginType): JsonSchema =>
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
    ...Object.fromEntries(LOGIN_TYPES.filter(type => needed.has(type)).map(type => [type, byToken(type)])),
    ...(needed.has('secret') && {
      secret: {
        type: 'http',
        scheme: 'bearer',
        description: 'The secret of the internal listener, `internal.secret`.',
      },
    }),
  }
}
