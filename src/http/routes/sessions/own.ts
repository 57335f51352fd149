import type { FastifyInstance } from 'fastify'
import type { OwnSessions } from '../../../administration/own.ts'
import { OWN_SESSION_ROUTES } from '../../../config/own-routes.ts'
import { type LoginType, SIDES } from '../../../session.ts'
import type { Session } from '../../../side/side.ts'
import type { Envelopes } from '../../server/envelope.ts'
import type { Guards } from '../../server/guards.ts'
import { originOf } from '../../server/origin.ts'
import { type Contract, type DataOf, NOTHING, type Request, serveAny } from '../contract.ts'
import { SESSION } from './online-users.ts'

export interface OwnSessionRoutesOptions {
  versions: readonly number[]
  /** The sides whose users are served. */
  types: readonly LoginType[]
  own: OwnSessions
  guards: Guards
  envelopes: Envelopes
}

type Path = { method: 'GET' | 'POST'; path: string; type: LoginType }
type OwnRoute = (app: FastifyInstance, at: Path, options: OwnSessionRoutesOptions) => void

const ownRoute =
  <C extends Contract>(
    contract: C,
    answer: (own: OwnSessions, session: Session, request: Request<C>) => Promise<DataOf<C>>,
  ): OwnRoute =>
  (app, { method, path, type }, { own, guards, envelopes }) =>
    serveAny(app, envelopes, {
      method,
      path,
      place: { group: 'own sessions', side: type, needs: type },
      contract,
      onRequest: guards.requireLogin(type),
      answer: request => answer(own, request.session!, request as Request<C>),
    })

const TOKENS = {
  summary: 'The live sessions of the user, the newest first, up to 1000',
  data: {
    schema: {
      type: 'array',
      description: 'Live sessions.',
      items: {
        type: 'object',
        properties: {
          token: { type: 'string', description: 'The handle of the session, which is not valid as a token.' },
          ...SESSION.properties,
          current: { type: 'boolean', description: 'Whether it is the session of this request.' },
        },
        required: ['token', ...SESSION.required, 'current'],
      },
    },
    example: [{ token: '6Zb1xw0cS2mPq1c9oV4y7g', ...SESSION.example, current: true }],
  },
} as const satisfies Contract

const EXIT_TOKEN = {
  summary: 'End one session of the user',
  body: {
    schema: {
      type: 'object',
      properties: {
        token: { type: 'string', minLength: 1, maxLength: 256, description: 'The handle, as `tokens` answers it.' },
      },
      required: ['token'],
    },
    example: { token: '6Zb1xw0cS2mPq1c9oV4y7g' },
  },
  data: NOTHING,
  refusals: ['NO_SUCH_TOKEN'],
} as const satisfies Contract

const EXIT_OTHERS = {
  summary: 'End every other session of the user',
  details: 'The session of this request stays.',
  data: {
    schema: {
      type: 'object',
      properties: { ended: { type: 'integer', description: 'How many sessions were ended.' } },
      required: ['ended'],
    },
    example: { ended: 2 },
  },
} as const satisfies Contract

/** By the names that the list of the gateway's own routes has. */
const ROUTES: Readonly<Record<keyof typeof OWN_SESSION_ROUTES, OwnRoute>> = {
  tokens: ownRoute(TOKENS, (own, session) => own.list(session)),
  'exit-token': ownRoute(EXIT_TOKEN, async (own, session, request) => {
    await own.exitToken(session, request.body.token, originOf(request))
    return null
  }),
  'exit-others': ownRoute(EXIT_OTHERS, async (own, session, request) => ({
    ended: await own.exitOthers(session, originOf(request)),
  })),
}

/** A user's own sessions: below `b/session/` for the B side, `c/session/` for the C side. */
export function serveOwnSessions(app: FastifyInstance, options: OwnSessionRoutesOptions): void {
  const names = Object.keys(ROUTES) as (keyof typeof ROUTES)[]
  for (const version of options.versions) {
    for (const type of options.types) {
      for (const name of names) {
        const path = `/api/v${version}/${SIDES[type].section}/session/${name}`
        ROUTES[name](app, { method: OWN_SESSION_ROUTES[name], path, type }, options)
      }
    }
  }
}
