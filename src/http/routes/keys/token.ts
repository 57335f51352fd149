import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal, type RefusalReason } from '../../../base/refusal.ts'
import { ACCESS_TOKEN_LIFETIME } from '../../../key/access-token.ts'
import type { Grant } from '../../../key/grant.ts'
import { readBasic } from '../../../token/basic.ts'
import type { PlainContract } from '../contract.ts'
import { type Endpoints, required } from '../own-routes.ts'
import type { KeysOfSides } from './own.ts'

/* The token endpoint of OAuth 2.0 (RFC 6749, 4.4), for software that knows nothing else. Answers are those of the RFC. */

const ERROR = {
  type: 'object',
  properties: {
    error: { type: 'string', description: 'A code of RFC 6749, section 5.2.' },
    error_description: { type: 'string', description: 'For people to read.' },
  },
  required: ['error'],
} as const

const TOKEN: PlainContract = {
  summary: 'An access token for a key, by OAuth 2.0',
  details: `\`grant_type=client_credentials\` as \`application/x-www-form-urlencoded\`. The client id is the id of the key, the client secret the whole key: in \`Authorization: Basic\`, or as \`client_id\` and \`client_secret\`. There are no scopes. The token lives ${ACCESS_TOKEN_LIFETIME / 1000} seconds at most, and ends with its key.`,
  form: {
    schema: {
      type: 'object',
      properties: {
        grant_type: { const: 'client_credentials', description: 'The only grant.' },
        client_id: { type: 'string', description: 'The id of the key.' },
        client_secret: { type: 'string', description: 'The whole key.' },
      },
      required: ['grant_type'],
    },
    example: { grant_type: 'client_credentials', client_id: '4fKq7Zp2Lx9A', client_secret: 'dgb_4fKq7Zp2Lx9A_…' },
  },
  plain: [
    {
      status: 200,
      description: 'The token.',
      type: 'application/json',
      schema: {
        type: 'object',
        properties: {
          access_token: { type: 'string', description: 'The token.' },
          token_type: { const: 'Bearer', description: 'How it is sent.' },
          expires_in: { type: 'integer', description: 'Seconds.' },
        },
        required: ['access_token', 'token_type', 'expires_in'],
      },
      example: { access_token: 'eyJhbGciOiJIUzI1NiJ9.eyJqdGkiOiJrZXku….…', token_type: 'Bearer', expires_in: 3600 },
    },
    answer(400, 'The request is not as the RFC demands, or the owner of the key is disabled.', 'invalid_request'),
    answer(401, 'The key is wrong, or has ended.', 'invalid_client'),
    answer(429, 'Too many wrong keys came from this address.', 'temporarily_unavailable'),
    answer(503, 'The store does not answer.', 'temporarily_unavailable'),
  ],
}

function answer(status: number, description: string, error: string): PlainContract['plain'][number] {
  return { status, description, type: 'application/json', schema: ERROR, example: { error } }
}

export const tokenEndpoint = (keys: KeysOfSides) =>
  ({
    token: type => {
      const { grant } = required(keys[type])
      return { contract: TOKEN, send: (request, reply) => send(request, reply, grant) }
    },
  }) satisfies Partial<Endpoints>

async function send(request: FastifyRequest, reply: FastifyReply, grant: Grant): Promise<FastifyReply> {
  // RFC 6749, 5.1.
  reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
  const client = readClient(request)
  if ('error' in client) return refuse(request, reply, client)
  try {
    const granted = await grant(client.id, client.secret, request.ip ?? '')
    return granted === null ? refuse(request, reply, INVALID_CLIENT) : reply.send(granted)
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault
    return refuse(request, reply, shownFor(fault))
  }
}

/** A refusal in the form of RFC 6749, 5.2. */
interface Shown {
  /** In the log and the metrics. */
  reason: RefusalReason
  status: number
  error: string
  error_description?: string
  retryAfter?: number | undefined
}

const INVALID_CLIENT: Shown = { reason: 'NOT_LOGGED_IN', status: 401, error: 'invalid_client' }

const invalid = (error: string, error_description: string): Shown => ({
  reason: 'INVALID',
  status: 400,
  error,
  error_description,
})

function refuse(request: FastifyRequest, reply: FastifyReply, shown: Shown): FastifyReply {
  const { reason, status, retryAfter, ...body } = shown
  request.refused = reason
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  // Not to a request without the header: a form of a foreign page would let a browser ask its user for a password.
  if (status === 401 && request.headers.authorization !== undefined)
    reply.header('www-authenticate', 'Basic realm="dualgate", charset="UTF-8"')
  return reply.code(status).send(body)
}

function shownFor({ reason, retryAfter }: Refusal): Shown {
  if (reason === 'SESSION_DISABLED') return { reason, status: 400, error: 'unauthorized_client' }
  const status = reason === 'TOO_MANY_WRONG_KEYS' ? 429 : 503
  return { reason, status, error: 'temporarily_unavailable', retryAfter }
}

interface Client {
  id: string
  secret: string
}

/** RFC 6749, 2.3.1, 3.2 and 4.4.2. No parameter stands twice, an empty one is absent, and a client uses one way to name itself. */
function readClient({ body, headers: { authorization } }: FastifyRequest): Client | Shown {
  const form = new URLSearchParams(typeof body === 'string' ? body : '')
  if (hasRepetition(form)) return invalid('invalid_request', 'a parameter is given twice')
  const [grantType, scope, id, secret] = ['grant_type', 'scope', 'client_id', 'client_secret'].map(
    name => form.get(name) || null,
  ) as [string | null, string | null, string | null, string | null]
  if (grantType === null) return invalid('invalid_request', 'grant_type is missing')
  if (grantType !== 'client_credentials')
    return invalid('unsupported_grant_type', 'the only grant is client_credentials')
  // A client that wants fewer rights must not get all of them without notice (RFC 6749, 3.3).
  if (scope !== null) return invalid('invalid_scope', 'a token has the rights of its key: send no scope')
  if (authorization === undefined) return id === null || secret === null ? INVALID_CLIENT : { id, secret }
  const basic = clientIn(authorization)
  if (basic === null) return INVALID_CLIENT
  if (secret !== null || (id !== null && id !== basic.id))
    return invalid('invalid_request', 'the client names itself in two ways')
  return basic
}

/** Reads the form once: if each name were searched in it, one of thousands of names would hold up other requests. */
export const hasRepetition = (form: URLSearchParams): boolean => new Set(form.keys()).size < form.size

/** Both parts are form-encoded before they are joined. */
function clientIn(authorization: string): Client | null {
  const text = readBasic(authorization)
  if (text === null) return null
  const [id = '', ...secret] = text.split(':')
  return { id: decoded(id), secret: decoded(secret.join(':')) }
}

/** Neither an id nor a key has a character that is encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
