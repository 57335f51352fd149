import type { LoginType } from '../../../session.ts'
import type { Description } from '../../pages/description.ts'
import { NOTHING, object, text, whole } from '../../pages/json-schema.ts'

const PUBLIC_KEY = `04${'3a9d1f'.repeat(21)}c2`
const CIPHERTEXT = `${'9f21c4'.repeat(32)}…`

export const describeCaptcha = (type: LoginType): Description => ({
  group: 'login',
  side: type,
  summary: 'A captcha',
  details: 'It can be answered once, right or wrong.',
  needs: 'nothing',
  data: {
    schema: object({
      captcha_base64: text('The picture, as a data URL.'),
      captcha_id: text('Goes with the answer to `login`.', { format: 'uuid' }),
      captcha_code: { ...NOTHING, description: 'Always `null`; for clients that expect it.' },
    }),
    example: {
      captcha_base64: 'data:image/png;base64,iVBORw0KGgo…',
      captcha_id: '5a4f1a52-8c5f-4b3e-9a53-1f3f1f6a0c11',
      captcha_code: null,
    },
  },
  refusals: ['TOO_MANY_ATTEMPTS', 'BUSY'],
})

export const describePublicKey = (type: LoginType): Description => ({
  group: 'login',
  side: type,
  summary: 'The public key that passwords are encrypted with',
  details: 'SM2, cipher mode C1C3C2: `sm2.doEncrypt(password, publicKey, 1)` of sm-crypto.',
  needs: 'nothing',
  data: { schema: text('130 hex digits, `04` first.', { pattern: '^04[0-9a-f]{128}$' }), example: PUBLIC_KEY },
  refusals: [],
})

const Credentials = object(
  {
    captcha_id: text('Id of the captcha.'),
    captcha_value: text('What its picture shows, in any case.'),
    captcha_code: text('Another name for `captcha_value`.'),
    username: text('Account name.'),
    password: text('The password, encrypted with SM2, as hex; with or without a leading `04`.'),
    device_id: text('What the program calls itself; it is shown to administrators.', { maxLength: 128 }),
  },
  { optional: ['captcha_value', 'captcha_code', 'device_id'] },
)

export const describeLogin = (type: LoginType): Description => ({
  group: 'login',
  side: type,
  summary: 'Sign in',
  details:
    'The captcha is judged first. A name that nobody has, a wrong password and one that cannot be decrypted are refused in the same words.',
  needs: 'nothing',
  body: {
    schema: Credentials,
    example: {
      captcha_id: '5a4f1a52-8c5f-4b3e-9a53-1f3f1f6a0c11',
      captcha_value: 'K7RA',
      username: 'ann',
      password: CIPHERTEXT,
    },
  },
  data: {
    schema: object({
      token: text('The signed JWT.'),
      token_name: text('Name of the header that carries it.'),
      expires_in: whole('Seconds that it lives, unless it is renewed or ended.'),
    }),
    example: {
      token: 'eyJhbGciOiJIUzI1NiJ9.eyJqdGkiOiI2WmIxIn0.c2ln',
      token_name: 'Authorization',
      expires_in: 2_592_000,
    },
  },
  refusals: [
    'INVALID',
    'CAPTCHA_BLANK',
    'CAPTCHA_GONE',
    'CAPTCHA_WRONG',
    'WRONG_CREDENTIALS',
    'ACCOUNT_LOCKED',
    'ACCOUNT_INACTIVE',
    'DISABLED',
    'TOO_MANY_ATTEMPTS',
    'BUSY',
  ],
})

export const describeLogout = (type: LoginType): Description => ({
  group: 'login',
  side: type,
  summary: 'Sign out',
  details: 'Ends the session of the token that comes with the request.',
  needs: type,
  data: { schema: object({ message: text('In the configured language.') }), example: { message: 'Logged out' } },
  refusals: ['NOT_LOGGED_IN'],
})
