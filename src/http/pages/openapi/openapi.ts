import fastifySwagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { SIDES } from '../../../session/sides.ts'
import type { Contract, DownloadContract, Group, JsonSchema, Place, PlainContract } from '../../routes/contract.ts'
import { FORM } from '../../server/bodies.ts'
import type { FieldsSchema } from '../../server/validation.ts'
import { type AnswerOptions, plainResponses, Refusal, responsesOf } from './answers.ts'
import { securitySchemes } from './security.ts'

export interface OpenApiOptions extends AnswerOptions {
  title: string
  /** What stands above everything, in Markdown. */
  introduction: string
  version: string
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
  keys: { name: 'Keys', description: 'Credentials of programs: made, replaced, listed and revoked.' },
  'own sessions': { name: 'Own sessions', description: 'A user’s own sessions, and their end.' },
  administration: { name: 'Sessions', description: 'Who is online, and the end of their sessions.' },
  journal: { name: 'Journal', description: 'What happened, kept for administrators.' },
  probes: { name: 'Probes', description: 'For operators and their tools.' },
  operations: { name: 'Operations', description: 'Sessions in the hands of the services behind the gateway.' },
}

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
  documented: Place & (Contract | DownloadContract | PlainContract),
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
    ...('form' in documented && formOf(documented)),
    response: 'plain' in documented ? plainResponses(documented.plain) : responsesOf(documented, options),
  }
}

const formOf = ({ form }: PlainContract): FastifySchema =>
  form === undefined ? {} : { consumes: [FORM], body: { ...form.schema, examples: [form.example] } }

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
