import type { FieldSchema } from '../../server/validation.ts'

export const CURRENT_PASSWORD = {
  type: 'string',
  description: 'The password in use, encrypted with SM2 as at `login`, as hex.',
} as const satisfies FieldSchema

/** The beginning of an encrypted password, for examples. */
export const ENCRYPTED = `${'9f21c4'.repeat(32)}…`
