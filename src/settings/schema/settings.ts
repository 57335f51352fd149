import { HEADER_NAME } from '../header-field.ts'
import {
  Count,
  type Decoded,
  Duration,
  LongDuration,
  Off,
  OptionalSwitch,
  Path,
  Secret,
  Section,
  Switch,
  Url,
  Variant,
} from '../notation/notation.ts'
import type { PemFiles } from '../pem.ts'
import { Accounts } from './account-sources.ts'
import { Browser } from './browser.ts'
import { Access, Cors, Gate } from './gate.ts'
import { Identity } from './identity.ts'
import { Keys } from './keys.ts'
import { Drain, Internal, Listen, TrustedProxies, Workers } from './listen.ts'
import { Login } from './login.ts'
import { Passwords } from './passwords.ts'
import { type PermissionSettings, Permissions } from './permissions.ts'
import { Sessions } from './sessions.ts'
import { SessionCache, Store } from './store.ts'
import { UpstreamSchema, type UpstreamSettings } from './upstreams.ts'

/*
 * The configuration as one schema: the type of `Settings`, the checks, the defaults and the words of the faults come
 * from here. `config/gateway.yaml` holds every key of it, and a test compares the two.
 */

/** An operator who insists on a weak secret has to write this. */
export const WEAK_SECRET_ACCEPTED = 'I will replace it after the move'

const Jwt = Section(
  {
    secret_key: Secret({
      minLength: 1,
      description: 'The HMAC secret of both sides: 32 bytes or more, not a key in PEM form.',
    }),
    accept_weak_secret: {
      const: WEAK_SECRET_ACCEPTED,
      description: 'For a move only: starts, with a warning, with a secret that can be guessed.',
    },
    expire_seconds: Count(2_592_000, 'Lifetime of a token and of its record in seconds, both sides.', 1, 315_360_000),
    token_name: {
      type: 'string',
      pattern: `^(?=.{1,64}$)${HEADER_NAME}$`,
      'x-form': 'the name of a header',
      default: 'Authorization',
      description: 'Name of the request header with the token.',
    },
    algorithm: {
      enum: ['HS256', 'HS384', 'HS512'],
      default: 'HS256',
      description: 'The only algorithm with which tokens are signed and accepted.',
    },
  },
  'The JWT configuration of both sides. Profile 1 takes it from the environment only (JWT__SECRET_KEY and so on).',
)

const Webhook = Variant(
  {
    url: Url({
      pattern: '^https?://[^\\s@/?#]+([/?][^\\s#]*)?$',
      'x-form': 'http://host:port/path or https://host:port/path',
      description: 'Receives events by POST, one JSON object each.',
    }),
    secret: Secret({
      minLength: 32,
      'x-form': 'a text of 32 characters or more',
      description: 'Key of the signature.',
    }),
    timeout: Duration('5s', 'Time limit for one attempt.'),
    give_up_after: LongDuration('1h', 'How long the delivery of an event is retried.'),
  },
  'A receiver of events.',
  ['url', 'secret'],
)

const Events = Section(
  { webhooks: { type: 'array', items: Webhook, default: [], description: 'Receivers of every event.' } },
  'What happens to sessions and login ids: one log line each, and one signed request per receiver.',
)

const Journal = {
  anyOf: [
    Off,
    Variant(
      {
        keep: LongDuration('90d', 'How long an entry is kept.'),
        max_entries: Count(1_000_000, 'Entries that are kept; beyond it the oldest are removed.', 1000, 100_000_000),
        max_failures: Count(
          100_000,
          'Failed logins of accounts that are kept besides, and as many of names that no account has.',
          1000,
          100_000_000,
        ),
      },
      'How much is kept.',
    ),
  ],
  default: {},
  description: 'The journal of logins, ended sessions, and changed accounts, passwords and second factors, or off.',
} as const

const Log = Section(
  {
    level: {
      enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      default: 'info',
      description: 'The least important line that is written.',
    },
    access: Switch(true, 'One line per request.'),
  },
  'The log on standard output: one JSON object per line, or text at a terminal.',
)

export const SettingsSchema = {
  type: 'object',
  additionalProperties: false,
  title: 'dualgate configuration',
  properties: {
    profile: { enum: [1, 2], default: 1, description: 'Profile of the specification.' },
    listen: Listen,
    internal: Internal,
    workers: Workers,
    drain: Drain,
    data: Path({ default: 'data', description: 'Folder of the embedded store and of generated secrets.' }, 'cwd'),
    timezone: {
      type: 'string',
      minLength: 1,
      default: 'UTC',
      description: 'IANA time zone of the times in records and responses.',
    },
    locale: { enum: ['en', 'zh-CN'], default: 'en', description: 'Language of messages.' },
    trusted_proxies: TrustedProxies,
    api_versions: {
      type: 'array',
      items: { type: 'integer', minimum: 1, maximum: 1_000_000 },
      minItems: 1,
      uniqueItems: true,
      default: [1],
      description: 'Versions n for which the gateway serves its own routes below /api/v<n>.',
    },
    jwt: Jwt,
    store: Store,
    session_cache: SessionCache,
    login: Login,
    disable: Section(
      {
        enforce: {
          enum: ['login', 'request'],
          default: 'login',
          description: 'Whether a disabled login id is refused at login only, or on every request.',
        },
      },
      'Disabled login ids.',
    ),
    session_administration: OptionalSwitch(
      'Serve the session administration endpoints; unset: in profile 1, not in profile 2.',
    ),
    own_sessions: Section(
      {
        business: Switch(true, 'Users of the B side see and end their own sessions at /api/v<n>/b/session/.'),
        consumer: Switch(false, 'Users of the C side see and end their own sessions at /api/v<n>/c/session/.'),
      },
      'Own sessions.',
    ),
    account_administration: OptionalSwitch(
      'Serve the administration of the accounts that stand in a file; unset: in profile 1, not in profile 2.',
    ),
    console: Switch(true, 'Serve the page for administrators, and for the own account, at /console/.'),
    sessions: Sessions,
    gate: Gate,
    access: Access,
    browser: Browser,
    keys: Keys,
    identity: Identity,
    events: Events,
    journal: Journal,
    accounts: Accounts,
    passwords: Passwords,
    permissions: Permissions,
    upstreams: {
      anyOf: [Path({}), { type: 'array', items: UpstreamSchema }],
      default: 'upstreams.yaml',
      description: 'The upstreams, or the file with them.',
    },
    cors: Cors,
    errors: Section(
      {
        http_status: {
          enum: ['envelope', 'native'],
          default: 'envelope',
          description:
            'envelope: refusals of class 400 and 401 have HTTP status 200, as the specification says. native: their own code.',
        },
      },
      'How refusals look.',
    ),
    log: Log,
  },
} as const

/** The configuration after its schema has been applied, before files that it names are read. */
export type DecodedSettings = Decoded<typeof SettingsSchema>

/** The whole configuration as the gateway gets it: defaults filled in, durations in milliseconds, paths absolute, secrets present. */
export interface Settings extends Omit<DecodedSettings, 'jwt' | 'login' | 'internal' | 'permissions' | 'upstreams'> {
  jwt: DecodedSettings['jwt'] & { secret_key: string }
  login: Omit<DecodedSettings['login'], 'sm2'> & { sm2: { private_key: string } }
  internal: DecodedSettings['internal'] & { secret: string }
  permissions: PermissionSettings
  upstreams: UpstreamSettings[]
  /** The files of certificates and keys that were read with these settings. */
  pem: PemFiles
  /** What `/readyz` says of these settings. */
  warnings: readonly string[]
}
