import type { FieldSchema } from '../../server/validation.ts'

export const CURRENT_PASSWORD = {
  type: 'string',
  description: 'The password in use, encrypted with SM2 as at `login`, as hex.',
} as const satisfies FieldSchema

/** With what a proof by password and code may be refused. */
export const PROOF_REFUSALS = [
  'WRONG_CREDENTIALS',
  'PASSWORD_EXPIRED',
  'WRONG_CODE',
  'FACTOR_UNREADABLE',
  'DISABLED',
  'TOO_MANY_ATTEMPTS',
  'BUSY',
] as const

/** The beginning of an encrypted password, for examples. */
export const ENCRYPTED = `${'9f21c4'.repeat(32)}…`
