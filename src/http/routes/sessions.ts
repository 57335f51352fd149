import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Permissions } from '../../account/permissions.ts'
import type { Administration } from '../../administration/administration.ts'
import { invalid } from '../../refusal.ts'
import { isLoginId, LOGIN_TYPES, type LoginType, SIDES } from '../../session.ts'
import type { Envelopes } from '../server/envelope.ts'
import type { Guards } from '../server/guards.ts'
import { describeCurrent, describeSessionRoute, type SessionRoute } from './documents/sessions.ts'
import { END, MAY, PREVENT, SEE, SEE_TOKENS } from './sessions-permissions.ts'

const MAX_PAGE = 1_000_000
const MAX_PAGE_SIZE = 100

export interface SessionRoutesOptions {
  versions: readonly number[]
  administration: Administration
  guards: Guards
  permissions: Permissions
  envelopes: Envelopes
}

/**
 * The endpoints of "Session administration", and ours beside them: below `sys/session/` for the B side, `client/session/`
 * for the C side.
 */
export function serveSessions(app: FastifyInstance, options: SessionRoutesOptions): void {
  for (const version of options.versions) {
    for (const type of LOGIN_TYPES) serveSide(app, `/api/v${version}/${SIDES[type].administration}`, type, options)
    serveCurrent(app, `/api/v${version}/${SIDES.BUSINESS.administration}`, options)
  }
}

type Answer = (request: FastifyRequest, type: LoginType, options: SessionRoutesOptions) => Promise<unknown>

const ROUTES: readonly [method: 'GET' | 'POST', name: SessionRoute, permission: string, answer: Answer][] = [
  ['GET', 'analysis', SEE, (_request, type, { administration }) => administration.analysis(type)],
  ['GET', 'chart-data', SEE, (_request, _type, { administration }) => administration.chart()],
  ['GET', 'page', SEE, ({ query }, type, { administration }) => administration.page(type, pageQueryOf(query))],
  [
    'GET',
    'tokens',
    SEE,
    async (request, type, { administration, permissions }) => {
      const show = (await maySeeTokens(request, permissions)) ? 'token' : 'handle'
      return administration.tokens(type, loginIdOf(request.query), show)
    },
  ],
  [
    'POST',
    'exit',
    END,
    async ({ body }, type, { administration }) => {
      await administration.exit(type, loginIdOf(body))
      return null
    },
  ],
  [
    'POST',
    'exit-token',
    END,
    async ({ body }, type, { administration }) => {
      await administration.exitToken(type, loginIdOf(body), tokenOf(body))
      return null
    },
  ],
  [
    'POST',
    'disable',
    PREVENT,
    async ({ body }, type, { administration }) => {
      await administration.disable(type, loginIdOf(body), secondsOf(body))
      return null
    },
  ],
  [
    'POST',
    'untie-disable',
    PREVENT,
    async ({ body }, type, { administration }) => {
      await administration.untieDisable(type, loginIdOf(body))
      return null
    },
  ],
  [
    'GET',
    'disabled',
    PREVENT,
    ({ query }, type, { administration }) => administration.disabled(type, loginIdOf(query)),
  ],
]

function serveSide(app: FastifyInstance, base: string, type: LoginType, options: SessionRoutesOptions): void {
  for (const [method, name, permission, answer] of ROUTES) {
    app.route({
      method,
      url: `${base}/${name}`,
      onRequest: options.guards.requirePermission('BUSINESS', [permission]),
      config: { description: describeSessionRoute(name, type) },
      handler: async request => options.envelopes.success(request.id, await answer(request, type, options)),
    })
  }
}

/**
 * The client's own session and its permissions in the session administration, so that pages show only permitted
 * actions.
 */
function serveCurrent(
  app: FastifyInstance,
  base: string,
  { guards, permissions, envelopes }: SessionRoutesOptions,
): void {
  const route = { onRequest: guards.requireLogin('BUSINESS'), config: { description: describeCurrent } }
  app.get(`${base}/current`, route, async ({ id, session }) => {
    const { record } = session!
    const holder = await permissions.holderOf(record)
    const held = MAY.filter(code => permissions.allows(holder, [code], 'all'))
    const { username, nickname } = record.extra
    return envelopes.success(id, {
      user_id: record.user_id,
      username: typeof username === 'string' ? username : null,
      nickname: typeof nickname === 'string' ? nickname : null,
      permissions: held,
    })
  })
}

const maySeeTokens = async ({ session }: FastifyRequest, permissions: Permissions): Promise<boolean> =>
  session !== null && permissions.allows(await permissions.holderOf(session.record), [SEE_TOKENS], 'all')

/** A field of a query or a body; the query's object has a prototype of its own. */
function fieldOf(source: unknown, name: string): unknown {
  // There was no body.
  if (source === undefined) return undefined
  if (typeof source !== 'object' || source === null || Array.isArray(source)) {
    throw invalid('body', 'must be a JSON object')
  }
  return Object.hasOwn(source, name) ? (source as Record<string, unknown>)[name] : undefined
}

function loginIdOf(source: unknown): string {
  const userId = fieldOf(source, 'user_id')
  if (userId === undefined) throw invalid('user_id', 'is missing')
  if (!isLoginId(userId)) throw invalid('user_id', 'must be 1 to 128 characters of A-Z a-z 0-9 . _ @ : -')
  return userId
}

function tokenOf(source: unknown): string {
  const token = fieldOf(source, 'token')
  if (token === undefined) throw invalid('token', 'is missing')
  if (typeof token !== 'string') throw invalid('token', 'must be a string')
  if (token === '') throw invalid('token', 'must not be empty')
  return token
}

function secondsOf(source: unknown): number {
  const seconds = fieldOf(source, 'seconds')
  if (seconds === undefined) throw invalid('seconds', 'is missing')
  if (typeof seconds !== 'number') throw invalid('seconds', 'must be a number')
  return seconds
}

function pageQueryOf(query: unknown): { page: number; size: number; keyword: string } {
  const keyword = fieldOf(query, 'keyword') ?? ''
  if (typeof keyword !== 'string') throw invalid('keyword', 'must be a string')
  if (keyword.length > 128) throw invalid('keyword', 'must be at most 128 characters')
  const named = fieldOf(query, 'current') === undefined ? 'page' : 'current'
  return {
    page: wholeNumber(query, named, 1, MAX_PAGE),
    size: wholeNumber(query, 'size', 10, MAX_PAGE_SIZE),
    keyword: keyword.trim(),
  }
}

function wholeNumber(
  query: unknown,
  name: string,
  fallback: number,
  most: typeof MAX_PAGE_SIZE | typeof MAX_PAGE,
): number {
  const text = fieldOf(query, name) ?? ''
  if (text === '') return fallback
  const number = typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= 1 && number <= most)) throw invalid(name, `must be a whole number from 1 to ${most}`)
  return number
}
