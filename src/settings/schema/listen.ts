import {
  Count,
  Duration,
  Off,
  OptionalCount,
  Path,
  Port,
  Secret,
  Section,
  Size,
  Variant,
} from '../notation/notation.ts'

/* Where requests arrive. */

export const Listen = Section(
  {
    host: { type: 'string', minLength: 1, default: '0.0.0.0', description: 'Address of the public port.' },
    port: Port(8080, 'The public port.'),
    tls: Variant(
      {
        cert: Path({ description: 'PEM file with the certificate and its chain.' }),
        key: Path({ description: 'PEM file with the private key, without a passphrase.' }),
      },
      'HTTPS instead of HTTP; changes of the files take effect while the gateway runs.',
      ['cert', 'key'],
    ),
    timeouts: Section(
      {
        headers: Duration('10s', 'For the head of a request, and for a TLS handshake.'),
        body: Duration('30s', 'Between two parts of a request body.'),
        keep_alive: Duration('65s', 'For the next request on a connection.'),
      },
      'How long the public listener waits for its clients.',
    ),
    min_rate: {
      anyOf: [Off, Size('Bytes per second.')],
      default: '1KiB',
      'x-form': 'a size such as 1KiB, per second, or off',
      description:
        'Bytes per second, on average, that a client must at least send of a body and read of a response; or off.',
    },
    max_connections: Count(20_000, 'Open connections of each worker at most; further ones are closed.', 1, 1_000_000),
    max_connections_per_address: OptionalCount(
      'Open connections of one client address; unset: a quarter of max_connections, at least 20.',
      1,
      1_000_000,
    ),
  },
  'The public listener.',
)

export const Internal = Section(
  {
    host: { type: 'string', minLength: 1, default: '127.0.0.1', description: 'Address of the internal port.' },
    port: Port(8081, 'The internal port.'),
    socket: Path({ description: 'A Unix socket instead of host and port.' }),
    secret: Secret({
      minLength: 16,
      'x-form': 'a text of 16 characters or more',
      description: 'Shared secret of the operations API.',
    }),
  },
  'The internal listener: probes and the operations API. It cannot be reached through the public listener.',
)

export const Drain = Section(
  {
    requests: Duration('25s', 'For requests in progress; then they are cut off.'),
    websockets: Duration('20s', 'Over which the WebSockets of a worker are closed, one after the other.'),
  },
  'How long a worker takes to end, on a stop and after a reload.',
)

export const Workers = {
  anyOf: [{ const: 'auto' }, { type: 'integer', minimum: 1, maximum: 64 }],
  default: 'auto',
  'x-form': 'auto, or a whole number from 1 to 64',
  description: 'Worker processes: auto starts one per core; 1 runs a single process.',
} as const

export const TrustedProxies = {
  type: 'array',
  items: {
    type: 'string',
    minLength: 1,
    'x-form': 'an address or a CIDR range such as 10.0.0.0/8, not a number of proxies',
  },
  default: [],
  'x-form': 'a list of addresses and CIDR ranges such as [10.0.0.0/8]',
  description: 'Addresses and CIDR ranges of proxies in front whose X-Forwarded-For is trusted.',
} as const
