import { HEADER_VALUE } from '../header-field.ts'
import {
  Count,
  type Decoded,
  Duration,
  LongDuration,
  Off,
  OptionalCount,
  Secret,
  Section,
  Size,
  Switch,
  Variant,
} from '../notation/notation.ts'
import { Origins } from './gate.ts'
import { TARGETS } from './targets.ts'

const CODE = {
  type: 'string',
  pattern: '^[^\\s:*]+(:[^\\s:*]+)*$',
  'x-form': 'a permission such as sys:orders:view',
} as const
const CODES = { type: 'array', items: CODE, minItems: 1 } as const

const Maintenance = Variant(
  {
    retry_after: LongDuration('10m', 'When clients may try again, in the Retry-After header.'),
    allow: {
      type: 'array',
      items: { type: 'string' },
      default: [],
      description: 'Addresses and CIDR ranges of clients that get through.',
    },
  },
  'The upstream is out of service.',
)

const RateLimit = Variant(
  {
    requests: OptionalCount('Requests of one client per window.'),
    window: LongDuration('1s', 'The time in which they come back, in whole seconds.'),
    burst: OptionalCount('How many of them at once; unset: as many as `requests`.'),
    per: {
      enum: ['login-id', 'address'],
      default: 'login-id',
      description:
        'What counts as one client: a login id, or the address of a client without a session; or always the address.',
    },
  },
  'How many requests each client may send.',
  ['requests'],
)

/** A backend may need a password in a header; so no message shows values. */
const HeaderValue = Secret({
  pattern: HEADER_VALUE,
  'x-form': 'a text of ASCII characters, without spaces at its ends',
})

const HeaderEdits = (message: string) =>
  Variant(
    {
      set: {
        type: 'object',
        additionalProperties: HeaderValue,
        default: {},
        description: 'Headers by name; each replaces those of its name.',
      },
      remove: {
        type: 'array',
        items: { type: 'string' },
        default: [],
        description: 'Names of headers.',
      },
    },
    `What is changed in the headers of ${message}.`,
  )

const WebSocket = Variant(
  {
    origins: Origins({
      description: 'Origins of pages that may open one, each as scheme://host[:port]; unset: the gateway’s own host.',
    }),
    idle_timeout: Duration('5m', 'Closed after this time without a byte in either direction.'),
    max_connections: Count(10_000, 'Open at once, of one worker.'),
    max_per_user: Count(20, 'Open at once of one user, of one worker.'),
    max_message: { ...Size('Largest message of a client.'), default: '1MiB' },
  },
  'WebSockets to this upstream.',
)

const PassAuthorization = {
  enum: [true, false, 'on', 'off', 'bare'],
  default: 'off',
  'x-form': 'on, off or bare',
  'x-reads': 'on, off or bare',
  description: 'Pass the token header on to the upstream: as it was sent (on), or as the token alone (bare).',
} as const

/** What a header of `identity.headers` can carry. */
const IDENTITY_FIELDS = ['id', 'username', 'nickname', 'roles', 'type'] as const

export type IdentityField = (typeof IDENTITY_FIELDS)[number]

const Assertion = Variant(
  {
    header: {
      type: 'string',
      minLength: 1,
      default: 'X-Login-Assertion',
      description: 'The header that carries it.',
    },
    audience: {
      type: 'string',
      minLength: 1,
      maxLength: 256,
      description: 'The audience (`aud`), which the upstream has to check; unset: the name of the upstream.',
    },
    lifetime: Duration('60s', 'How long it is valid, 10s to 1h; a session brings the same one for half of it.'),
  },
  'Prove the identity of a live session by a signed JWT (ES256).',
)

const Identity = Section(
  {
    optional: Switch(false, 'Also send the identity of a live session where the path needs none.'),
    headers: {
      type: 'object',
      additionalProperties: {
        enum: IDENTITY_FIELDS,
        'x-form': 'id, username, nickname, roles or type',
      },
      default: {},
      description: 'Further headers by name, and what of the user each carries: id, username, nickname, roles or type.',
    },
    assertion: {
      anyOf: [Off, Assertion],
      default: 'off',
      description: 'Send a signed JWT with the identity of a live session, or off.',
    },
    extra: Switch(false, 'Send the `extra` of the session as X-Login-Extra.'),
    signature: {
      type: 'array',
      items: Secret({ minLength: 16, 'x-form': 'a text of 16 characters or more' }),
      default: [],
      maxItems: 2,
      description: 'Keys of X-Login-Signature: one, or two during a change of keys.',
    },
  },
  'What the upstream receives about the client beside login id and type.',
)

const Name = {
  type: 'string',
  pattern: '^[A-Za-z0-9._-]{1,64}$',
  'x-form': '1 to 64 characters of A-Z a-z 0-9 . _ -',
  description: 'Name in log lines and metrics.',
} as const

const Match = {
  type: 'string',
  pattern: '^/(.*[^/])?$',
  'x-form': 'a path such as /api/v1/c/orders, without a slash at its end; or / for every path',
  description: 'Path prefix on a segment boundary; the longest match wins.',
} as const

/** One entry of `config/upstreams.yaml` (design: Upstreams). */
export const UpstreamSchema = Variant(
  {
    name: Name,
    match: Match,
    ...TARGETS,
    retries: {
      type: 'integer',
      minimum: 0,
      maximum: 10,
      default: 0,
      description: 'How often an idempotent request without a body is sent again when no response came.',
    },
    body_limit: Size('Largest request body.'),
    rewrite: {
      type: 'string',
      pattern: '^/(.*[^/])?$',
      'x-form': 'a path such as /orders, without a slash at its end',
      description: 'Replaces `match` in the forwarded path.',
    },
    host: {
      enum: ['preserve', 'target'],
      default: 'target',
      description: 'Host header of the upstream request: the client’s, or the target’s.',
    },
    request_headers: HeaderEdits('requests'),
    response_headers: HeaderEdits('responses'),
    maintenance: {
      anyOf: [Off, Maintenance],
      default: 'off',
      'x-form': 'off, or { retry_after: 10m, allow: [10.0.0.0/8] }; {} is on with the defaults',
      description: 'Whether requests are refused with 503, before their tokens are read.',
    },
    rate_limit: {
      anyOf: [Off, RateLimit],
      default: 'off',
      'x-form': 'off, or { requests: 100, window: 1s, burst: 20, per: login-id }',
      description: 'Refuses requests of a client beyond a limit with 429.',
    },
    permission: {
      anyOf: [CODE, CODES, Variant({ any: CODES }, 'One of several.', ['any'])],
      'x-form': 'a permission, a list of them (all are needed), or { any: [ … ] } (one is enough)',
      description: 'The permission that a session needs; without it the request is refused.',
    },
    websocket: {
      anyOf: [Off, WebSocket],
      default: 'off',
      'x-form': 'off, or { origins: [https://admin.example], idle_timeout: 5m, … }; {} is on with the defaults',
      description: 'Whether WebSockets are forwarded.',
    },
    end_with_session: Switch(false, 'Cut a response in progress when the session of its request ends.'),
    identity: Identity,
    signs_in: {
      anyOf: [Off, { enum: ['consumer'] }],
      default: 'off',
      'x-form': 'consumer or off',
      description:
        'Its answers may set the session cookie of this side: X-Dualgate-Session with a token of the operations.',
    },
    pass_authorization: PassAuthorization,
    via: Switch(true, 'Name the gateway in the Via header of requests (RFC 9110 7.6.3).'),
  },
  'An upstream.',
  ['name', 'match'],
)

export const UpstreamsFileSchema = {
  type: 'object',
  additionalProperties: false,
  properties: { upstreams: { type: 'array', items: UpstreamSchema, default: [] } },
} as const

/** One upstream after its defaults: durations in milliseconds, exactly one of `target` and `targets`. */
export type UpstreamSettings = Decoded<typeof UpstreamSchema>

export type PassAuthorization = UpstreamSettings['pass_authorization']
export type IdentitySettings = UpstreamSettings['identity']
export type AssertionSettings = Exclude<IdentitySettings['assertion'], 'off'>
export type WebSocketSettings = Decoded<typeof WebSocket>
export type HeaderEditSettings = Decoded<ReturnType<typeof HeaderEdits>>
