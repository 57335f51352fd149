import Type from 'typebox'
import { Count, Duration, Off, Path, Secret, Section, Size, Switch, Variant } from './notation.ts'

const Code = Type.String({
  pattern: '^[^\\s:*]+(:[^\\s:*]+)*$',
  'x-form': 'a permission such as sys:orders:view',
})

const SERVER = 'https?://[^/?#@]+/?|unix:/[^?#]+'

const Ejection = Variant(
  {
    failures: Count(
      5,
      'Failures in a row that take a target out: no connection, no answer in time, or none that is HTTP.',
    ),
    duration: Duration('10s', 'For how long; twice as long each time that it fails again.'),
    limit: Duration('5m', 'The longest time that a target is out.'),
  },
  'Targets that fail get no requests for a while.',
)

const Connections = Section(
  {
    limit: Count(1024, 'Connections to one target, of one worker.'),
    per_address: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description:
          'Connections that requests of one client address use at a time; unset: half of limit, at least 20.',
      }),
    ),
    queue: Count(8192, 'Requests that may wait for one of them, per target and worker.', 0),
    wait: Duration('5s', 'How long a request waits at most.'),
    idle: Duration('4s', 'How long an unused connection is kept, unless the target says how long it keeps it.'),
    lifetime: Duration('60s', 'How long a connection to a name is used, so that a changed address is taken up.'),
  },
  'The connections to a target.',
)

const Health = Variant(
  {
    path: Type.String({
      pattern: '^/[^\\s#]*$',
      'x-form': 'a path such as /healthz',
      description: 'What is asked for; an answer of 200 to 399 is a good one.',
    }),
    interval: Duration('5s', 'Between two checks of a target.'),
    timeout: Duration('2s', 'How long a check may take.'),
    failures: Count(2, 'Bad checks in a row that take a target out.'),
    successes: Count(1, 'Good ones in a row that bring it back.'),
  },
  'Active checks.',
)

const Tls = Variant(
  {
    ca: Type.Optional(Path({ description: 'PEM file of the authorities to believe, instead of those of the system.' })),
    server_name: Type.Optional(
      Type.String({
        pattern: '^(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$',
        'x-form': 'a host name',
        description: 'The name to ask for and to find in the certificate, instead of the target’s own.',
      }),
    ),
    cert: Type.Optional(Path({ description: 'PEM file of the certificate that the gateway shows; needs `key`.' })),
    key: Type.Optional(Path({ description: 'PEM file of its key.' })),
  },
  'How https targets are verified, and what the gateway proves itself with.',
)

const WebSocket = Variant(
  {
    origins: Type.Optional(
      Type.Array(Type.String({ pattern: '^https?://[^/*]+$', 'x-form': 'an origin such as https://admin.example' }), {
        description: 'Origins whose pages may open one, each as scheme://host[:port]; unset: the gateway’s own host.',
      }),
    ),
    idle_timeout: Duration('5m', 'Without a byte in either direction.'),
    max_connections: Count(10_000, 'Open at once, of one worker.'),
    max_per_user: Count(20, 'Open at once of one user, of one worker.'),
    max_message: Size('Largest message of a client.', '1MiB'),
  },
  'WebSockets to this upstream.',
)

const PassAuthorization = Type.Codec(
  Type.Union([Type.Boolean(), Type.Literal('on'), Type.Literal('off'), Type.Literal('bare')], {
    default: 'off',
    'x-form': 'on, off or bare',
    description: 'Pass the token header on to the upstream: as it was sent (on), or as the token alone (bare).',
  }),
)
  .Decode((value): 'on' | 'off' | 'bare' => (typeof value === 'boolean' ? (value ? 'on' : 'off') : value))
  .Encode(value => value)

const UpstreamSchemaProperties = {
  name: Type.String({
    pattern: '^[A-Za-z0-9._-]{1,64}$',
    'x-form': '1 to 64 characters of A-Z a-z 0-9 . _ -',
    description: 'Name in log lines and metrics.',
  }),
  match: Type.String({
    pattern: '^/api(/.*[^/])?$',
    'x-form': 'a path such as /api/v1/c/orders: below /api, without a slash at its end',
    description: 'Path prefix on a segment boundary; the longest that fits wins.',
  }),
  target: Type.Optional(
    Type.String({
      pattern: `^(builtin:echo|${SERVER})$`,
      'x-form': 'http://host:port, https://host:port, unix:/path/of.sock or builtin:echo',
      description: 'The one target: scheme, host and port, or a Unix socket.',
    }),
  ),
  targets: Type.Optional(
    Type.Array(
      Type.String({
        pattern: `^(${SERVER})$`,
        'x-form': 'http://host:port, https://host:port or unix:/path/of.sock',
      }),
      { minItems: 1, description: 'Several targets, balanced.' },
    ),
  ),
  balance: Type.Union([Type.Literal('round-robin'), Type.Literal('least-pending')], {
    default: 'round-robin',
    description: 'Targets in turn, or the one with the fewest requests under way.',
  }),
  ejection: Type.Union([Off, Ejection], { default: {}, description: 'Taking out targets that fail, or off.' }),
  health: Type.Optional(Health),
  retries: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 0,
    description: 'How often an idempotent request without a body is sent again when no answer came.',
  }),
  connections: Connections,
  tls: Type.Optional(Tls),
  body_limit: Type.Optional(Size('Largest request body.')),
  rewrite: Type.Optional(
    Type.String({
      pattern: '^/(.*[^/])?$',
      'x-form': 'a path such as /orders, without a slash at its end',
      description: 'Replaces `match` in the forwarded path.',
    }),
  ),
  host: Type.Union([Type.Literal('preserve'), Type.Literal('target')], {
    default: 'target',
    description: 'Host header of the upstream request: the client’s, or the target’s.',
  }),
  timeouts: Section(
    {
      connect: Duration('5s', 'To connect.'),
      response: Duration('30s', 'Until the response’s head arrives, counted from the end of the request.'),
      idle: Duration('60s', 'Between two parts of the response’s body.'),
    },
    'Time limits.',
  ),
  permission: Type.Optional(
    Type.Union(
      [Code, Type.Array(Code, { minItems: 1 }), Variant({ any: Type.Array(Code, { minItems: 1 }) }, 'One of several.')],
      {
        'x-form': 'a permission, a list of them (all are needed), or { any: [ … ] } (one is enough)',
        description: 'What a session must be permitted for its requests to be forwarded.',
      },
    ),
  ),
  websocket: Type.Union([Off, WebSocket], {
    default: 'off',
    'x-form': 'off, or { origins: [https://admin.example], idle_timeout: 5m, … }; {} is on with the defaults',
    description: 'Whether WebSockets are forwarded.',
  }),
  end_with_session: Switch(false, 'Cut responses that are under way when the session ends that asked for them.'),
  identity: Section(
    {
      extra: Switch(false, 'Send what the session holds as X-Login-Extra.'),
      signature: Type.Array(Secret({ minLength: 16, 'x-form': 'a text of 16 characters or more' }), {
        default: [],
        maxItems: 2,
        description: 'Keys of X-Login-Signature: one, or two while one takes the other’s place.',
      }),
    },
    'What the upstream is told of the client beside id and type.',
  ),
  pass_authorization: PassAuthorization,
  via: Switch(true, 'Name the gateway in the Via header of requests (RFC 9110 7.6.3).'),
}

/** One entry of `config/upstreams.yaml` (design: Upstreams). */
export const UpstreamSchema = Type.Object(UpstreamSchemaProperties, { additionalProperties: false })

export const UpstreamsFileSchema = Type.Object(
  { upstreams: Type.Array(UpstreamSchema, { default: [] }) },
  { additionalProperties: false },
)

/** One upstream after its defaults: durations in milliseconds, exactly one of `target` and `targets`. */
export type UpstreamSettings = Type.StaticDecode<typeof UpstreamSchema>

export type EjectionSettings = Type.StaticDecode<typeof Ejection>
export type PassAuthorization = UpstreamSettings['pass_authorization']
export type IdentitySettings = UpstreamSettings['identity']
export type ConnectionSettings = Type.StaticDecode<typeof Connections>
export type WebSocketSettings = Type.StaticDecode<typeof WebSocket>
export type HealthSettings = Type.StaticDecode<typeof Health>
export type UpstreamTlsFiles = Type.StaticDecode<typeof Tls>
