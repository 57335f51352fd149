import type { FastifyInstance } from 'fastify'
import type { Permissions } from '../../account/permissions.ts'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/refusal.ts'
import type { TimestampFormat } from '../../base/timestamp.ts'
import { decide, type GatedRequest, type GatedUpstream } from '../../gate/decide.ts'
import { KeyCredential } from '../../gate/key-credential.ts'
import type { GateSides } from '../../gate/live-session.ts'
import { type AccessToken, readAccessToken } from '../../key/access-token.ts'
import { networkOf } from '../../login/protection/network.ts'
import { LOGIN_TYPES, SIDES } from '../../session/sides.ts'
import { PROFILES } from '../../settings/profile.ts'
import { pathRulesOf } from '../../settings/served.ts'
import type { Session } from '../../side/side.ts'
import type { SessionStore } from '../../store/store.ts'
import { readBearer, type Token } from '../../token/bearer.ts'
import type { Jwt } from '../../token/jwt.ts'
import { type Key, partsOf, readBearerKey } from '../../token/key-form.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { type DecidingSettings, explainRequest, type Row } from '../explain.ts'
import type { Sides } from '../server/authenticate.ts'
import type { Envelopes } from '../server/envelope.ts'
import type { Contract } from './contract.ts'
import { serve } from './serve-route.ts'

export interface ExplainOptions {
  settings: DecidingSettings
  sides: Sides
  /** By what the gate finds sessions, without marking them as used. */
  gateSides: GateSides<Session>
  upstreams: UpstreamTable
  permissions: Permissions
  envelopes: Envelopes
  jwt: Jwt
  sessions: SessionStore
  timestamps: TimestampFormat
  clock: Clock
}

export const EXPLAIN_PATH = '/operations/v1/explain'

const EXPLAIN = {
  summary: 'Why a request is allowed or refused, as this gateway decides now',
  details: 'Nothing is sent to the upstream, and the session is not renewed. The answer never contains the token.',
  body: {
    schema: {
      type: 'object',
      properties: {
        method: { type: 'string', maxLength: 20, description: 'The method of the request.' },
        target: { type: 'string', maxLength: 8192, description: 'Its path, with the query.' },
        token: { type: 'string', maxLength: 8192, description: 'Its token or its key, with or without `Bearer `.' },
        address: { type: 'string', maxLength: 100, description: 'The address of its client.' },
      },
      required: ['method', 'target'],
    },
    example: { method: 'GET', target: '/api/v1/c/orders/7' },
  },
  data: {
    schema: {
      type: 'object',
      properties: {
        rows: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string', description: 'What the row is about.' },
              value: { type: 'string', description: 'For people to read.' },
            },
            required: ['name', 'value'],
          },
          description: 'The explanation, row by row.',
        },
      },
      required: ['rows'],
    },
    example: { rows: [{ name: 'decision', value: 'allowed' }] },
  },
} as const satisfies Contract

/** `dualgate explain --live`: the explanation of the command, with the session, the decision and the targets as they are. */
export function serveExplain(app: FastifyInstance, options: ExplainOptions): void {
  serve(app, options.envelopes, {
    method: 'POST',
    path: EXPLAIN_PATH,
    place: { group: 'operations', side: null, needs: 'secret' },
    contract: EXPLAIN,
    answer: async ({ body: { method, target, token, address = null } }) => {
      const { settings, upstreams } = options
      const { rows, found } = explainRequest(method, target, settings, upstreams, address)
      const key = readBearerKey(token)
      const read = token === undefined ? null : readBearer(token)
      const credential = key === null ? read : new KeyCredential(key, { address })
      const live: Row[] = [
        ...(key === null ? await sessionRows(token !== undefined, read, options) : await keyRows(key, options)),
        ...(found === null ? [] : await decisionRows({ ...found, credential, address }, options)),
        ...targetRows(found?.upstream ?? null, upstreams),
      ]
      return { rows: [...rows, ...live].map(([name, value]) => ({ name, value })) }
    },
  })
}

/** The state of the session of a token, on both sides. */
async function sessionRows(isSent: boolean, token: Token | null, options: ExplainOptions): Promise<Row[]> {
  if (!isSent) return [['session', 'no token was given']]
  if (token === null) return [['session', 'what was given is not a token']]
  const { jwt, sides } = options
  const claims = jwt.read(token)
  if (claims === null) {
    const why = jwt.isSigned(token)
      ? 'the token has our signature, but claims that are refused'
      : 'the token is not signed with the secret and the algorithm of this gateway'
    return [['session', why]]
  }
  const madeForKey = readAccessToken(claims)
  if (madeForKey !== null) return accessTokenRows(madeForKey, token, options)
  try {
    const rows: Row[] = []
    for (const type of LOGIN_TYPES) {
      const session = await sides[type].inspect(token)
      if (session !== null) rows.push(...(await liveRows(session, token, options)))
    }
    return rows.length > 0 ? rows : [['session', await absenceOf(token, sides)]]
  } catch (fault) {
    return [['session', `cannot be read: ${refusalOf(fault).reason}`]]
  }
}

/** The state of a token that was made for a key: it has no record. */
async function accessTokenRows(
  { keyId, expiresAt }: AccessToken,
  token: Token,
  { gateSides, timestamps }: ExplainOptions,
): Promise<Row[]> {
  try {
    for (const type of LOGIN_TYPES) {
      const session = await gateSides[type].authenticate(token, 'header')
      if (session === null) continue
      const until = timestamps.write(expiresAt)
      return [
        ['session', `live: a token for key ${keyId}, of user ${session.record.user_id} of ${type}, until ${until}`],
      ]
    }
    return [['session', `a token for key ${keyId}: it or its key has ended, or the account is not active`]]
  } catch (fault) {
    return [['session', `a token for key ${keyId} cannot be used: ${refusalOf(fault).reason}`]]
  }
}

/** The state of a key, which is named by its id alone. */
async function keyRows(key: Key, { gateSides, timestamps }: ExplainOptions): Promise<Row[]> {
  const { type, id } = partsOf(key)
  try {
    const session = await gateSides[type].authenticateKey?.(new KeyCredential(key, { address: null }))
    if (!session)
      return [['key', `${id} of the ${SIDES[type].letter} side is wrong, has ended, or its account is not active`]]
    const { user_id } = session.record
    return [['key', `${id}: of user ${user_id} of ${type}, made ${timestamps.write(session.claims.iat * 1000)}`]]
  } catch (fault) {
    return [['key', `${id} cannot be used: ${refusalOf(fault).reason}`]]
  }
}

/** Why a token that is signed here has no session, as far as it is known. */
async function absenceOf(token: Token, sides: Sides): Promise<string> {
  for (const type of LOGIN_TYPES) {
    const reason = await sides[type].whyEnded?.(token)
    if (reason) return `the token is signed here, but its session of ${type} has ended: ${reason}`
  }
  return 'the token is signed here, but its record is gone: it ended or expired'
}

async function liveRows({ record }: Session, token: Token, options: ExplainOptions): Promise<Row[]> {
  const { sessions, timestamps, clock } = options
  const { type, user_id, created_at } = record
  const end = await sessions.tokenExpiresAt(type, token)
  const until = (time: number): string =>
    time === Number.POSITIVE_INFINITY ? 'without an end' : `until ${timestamps.write(time)}`
  const rows: Row[] = [
    ['session', `live: user ${user_id} of ${type}, since ${created_at}, ${until(end ?? Number.POSITIVE_INFINITY)}`],
  ]
  const disabled = await sessions.disabledUntil(type, user_id)
  if (disabled !== null && disabled > clock.now()) rows.push(['disabled', `the login id, ${until(disabled)}`])
  return rows
}

type Explained = Pick<GatedRequest<Session>, 'path' | 'verdict' | 'credential' | 'address'> & {
  upstream: Upstream | null
}

/** The decision of the public listener, with sessions that are not marked as used and requests that are not counted. */
async function decisionRows(
  request: Explained,
  { settings, gateSides, permissions, envelopes }: ExplainOptions,
): Promise<Row[]> {
  const { upstream, address } = request
  const network = address === null ? null : networkOf(address)
  const rules = pathRulesOf(settings, PROFILES[settings.profile])
  try {
    const session = await decide(
      { ...request, upstream: upstream && uncounted(upstream), network, onAdmitted: () => undefined },
      { rules, sides: gateSides, permissions },
    )
    if (upstream !== null || session === null) return [['decision', 'allowed']]
    // What the guards of its own routes say (http/server/guards.ts).
    if (session.key !== undefined) throw new Refusal('NOT_FOR_KEYS')
    return [['decision', 'allowed by the gate; the route itself checks the permission that it needs, if any']]
  } catch (fault) {
    const refusal = refusalOf(fault)
    const { code, message } = envelopes.failure('', refusal).body
    return [['decision', `refused: ${refusal.reason} (${code}), ${message}`]]
  }
}

const uncounted = ({ permission, maintenance, rateLimit, findsOptional }: Upstream): GatedUpstream => ({
  permission,
  maintenance,
  rateLimit: rateLimit && { take: counted => rateLimit.inspect(counted) },
  findsOptional,
})

function refusalOf(fault: unknown): Refusal {
  if (fault instanceof Refusal) return fault
  throw fault
}

/** The targets as this process sees them: each worker decides for itself. */
function targetRows(upstream: Upstream | null, table: UpstreamTable): Row[] {
  const found = table.status().find(({ name }) => name === upstream?.name)
  return (found?.targets ?? []).map(({ target, state, open, waiting }) => [
    'target',
    `${target}: ${state}, ${open} requests under way, ${waiting} of them waiting for a connection`,
  ])
}
