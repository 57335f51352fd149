import Type from 'typebox'
import { accountSources } from './accounts.ts'
import { Count, Duration, Off, Secret, Section, Switch, Variant } from './notation.ts'

const ConsumerLogin = Type.Union([Off, ...accountSources('consumers.yaml')], {
  default: 'off',
  description: 'Serve captcha, SM2 key and login for the C side too, with an accounts section of its own.',
})

/** Between `{type}` and `{id}` stands the word captcha, so that no captcha can be a session or a disable record. */
const CAPTCHA_KEY = '^([A-Za-z0-9_.-]+:|[{]prefix[}]:)*[{]type[}]:([A-Za-z0-9_.-]+:)*captcha:[{]id[}]$'

export const Login = Section(
  {
    captcha: Section(
      {
        ttl: Duration('300s', 'How long a captcha can be answered.'),
        key: Type.String({
          pattern: CAPTCHA_KEY,
          default: '{prefix}:{type}:captcha:{id}',
          'x-form':
            'a key with {type}, then captcha, then {id}, such as {prefix}:{type}:captcha:{id} or {type}:captcha:{id}',
          description:
            'The key of an answer in Redis, for other programs that check it: {prefix}, {type} and {id} are filled in.',
        }),
        length: Type.Integer({ minimum: 4, maximum: 8, default: 4, description: 'Number of characters.' }),
      },
      'The graphical captcha.',
    ),
    sm2: Section(
      {
        private_key: Type.Optional(
          Secret({
            pattern: '^[0-9A-Fa-f]{64}$',
            'x-form': '64 hex digits',
            description: 'SM2 private key as 64 hex digits.',
          }),
        ),
      },
      'The key pair that passwords are encrypted with on their way.',
    ),
    lockout: Section(
      {
        failures: Count(5, 'Failures of one account name within `window` that disable it.'),
        window: Duration('300s', 'The window of `failures`.'),
        disable: Duration('300s', 'How long the account is disabled then.'),
        address_failures: Count(
          30,
          'Failures from one client address within `address_window`; then it is told to wait.',
        ),
        address_window: Duration('900s', 'The window of `address_failures`.'),
      },
      'What failed logins lead to.',
    ),
    rate_limit: Type.Union(
      [
        Off,
        Variant(
          {
            captcha: Count(30, 'Captchas per client address and window.'),
            login: Count(10, 'Login attempts per client address and window.'),
            window: Duration('60s', 'The window.'),
          },
          'Attempts per client address.',
        ),
      ],
      { default: {}, description: 'Attempts per client address on the public login routes, or off.' },
    ),
    consumer: ConsumerLogin,
    logout_routes: Switch(true, 'Serve POST /api/v<n>/b/logout and /api/v<n>/c/logout here.'),
  },
  'The public login routes.',
)
