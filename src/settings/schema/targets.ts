import { HEADER_NAME } from '../header-field.ts'
import {
  Count,
  type Decoded,
  Duration,
  LongDuration,
  Off,
  OptionalCount,
  Path,
  Section,
  Url,
  Variant,
} from '../notation/notation.ts'

/* Where the targets of an upstream are, which of them a request goes to, and the connections to them. */

const SERVER = 'https?://[^/?#@]+/?|unix:/[^?#]+'

const Server = Url({
  pattern: `^(${SERVER})$`,
  'x-form': 'http://host:port, https://host:port or unix:/path/of.sock',
})

const Weight = Count(1, 'Share of the requests among the targets; 0: no new requests.', 0, 1000)

const Hash = {
  type: 'string',
  pattern: `^(login-id|address|header:${HEADER_NAME})$`,
  'x-form': 'login-id, address or header:<name>',
  description: 'What is the same in all requests of a client.',
} as const

const Ejection = Variant(
  {
    failures: Count(
      5,
      'Failures in a row that eject a target: no connection, no response in time, or a response that is not HTTP.',
    ),
    duration: LongDuration('10s', 'For how long; twice as long after each further failure.'),
    limit: LongDuration('5m', 'The longest time for which a target is ejected.'),
  },
  'A target that fails gets no requests for a while.',
)

const Connections = Section(
  {
    limit: Count(1024, 'Connections to one target, of one worker.'),
    per_address: OptionalCount(
      'Connections in use by requests of one client address; unset: half of limit, at least 20.',
    ),
    queue: Count(8192, 'Requests that may wait for one of them, per target and worker.', 0),
    wait: Duration('5s', 'How long a request waits at most.'),
    idle: Duration('4s', 'How long an unused connection is kept, unless the target announces its own limit.'),
    lifetime: Duration('60s', 'How long a connection to a name is used, so that a changed address takes effect.'),
  },
  'The connections to a target.',
)

const Health = Variant(
  {
    path: {
      type: 'string',
      pattern: '^/[!-"$-~]*$',
      'x-form': 'a path such as /healthz',
      description: 'The path that is requested; a status from 200 to 399 is a success.',
    },
    interval: Duration('5s', 'Between two checks of a target.'),
    timeout: Duration('2s', 'Time limit of a check.'),
    failures: Count(2, 'Failed checks in a row that eject a target.'),
    successes: Count(1, 'Successful checks in a row that bring it back.'),
  },
  'Active checks.',
  ['path'],
)

const Tls = Variant(
  {
    ca: Path({ description: 'PEM file of the trusted authorities, instead of those of the system.' }),
    server_name: {
      type: 'string',
      pattern: '^(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$',
      'x-form': 'a host name',
      description: 'The name to request and to expect in the certificate, instead of the target’s own.',
    },
    cert: Path({ description: 'PEM file of the gateway’s client certificate; needs `key`.' }),
    key: Path({ description: 'PEM file of its key.' }),
  },
  'How https targets are verified, and the gateway’s own certificate.',
)

const Timeouts = Section(
  {
    connect: Duration('5s', 'To connect.'),
    response: Duration('30s', 'Until the response’s head arrives, counted from the end of the request.'),
    idle: Duration('60s', 'Between two parts of the response’s body.'),
  },
  'Time limits.',
)

/** The settings of an upstream that are about its targets. */
export const TARGETS = {
  target: Url({
    pattern: `^(builtin:echo|${SERVER})$`,
    'x-form': 'http://host:port, https://host:port, unix:/path/of.sock or builtin:echo',
    description: 'The one target: scheme, host and port, or a Unix socket.',
  }),
  targets: {
    type: 'array',
    items: {
      anyOf: [Server, Variant({ url: Server, weight: Weight }, 'A target with a weight.', ['url'])],
      'x-form': 'http://host:port, https://host:port or unix:/path/of.sock, or { url: http://host:port, weight: 3 }',
    },
    minItems: 1,
    description: 'Several targets, balanced; each a server, or a server with its weight.',
  },
  balance: {
    anyOf: [
      { enum: ['round-robin', 'least-pending'] },
      Variant({ hash: Hash }, 'The same target for a client.', ['hash']),
    ],
    default: 'round-robin',
    'x-form': 'round-robin, least-pending or { hash: login-id }',
    description:
      'Targets in turn, the one with the fewest requests in progress, or the same one for the requests of a client.',
  },
  resolve: {
    anyOf: [Off, Duration('30s', 'Between two look-ups.')],
    default: 'off',
    'x-form': 'off, or a duration such as 30s, 24d at most',
    description: 'How often names of targets are looked up, so that each address of a name is a target; or off.',
  },
  ejection: { anyOf: [Off, Ejection], default: {}, description: 'Ejects targets that fail, or off.' },
  health: Health,
  connections: Connections,
  timeouts: Timeouts,
  tls: Tls,
} as const

export type ConnectionSettings = Decoded<typeof Connections>
export type HealthSettings = Decoded<typeof Health>
export type UpstreamTlsFiles = Decoded<typeof Tls>
