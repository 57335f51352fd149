import { Count, LongDuration, Off, Secret, Section, Switch, Variant } from '../notation/notation.ts'
import { accountSources } from './account-sources.ts'
import { Providers } from './providers.ts'

/* How users sign in. */

/** Between `{type}` and `{id}` stands the word captcha, so that no captcha can be a session or a disable record. */
const CAPTCHA_KEY = '^([A-Za-z0-9_.-]+:|[{]prefix[}]:)*[{]type[}]:([A-Za-z0-9_.-]+:)*captcha:[{]id[}]$'

const Captcha = Section(
  {
    ttl: LongDuration('300s', 'Lifetime of a captcha.'),
    key: {
      type: 'string',
      pattern: CAPTCHA_KEY,
      default: '{prefix}:{type}:captcha:{id}',
      'x-form':
        'a key with {type}, then captcha, then {id}, such as {prefix}:{type}:captcha:{id} or {type}:captcha:{id}',
      description:
        'The key of a captcha’s text in Redis, for other programs that check it: {prefix}, {type} and {id} are filled in.',
    },
    length: Count(4, 'Number of characters.', 4, 8),
    alternative: {
      anyOf: [Off, { const: 'proof-of-work' }],
      default: 'off',
      description:
        'proof-of-work: clients may compute a proof instead of reading the picture, for users who cannot see it. off: they may not.',
      'x-form': 'off or proof-of-work',
    },
    difficulty: Count(20, 'Leading zero bits of a proof of work; one more takes twice as long.', 12, 30),
  },
  'The captcha of a login.',
)

const Lockout = Section(
  {
    failures: Count(5, 'Failures of one account name within `window` that disable it.'),
    window: LongDuration('300s', 'The window of `failures`.'),
    disable: LongDuration('300s', 'How long the account is then disabled.'),
    address_failures: Count(30, 'Failures from one client address within `address_window`; then it has to wait.'),
    address_window: LongDuration('900s', 'The window of `address_failures`.'),
  },
  'What failed logins lead to.',
)

const RateLimit = {
  anyOf: [
    Off,
    Variant(
      {
        captcha: Count(30, 'Captchas per client address and window.'),
        login: Count(10, 'Login attempts per client address and window, and as many requests of further steps.'),
        window: LongDuration('60s', 'The window.'),
      },
      'Attempts per client address.',
    ),
  ],
  default: {},
  description: 'Attempts per client address on the public login routes, or off.',
} as const

const SecondFactor = Section(
  {
    for: {
      anyOf: [
        Off,
        { enum: ['optional', 'all'] },
        { type: 'array', items: { type: 'string', minLength: 1, maxLength: 128 }, minItems: 1, maxItems: 256 },
      ],
      default: 'optional',
      description:
        'optional: the login of an account that has a second factor needs a code. all, or a list of roles: these accounts must have one, and set it up at their next login. off: no login needs a code.',
      'x-form': 'off, optional, all, or a list of roles such as [SUPER_ADMIN]',
    },
    issuer: {
      type: 'string',
      pattern: '^[^:\\p{Cc}\\p{Cs}]{1,64}$',
      default: 'dualgate',
      'x-form': 'text of 1 to 64 characters without colons',
      description: 'How authenticator apps name the gateway.',
    },
    key: Secret({
      pattern: '^[0-9A-Fa-f]{64}$',
      'x-form': '64 hex digits',
      description: 'Encrypts the stored second factors. Without it the key is derived from login.sm2.private_key.',
    }),
  },
  'Codes of authenticator apps, after the password.',
)

export const Login = Section(
  {
    captcha: Captcha,
    sm2: Section(
      {
        private_key: Secret({
          pattern: '^[0-9A-Fa-f]{64}$',
          'x-form': '64 hex digits',
          description: 'SM2 private key as 64 hex digits.',
        }),
      },
      'The key pair with which clients encrypt passwords.',
    ),
    lockout: Lockout,
    rate_limit: RateLimit,
    second_factor: SecondFactor,
    consumer: {
      anyOf: [Off, ...accountSources('consumers.yaml')],
      default: 'off',
      description: 'Serve captcha, SM2 key and login for the C side too, with an accounts section of its own.',
    },
    providers: Providers,
    password: Switch(true, 'Users sign in with a password; off: with providers alone.'),
    logout_routes: Switch(true, 'Serve POST /api/v<n>/b/logout and /api/v<n>/c/logout here.'),
  },
  'The public login routes.',
)
