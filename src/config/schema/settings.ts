import Type, { type Static } from 'typebox'
import { accountSources } from './accounts.ts'
import { Events } from './events.ts'
import { Gate } from './gate.ts'
import { Listen, Workers } from './listen.ts'
import { Login } from './login.ts'
import { Count, Duration, Off, Path, Port, Secret, Section, Switch, Variant } from './notation.ts'
import { type PermissionSettings, Permissions } from './permissions.ts'
import { SessionCache } from './session-cache.ts'
import { Sessions } from './sessions.ts'
import { UpstreamSchema, type UpstreamSettings } from './upstreams.ts'

export { UpstreamSchema, type UpstreamSettings, UpstreamsFileSchema } from './upstreams.ts'

/*
 * The configuration as one schema: the type of `Settings`, the checks, the defaults and the words of the faults come
 * from here. `config/gateway.yaml` holds every key of it, and a test compares the two.
 */

/** What an operator has to write who insists on a secret that can be guessed. */
export const WEAK_SECRET_ACCEPTED = 'I will replace it after the move'

const Jwt = Section(
  {
    secret_key: Type.Optional(
      Secret({ description: 'The HMAC secret of both sides: 32 bytes or more, not a key in PEM form.' }),
    ),
    accept_weak_secret: Type.Optional(
      Type.Literal(WEAK_SECRET_ACCEPTED, {
        description: 'For a move only: starts, with a warning, also with a secret that can be guessed.',
      }),
    ),
    expire_seconds: Type.Integer({
      minimum: 1,
      maximum: 315_360_000,
      default: 2_592_000,
      description: 'Lifetime of a token and of its record in seconds, both sides.',
    }),
    token_name: Type.String({
      pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$",
      'x-form': 'the name of a header',
      default: 'Authorization',
      description: 'Name of the request header that carries the token.',
    }),
    algorithm: Type.Union([Type.Literal('HS256'), Type.Literal('HS384'), Type.Literal('HS512')], {
      default: 'HS256',
      description: 'The one algorithm that tokens are signed with and accepted for.',
    }),
  },
  'The one JWT configuration of both sides. Profile 1 takes it from the environment only (JWT__SECRET_KEY and so on).',
)

const RedisNode = Variant(
  { host: Type.String({ minLength: 1 }), port: Port(6379, 'Port of the node.') },
  'Address of a node.',
)

const Redis = Variant(
  {
    url: Type.Optional(
      Secret({
        pattern: '^rediss?://',
        'x-form': 'redis://… or rediss://…',
        description: 'One server: redis://[user:password@]host[:port][/database], rediss:// for TLS.',
      }),
    ),
    sentinels: Type.Optional(
      Type.Array(RedisNode, { minItems: 1, description: 'Addresses of the Sentinels; needs `name`.' }),
    ),
    name: Type.Optional(Type.String({ minLength: 1, description: 'Name of the master that the Sentinels watch.' })),
    cluster: Type.Optional(
      Type.Array(RedisNode, { minItems: 1, description: 'Addresses of some nodes of a Redis Cluster.' }),
    ),
    username: Type.Optional(Type.String({ description: 'User, for Sentinel and Cluster.' })),
    password: Type.Optional(Secret({ description: 'Password, for Sentinel and Cluster.' })),
    tls: Type.Optional(Switch(undefined, 'TLS to the nodes, for Sentinel and Cluster; a URL says it by rediss://.')),
    wait: Type.Optional(
      Type.Union(
        [
          Off,
          Variant(
            {
              replicas: Count(1, 'Replicas that have to have a change.'),
              timeout: Duration('100ms', 'How long they may take; shorter than `store.timeout`.'),
            },
            'Waits for replicas.',
          ),
        ],
        {
          description:
            'Whether ended sessions and disabled login ids are answered once replicas have them. Not in a Cluster.',
        },
      ),
    ),
  },
  'Where Redis is: exactly one of `url`, `sentinels` with `name`, `cluster`.',
)

const Store = Section(
  {
    kind: Type.Union([Type.Literal('embedded'), Type.Literal('redis')], {
      default: 'embedded',
      description: 'embedded: files below `data`, shared by the workers of one machine. redis: Redis 6.2+ or Valkey.',
    }),
    prefix: Type.String({
      pattern: '^[A-Za-z0-9._:-]{1,64}$',
      'x-form': '1 to 64 characters of A-Z a-z 0-9 . _ : -',
      default: 'svc:auth',
      description: 'First part of every key in Redis.',
    }),
    timeout: Duration('1s', 'No request waits longer for the store; then it is answered with 503.'),
    redis: Type.Optional(Redis),
  },
  'The session store.',
)

const Cors = Type.Union(
  [
    Off,
    Variant(
      {
        origin: Type.Array(
          Type.String({ pattern: '^https?://[^/*]+$', 'x-form': 'an origin such as https://admin.example' }),
          {
            minItems: 1,
            description: 'Origins that may call, each as scheme://host[:port].',
          },
        ),
        credentials: Switch(false, 'Whether browsers may send credentials.'),
        methods: Type.Optional(Type.Array(Type.String({ pattern: '^[A-Z]+$', 'x-form': 'a method such as GET' }))),
        allowedHeaders: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
        exposedHeaders: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
        maxAge: Type.Optional(
          Type.Integer({ minimum: 0, description: 'Seconds that a preflight answer may be kept.' }),
        ),
      },
      'As @fastify/cors.',
    ),
  ],
  { default: 'off', description: 'Cross-origin requests from browsers.' },
)

export const SettingsSchema = Type.Object(
  {
    profile: Type.Union([Type.Literal(1), Type.Literal(2)], {
      default: 1,
      description: 'Profile of the specification.',
    }),
    listen: Listen,
    internal: Section(
      {
        host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Address of the internal port.' }),
        port: Port(8081, 'The internal port.'),
        socket: Type.Optional(Path({ description: 'A Unix socket instead of host and port.' })),
        secret: Type.Optional(
          Secret({
            minLength: 16,
            'x-form': 'a text of 16 characters or more',
            description: 'Shared secret of the operations API.',
          }),
        ),
      },
      'The internal listener: probes and the operations API. Never reachable through the public one.',
    ),
    workers: Workers,
    data: Path({
      default: 'data',
      'x-path': 'cwd',
      description: 'Folder of the embedded store and of generated secrets.',
    }),
    timezone: Type.String({
      minLength: 1,
      default: 'UTC',
      description: 'IANA time zone of the times in records and answers.',
    }),
    locale: Type.Union([Type.Literal('en'), Type.Literal('zh-CN')], {
      default: 'en',
      description: 'Language of messages.',
    }),
    trusted_proxies: Type.Array(
      Type.String({
        minLength: 1,
        'x-form': 'an address or a CIDR range such as 10.0.0.0/8, for a count trusts nobody',
      }),
      {
        default: [],
        'x-form': 'a list of addresses and CIDR ranges such as [10.0.0.0/8]',
        description: 'Addresses and CIDR ranges of proxies in front whose X-Forwarded-For is believed.',
      },
    ),
    api_versions: Type.Array(Type.Integer({ minimum: 1, maximum: 1_000_000 }), {
      minItems: 1,
      default: [1],
      description: 'Versions n at which the gateway’s own routes answer below /api/v<n>.',
    }),
    jwt: Jwt,
    store: Store,
    session_cache: SessionCache,
    login: Login,
    disable: Section(
      {
        enforce: Type.Union([Type.Literal('login'), Type.Literal('request')], {
          default: 'login',
          description: 'Whether a disabled login id is refused at login only, or on every request.',
        }),
      },
      'Disabled login ids.',
    ),
    session_administration: Type.Optional(
      Switch(undefined, 'Serve the session administration endpoints; unset: in profile 1, not in profile 2.'),
    ),
    console: Switch(true, 'Serve the administration page at /console/, where the session administration is served.'),
    sessions: Sessions,
    gate: Gate,
    events: Events,
    accounts: Type.Union([...accountSources('accounts.yaml')], {
      default: { kind: 'file' },
      description: 'Where the B-side accounts are.',
    }),
    permissions: Permissions,
    upstreams: Type.Union([Path({}), Type.Array(UpstreamSchema)], {
      default: 'upstreams.yaml',
      description: 'The upstreams, or the file with them.',
    }),
    cors: Cors,
    errors: Section(
      {
        http_status: Type.Union([Type.Literal('envelope'), Type.Literal('native')], {
          default: 'envelope',
          description:
            'envelope: refusals of class 400 and 401 are HTTP 200, as the specification says. native: as their code.',
        }),
      },
      'How refusals look.',
    ),
    log: Section(
      {
        level: Type.Union(
          (['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const).map(level => Type.Literal(level)),
          { default: 'info', description: 'The least important line that is written.' },
        ),
        access: Switch(true, 'One line per request.'),
      },
      'The log, one JSON object per line on standard output.',
    ),
  },
  { additionalProperties: false, title: 'dualgate configuration' },
)

type Decoded = Type.StaticDecode<typeof SettingsSchema>

/** The whole configuration as the gateway gets it: defaults filled in, durations in milliseconds, paths absolute, secrets present. */
export interface Settings extends Omit<Decoded, 'jwt' | 'login' | 'internal' | 'permissions' | 'upstreams'> {
  jwt: Decoded['jwt'] & { secret_key: string }
  login: Omit<Decoded['login'], 'sm2'> & { sm2: { private_key: string } }
  internal: Decoded['internal'] & { secret: string }
  permissions: PermissionSettings
  upstreams: UpstreamSettings[]
}

/** The configuration as it is written, before defaults. */
export type WrittenSettings = Static<typeof SettingsSchema>
