import type { OwnSessions } from '../../../administration/own-sessions.ts'
import { originOf } from '../../server/origin.ts'
import { NOTHING } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { answering, type Endpoints } from '../own-routes.ts'
import { SESSION } from './online-users.ts'

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

/** A user's own sessions. The guard of each route has found the session. */
export const ownSessionEndpoints = (own: OwnSessions) =>
  ({
    'own-sessions/tokens': () => answering(TOKENS, ({ session }) => own.list(session!)),
    'own-sessions/exit-token': () =>
      answering(EXIT_TOKEN, async request => {
        await own.exitToken(request.session!, request.body.token, originOf(request))
        return null
      }),
    'own-sessions/exit-others': () =>
      answering(EXIT_OTHERS, async request => ({ ended: await own.exitOthers(request.session!, originOf(request)) })),
  }) satisfies Partial<Endpoints>
