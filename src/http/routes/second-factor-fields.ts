import type { FieldSchema } from '../server/validation.ts'
import { Complete } from './common-fields.ts'

/* The words of second factors, at a login and at the own account. */

/** Longer than any code, with blanks and dashes. */
const MAX_CODE_LENGTH = 64

/** Proves a second factor. */
export const CODE = {
  type: 'string',
  maxLength: MAX_CODE_LENGTH,
  description: 'The six digits that the app shows, or a recovery code. Each is accepted once.',
} as const satisfies FieldSchema

/** What a client shows to set up an app. */
export const NEW_FACTOR = {
  schema: Complete({
    secret: { type: 'string', description: 'In Base32, to type it into an app.' },
    uri: { type: 'string', description: 'The same for apps: `otpauth://`.' },
    qr: { type: 'string', description: 'The same as a picture of a QR code: a PNG as data URL.' },
  }),
  example: {
    secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
    uri: 'otpauth://totp/dualgate:ann?issuer=dualgate&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=SHA1&digits=6&period=30',
    qr: 'data:image/png;base64,iVBORw0KGgo…',
  },
} as const

export const RECOVERY_CODES = {
  schema: Complete({
    recovery_codes: {
      type: 'array',
      items: { type: 'string' },
      description: 'Ten codes for a lost telephone, each valid once. They are not shown again.',
    },
  }),
  example: { recovery_codes: ['7K2M-9QXD-0F4T-VW8A', 'M3RB-51ZC-8XKP-Q0YH'] },
} as const
