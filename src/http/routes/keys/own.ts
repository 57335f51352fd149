import type { TimestampFormat } from '../../../base/timestamp.ts'
import type { KeysOfSide } from '../../../key/open.ts'
import type { LoginType } from '../../../session/sides.ts'
import { originOf } from '../../server/origin.ts'
import { NOTHING } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { ENCRYPTED, PROOF_REFUSALS } from '../own-account/fields.ts'
import { answering, type Endpoints, required } from '../own-routes.ts'
import { createKeyViews, KEY_ID, LISTED, MADE, PROOF, SAMPLE_LISTED, WANTED } from './fields.ts'

const LIST = {
  summary: 'The own keys, the newest first',
  data: { schema: { type: 'array', items: LISTED, description: 'Live keys.' }, example: [SAMPLE_LISTED] },
} as const satisfies Contract

const ADD = {
  summary: 'Make a key for a program',
  details:
    'The answer alone shows the key. A key allows no more than its owner may do at each time, and needs no captcha.',
  body: {
    schema: { type: 'object', properties: { ...WANTED, ...PROOF }, required: ['name', 'current_password'] },
    example: { name: 'nightly report', days: 90, permissions: ['orders:read'], current_password: ENCRYPTED },
  },
  data: MADE,
  refusals: [...PROOF_REFUSALS, 'TOO_MANY_KEYS', 'RIGHTS_NOT_HELD'],
} as const satisfies Contract

const ROTATE = {
  summary: 'Replace a key by a new one',
  details:
    'The new key has the name and the limits of the old one, which lives on for `keys.overlap`. A key is replaced once.',
  body: {
    schema: { type: 'object', properties: { id: KEY_ID, ...PROOF }, required: ['id', 'current_password'] },
    example: { id: SAMPLE_LISTED.id, current_password: ENCRYPTED },
  },
  data: MADE,
  refusals: [...PROOF_REFUSALS, 'NO_SUCH_KEY', 'KEY_SUCCEEDED'],
} as const satisfies Contract

const REVOKE = {
  summary: 'End a key for good',
  body: {
    schema: { type: 'object', properties: { id: KEY_ID }, required: ['id'] },
    example: { id: SAMPLE_LISTED.id },
  },
  data: NOTHING,
  refusals: ['NO_SUCH_KEY'],
} as const satisfies Contract

export type KeysOfSides = Readonly<Record<LoginType, KeysOfSide | null>>

/** What users do with their own keys. The guard of each route has found a session that no key proves. */
export const ownKeyEndpoints = (keys: KeysOfSides, timestamps: TimestampFormat) =>
  ({
    'account/keys': type => {
      const own = required(keys[type]?.own)
      const { listed } = createKeyViews(timestamps, type)
      return answering(LIST, async ({ session }) => (await own.list(session!)).map(listed))
    },
    'account/keys/add': type => {
      const own = required(keys[type]?.own)
      const { made } = createKeyViews(timestamps, type)
      return answering(ADD, async request => made(await own.add(request.session!, request.body, originOf(request))))
    },
    'account/keys/rotate': type => {
      const own = required(keys[type]?.own)
      const { made } = createKeyViews(timestamps, type)
      return answering(ROTATE, async request =>
        made(await own.rotate(request.session!, request.body, originOf(request))),
      )
    },
    'account/keys/revoke': type => {
      const own = required(keys[type]?.own)
      return answering(REVOKE, async request => {
        await own.revoke(request.session!, request.body.id, originOf(request))
        return null
      })
    },
  }) satisfies Partial<Endpoints>
