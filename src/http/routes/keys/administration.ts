import type { TimestampFormat } from '../../../base/timestamp.ts'
import { EDIT_KEYS } from '../../../key/administration.ts'
import { originOf } from '../../server/origin.ts'
import { NOTHING, PageOf, SAMPLE_USER, USER_ID } from '../common-fields.ts'
import type { Contract } from '../contract.ts'
import { ENCRYPTED, PROOF_REFUSALS } from '../own-account/fields.ts'
import { answering, type Endpoints, required } from '../own-routes.ts'
import { createKeyViews, KEY_ID, LISTED, MADE, PROOF, SAMPLE_LISTED, WANTED } from './fields.ts'
import type { KeysOfSides } from './own.ts'

/** The permissions of the administration of keys. Administrators of the B side hold them, for both sides. */
export const SEE_KEYS = 'sys:key:page'
export const KEY_PERMISSIONS = [SEE_KEYS, EDIT_KEYS] as const

const OWNER = { ...USER_ID, description: 'Login id of the owner.' } as const

const PAGE = {
  summary: 'Keys, page by page, those that end next first',
  query: {
    type: 'object',
    properties: {
      current: { type: 'integer', minimum: 1, maximum: 100_000, default: 1, description: 'Number of the page.' },
      size: { type: 'integer', minimum: 1, maximum: 100, default: 10, description: 'Keys on a page.' },
      user_id: { ...OWNER, description: 'Keys of this owner only, the newest first.' },
    },
  },
  data: {
    schema: PageOf('Keys', { type: 'array', items: LISTED, description: 'Live keys.' }),
    example: { records: [SAMPLE_LISTED], total: 1, page: 1, size: 10, pages: 1 },
  },
} as const satisfies Contract

const ADD = {
  summary: 'Make a key for a service account',
  details:
    'The administrator proves to be the user with the own password, and a code where the own account has a second factor.',
  body: {
    schema: {
      type: 'object',
      properties: { user_id: { ...OWNER, description: 'Login id of a service account.' }, ...WANTED, ...PROOF },
      required: ['user_id', 'name', 'current_password'],
    },
    example: { user_id: SAMPLE_USER, name: 'nightly report', current_password: ENCRYPTED },
  },
  data: MADE,
  refusals: [
    ...PROOF_REFUSALS,
    'NO_SUCH_ACCOUNT',
    'NO_SERVICE_ACCOUNT',
    'ACCOUNT_HOLDS_MORE',
    'RIGHTS_NOT_HELD',
    'TOO_MANY_KEYS',
  ],
} as const satisfies Contract

const REVOKE = {
  summary: 'End a key of a user for good',
  body: {
    schema: { type: 'object', properties: { user_id: OWNER, id: KEY_ID }, required: ['user_id', 'id'] },
    example: { user_id: SAMPLE_USER, id: SAMPLE_LISTED.id },
  },
  data: NOTHING,
  refusals: ['NO_SUCH_KEY'],
} as const satisfies Contract

/** The administration of keys, for both sides. */
export const keyEndpoints = (keys: KeysOfSides, timestamps: TimestampFormat) =>
  ({
    'keys/page': type => {
      const { page } = required(keys[type]).administration
      const { listed } = createKeyViews(timestamps, type)
      return answering(
        PAGE,
        async ({ query: { current, size, user_id: userId } }) => {
          const found = await page({ page: current, size, userId })
          return { ...found, records: found.records.map(listed) }
        },
        SEE_KEYS,
      )
    },
    'keys/add': type => {
      const add = required(keys[type]?.administration.add)
      const { made } = createKeyViews(timestamps, type)
      return answering(
        ADD,
        async request => made(await add(request.session!, request.body, originOf(request))),
        EDIT_KEYS,
      )
    },
    'keys/revoke': type => {
      const { revoke } = required(keys[type]).administration
      return answering(
        REVOKE,
        async request => {
          await revoke(request.body.user_id, request.body.id, originOf(request))
          return null
        },
        EDIT_KEYS,
      )
    },
  }) satisfies Partial<Endpoints>
