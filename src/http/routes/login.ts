import { Refusal } from '../../base/refusal.ts'
import type { Login } from '../../login/sign-in/login.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import { type CaptchaSettings, captchaEndpoint } from './captcha.ts'
import type { Contract } from './contract.ts'
import { answering, type Endpoint, type Endpoints, required } from './own-routes.ts'
import { type DeliveryOf, KEPT_IN } from './token-delivery.ts'

export interface LoginOptions {
  settings: { login: Pick<Settings['login'], 'password'> } & CaptchaSettings
  /** `null` for a side whose login is served elsewhere. */
  logins: Readonly<Record<LoginType, Login | null>>
  deliveryOf: DeliveryOf
}

const PUBLIC_KEY = {
  summary: 'The public key that encrypts passwords',
  details: 'SM2, cipher mode C1C3C2: `sm2.doEncrypt(password, publicKey, 1)` of sm-crypto.',
  data: {
    schema: { type: 'string', pattern: '^04[0-9a-f]{128}$', description: '130 hex digits, `04` first.' },
    example: `04${'3a9d1f'.repeat(21)}c2`,
  },
} as const satisfies Contract

/** What a login answers, and the last of its steps. */
export const SIGNED_IN = {
  schema: {
    type: 'object',
    properties: {
      token: { type: 'string', description: 'The signed JWT; absent with `session: cookie`.' },
      token_name: { type: 'string', description: 'Name of the header that carries it; absent with `session: cookie`.' },
      cookie: { type: 'string', description: 'Name of the cookie that was set; only with `session: cookie`.' },
      expires_in: { type: 'integer', description: 'Its lifetime in seconds, unless it is renewed or ended.' },
      wrong_codes: {
        type: 'integer',
        description: 'Wrong codes of the second factor that were entered since the login before; absent without any.',
      },
    },
    required: ['expires_in'],
  },
  example: {
    token: 'eyJhbGciOiJIUzI1NiJ9.eyJqdGkiOiI2WmIxIn0.c2ln',
    token_name: 'Authorization',
    expires_in: 2_592_000,
  },
} as const

const LOGIN = {
  summary: 'Sign in',
  details:
    'The captcha is checked first: without an id and an answer the login is refused. An unknown name, a wrong password and a password that cannot be decrypted are refused in the same words. After the right password, `code` 403 with `data.required` demands one more step: send `data.ticket` to its endpoint within `data.expires_in` seconds. A ticket is for one account and one step, and opens nothing else.',
  body: {
    schema: {
      type: 'object',
      properties: {
        captcha_id: { type: ['string', 'null'], description: 'Id of the captcha.' },
        captcha_value: {
          type: ['string', 'null'],
          description: 'What its picture shows, in any case; of a challenge, the number.',
        },
        captcha_code: { type: ['string', 'null'], description: 'Another name for `captcha_value`.' },
        username: { type: 'string', description: 'Account name.' },
        password: {
          type: 'string',
          description: 'The password, encrypted with SM2, as hex; with or without a leading `04`.',
        },
        device_id: {
          type: ['string', 'null'],
          description: 'The name that the program gives itself; administrators see its first 128 characters.',
        },
        session: KEPT_IN,
      },
      required: ['username', 'password'],
    },
    example: {
      captcha_id: '5a4f1a52-8c5f-4b3e-9a53-1f3f1f6a0c11',
      captcha_value: 'K7RA',
      username: 'ann',
      password: `${'9f21c4'.repeat(32)}…`,
    },
  },
  data: SIGNED_IN,
  refusals: [
    'CAPTCHA_BLANK',
    'CAPTCHA_GONE',
    'CAPTCHA_WRONG',
    'WRONG_CREDENTIALS',
    'STEP_REQUIRED',
    'FACTOR_REQUIRED',
    'ACCOUNT_LOCKED',
    'ACCOUNT_INACTIVE',
    'PASSWORD_EXPIRED',
    'DISABLED',
    'TOO_MANY_ATTEMPTS',
    'BUSY',
    'ACCOUNTS_UNWRITABLE',
    'PASSWORD_LOGIN_OFF',
  ],
} as const satisfies Contract

/** The public login endpoints ("Public B-side login endpoints"): captcha, SM2 public key, login. */
export const loginEndpoints = ({ settings, logins, deliveryOf }: LoginOptions) => {
  const publicKey: Endpoint = type => {
    const login = required(logins[type])
    return answering(PUBLIC_KEY, async () => login.publicKey)
  }
  return {
    captcha: type => captchaEndpoint(required(logins[type]), settings),
    'sm2-public-key': publicKey,
    'sm2/public-key': publicKey,
    login: type => {
      const { login } = required(logins[type])
      return answering(LOGIN, async (request, reply) => {
        if (!settings.login.password) throw new Refusal('PASSWORD_LOGIN_OFF')
        const { body, id, ip, headers } = request
        const deliver = deliveryOf(request, reply, type)
        const userAgent = headers['user-agent'] ?? ''
        return deliver(await login({ ...body, address: ip, userAgent, trace_id: id }))
      })
    },
  } satisfies Partial<Endpoints>
}
