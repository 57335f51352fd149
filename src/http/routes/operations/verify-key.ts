import type { FastifyInstance } from 'fastify'
import { rightsIn } from '../../../account/permissions.ts'
import type { TimestampFormat } from '../../../base/timestamp.ts'
import { KeyCredential } from '../../../gate/key-credential.ts'
import { unlessDisabled } from '../../../key/lookup.ts'
import { LOGIN_TYPES, SIDES } from '../../../session/sides.ts'
import { asKey } from '../../../token/key-form.ts'
import type { Envelopes } from '../../server/envelope.ts'
import { SAMPLE_USER, USER_ID } from '../common-fields.ts'
import type { Contract, DataOf } from '../contract.ts'
import type { KeysOfSides } from '../keys/own.ts'
import { serve } from '../serve-route.ts'

const TEXTS = (description: string) => ({ type: 'array', items: { type: 'string' }, description }) as const

const VERIFY_KEY = {
  summary: 'Whose a key is, for services that programs call without the gateway',
  details:
    'Limits of a key to paths and addresses are not checked here, because they are those of requests to the gateway.',
  body: {
    schema: {
      type: 'object',
      properties: { key: { type: 'string', maxLength: 256, description: 'The key.' } },
      required: ['key'],
    },
    example: { key: 'dgb_4fKq7Zp2Lx9A_…' },
  },
  data: {
    schema: {
      type: ['object', 'null'],
      properties: {
        id: { type: 'string', description: 'The id of the key.' },
        user_id: USER_ID,
        created_at: { type: 'string', description: 'When it was made.' },
        roles: TEXTS('Roles of its owner; none for a key that includes some permissions only.'),
        permissions: TEXTS('Permissions that its owner and the key have.'),
      },
      required: ['id', 'user_id', 'created_at', 'roles', 'permissions'],
      description: '`null` for a key that is wrong or has ended, and while its owner is not active or is disabled.',
    },
    example: {
      id: '4fKq7Zp2Lx9A',
      user_id: SAMPLE_USER,
      created_at: '2026-05-16 09:12:44',
      roles: [],
      permissions: ['orders:read'],
    },
  },
} as const satisfies Contract

/** What the operation answers. */
export type VerifiedKey = DataOf<typeof VERIFY_KEY>

/** `POST /operations/v1/{business|consumer}/verify-key`, where the side has keys. */
export function serveKeyOperations(
  app: FastifyInstance,
  keys: KeysOfSides,
  timestamps: TimestampFormat,
  envelopes: Envelopes,
): void {
  for (const type of LOGIN_TYPES) {
    const sessions = keys[type]?.sessions
    if (sessions === undefined) continue
    serve(app, envelopes, {
      method: 'POST',
      path: `/operations/v1/${SIDES[type].name}/verify-key`,
      place: { group: 'operations', side: type, needs: 'secret' },
      contract: VERIFY_KEY,
      answer: async ({ body }) => {
        const key = asKey(body.key)
        if (key === null) return null
        const session = await unlessDisabled(() => sessions.inspected.find(new KeyCredential(key, { address: null })))
        if (session === null) return null
        const { record, claims } = session
        return {
          id: claims.jti,
          user_id: record.user_id,
          created_at: timestamps.write(claims.iat * 1000),
          roles: [...rightsIn(record.extra).roles],
          permissions: [...rightsIn(record.extra).permissions],
        }
      },
    })
  }
}
