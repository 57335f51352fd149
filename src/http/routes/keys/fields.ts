import type { TimestampFormat } from '../../../base/timestamp.ts'
import type { ListedKey, MadeKey } from '../../../key/keys.ts'
import { MAX_LIMIT, MAX_LIMITS, MAX_NAME } from '../../../key/own-keys.ts'
import { LOGIN_TYPES, type LoginType } from '../../../session/sides.ts'
import { hintOf } from '../../../token/key-form.ts'
import type { FieldSchema } from '../../server/validation.ts'
import { Complete } from '../common-fields.ts'
import { CURRENT_PASSWORD } from '../own-account/fields.ts'
import { CODE } from '../second-factor-fields.ts'

/** Of a request that makes a key: who sends it proves to be the user. */
export const PROOF = { current_password: CURRENT_PASSWORD, code: { ...CODE, type: ['string', 'null'] } } as const

export const KEY_ID = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  description: 'The id of the key.',
} as const satisfies FieldSchema

const TEXTS = {
  type: ['array', 'null'],
  items: { type: 'string', minLength: 1, maxLength: MAX_LIMIT },
  maxItems: MAX_LIMITS,
} as const

/** What a new key is to be. */
export const WANTED = {
  name: { type: 'string', minLength: 1, maxLength: MAX_NAME, description: 'What the key is for.' },
  days: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 36_500,
    description: 'Days until the key ends; at most, and unless given, those of `keys.max_age`.',
  },
  permissions: {
    ...TEXTS,
    description:
      'The permissions that the key includes, of those that its owner holds at each time; without them all, and an empty list for none.',
  },
  paths: {
    ...TEXTS,
    description: 'Beginnings of paths that the key reaches, such as `/api/v1/c/orders`; without them all.',
  },
  addresses: { ...TEXTS, description: 'Addresses and CIDR ranges from which the key may be used; without them all.' },
} as const satisfies Readonly<Record<string, FieldSchema>>

const LIST = (description: string) =>
  ({ type: ['array', 'null'], items: { type: 'string' }, description: `${description}; \`null\` for all.` }) as const
const TIME = (description: string) => ({ type: 'string', description }) as const

export const LISTED = Complete({
  id: { type: 'string', description: 'The id of the key, which names it everywhere.' },
  name: { type: 'string', description: 'What the key is for.' },
  hint: { type: 'string', description: 'The first characters of the key.' },
  user_id: { type: 'string', description: 'Login id of its owner.' },
  username: { type: 'string', description: 'Account name of its owner when it was made.' },
  permissions: LIST('The permissions that it includes'),
  paths: LIST('The beginnings of the paths that it reaches'),
  addresses: LIST('The addresses from which it may be used'),
  created_at: TIME('When it was made, in the configured time zone.'),
  expires_at: TIME('When it ends.'),
  last_used_at: { type: ['string', 'null'], description: 'Its last use, to the minute; `null` if it was not used.' },
  created_by: { type: 'string', description: 'Login id of who made it, or `command line`.' },
  created_by_type: {
    type: ['string', 'null'],
    enum: [...LOGIN_TYPES, null],
    description: 'The side of the login id in `created_by`; `null` for the command line.',
  },
  replaced: { type: 'boolean', description: 'Whether another key has taken its place: it ends soon.' },
})

export const SAMPLE_LISTED = {
  id: '4fKq7Zp2Lx9A',
  name: 'nightly report',
  hint: 'dgb_4fKq',
  user_id: '1923410000000000001',
  username: 'ann',
  permissions: ['orders:read'],
  paths: ['/api/v1/b/orders'],
  addresses: null,
  created_at: '2026-05-16 09:12:44',
  expires_at: '2027-05-16 09:12:44',
  last_used_at: null,
  created_by: '1923410000000000001',
  created_by_type: 'BUSINESS',
  replaced: false,
} as const

export const MADE = {
  schema: Complete({
    id: { type: 'string', description: 'The id of the key.' },
    key: { type: 'string', description: 'The key itself: this answer alone shows it.' },
    expires_at: TIME('When it ends, in the configured time zone.'),
  }),
  example: {
    id: '4fKq7Zp2Lx9A',
    key: 'dgb_4fKq7Zp2Lx9A_…',
    expires_at: '2027-05-16 09:12:44',
  },
} as const

/** Writes keys for clients: times as everywhere. */
export function createKeyViews(timestamps: TimestampFormat, type: LoginType) {
  return {
    listed: (key: ListedKey) => ({
      id: key.id,
      name: key.name,
      hint: hintOf(type, key.id),
      user_id: key.owner,
      username: key.username,
      permissions: copied(key.permissions),
      paths: copied(key.paths),
      addresses: copied(key.addresses),
      created_at: timestamps.write(key.createdAt),
      expires_at: timestamps.write(key.expiresAt),
      last_used_at: key.usedAt === null ? null : timestamps.write(key.usedAt),
      created_by: key.createdBy.id,
      created_by_type: key.createdBy.type ?? null,
      replaced: key.isSucceeded,
    }),
    made: ({ id, key, expiresAt }: MadeKey) => ({ id, key, expires_at: timestamps.write(expiresAt) }),
  }
}

const copied = (texts: readonly string[] | null): string[] | null => texts && [...texts]
