import type { Login } from '../../login/sign-in/login.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import type { Contract } from './contract.ts'
import { answering, type Endpoint } from './own-routes.ts'

export interface CaptchaSettings {
  login: Pick<Settings['login'], 'captcha'>
}

const KIND = {
  type: 'string',
  enum: ['picture'],
  default: 'picture',
  description: 'What proves the work of the client: the text of a picture.',
} as const

const CAPTCHA = {
  summary: 'A captcha',
  details: 'It can be answered once, right or wrong.',
  query: { type: 'object', properties: { kind: KIND } },
  data: {
    schema: {
      type: 'object',
      properties: {
        captcha_base64: { type: 'string', description: 'The picture, as a data URL.' },
        captcha_id: { type: 'string', format: 'uuid', description: 'Goes with the answer to `login`.' },
        captcha_code: { type: 'null', description: 'Always `null`; for clients that expect it.' },
      },
      required: ['captcha_base64', 'captcha_id', 'captcha_code'],
    },
    example: {
      captcha_base64: 'data:image/png;base64,iVBORw0KGgo…',
      captcha_id: '5a4f1a52-8c5f-4b3e-9a53-1f3f1f6a0c11',
      captcha_code: null,
    },
  },
  refusals: ['TOO_MANY_ATTEMPTS', 'BUSY'],
} as const satisfies Contract

/** Where a proof of work is accepted, too. */
const CAPTCHA_OR_PROOF = {
  ...CAPTCHA,
  summary: 'A captcha, or a challenge for a proof of work',
  details:
    'It can be answered once, right or wrong. The answer to a challenge is a decimal number of up to 16 digits: written behind `challenge`, it makes the SHA-256 digest of both begin with `difficulty` zero bits. Send it as `captcha_value`.',
  query: {
    type: 'object',
    properties: {
      kind: {
        ...KIND,
        enum: ['picture', 'proof-of-work'],
        description:
          'picture: the text of a picture; proof-of-work: a number that takes some seconds of computing, for users who cannot see the picture.',
      },
    },
  },
  data: {
    ...CAPTCHA.data,
    schema: {
      ...CAPTCHA.data.schema,
      properties: {
        ...CAPTCHA.data.schema.properties,
        captcha_base64: {
          type: ['string', 'null'],
          description: 'The picture, as a data URL; `null` with a challenge.',
        },
        challenge: {
          type: 'string',
          pattern: '^[0-9a-f]{32}$',
          description: '32 hex digits; only for a proof of work.',
        },
        difficulty: { type: 'integer', description: 'Leading zero bits; only for a proof of work.' },
      },
    },
  },
} as const satisfies Contract

/** A captcha, or a challenge where the settings accept a proof of work ("Public B-side login endpoints"). */
export function captchaEndpoint(login: Login, settings: CaptchaSettings): ReturnType<Endpoint> {
  const picture = async (ip: string) => ({ ...(await login.issueCaptcha(ip)), captcha_code: null })
  if (settings.login.captcha.alternative === 'off') return answering(CAPTCHA, ({ ip }) => picture(ip))
  return answering(CAPTCHA_OR_PROOF, async ({ ip, query }) =>
    query.kind === 'picture'
      ? picture(ip)
      : { ...(await login.issueChallenge(ip)), captcha_base64: null, captcha_code: null },
  )
}
