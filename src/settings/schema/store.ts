import {
  Count,
  type Decoded,
  Duration,
  Off,
  OptionalSwitch,
  Port,
  Secret,
  Section,
  Url,
  Variant,
} from '../notation/notation.ts'

/* Where sessions are kept, and which of them a process remembers. */

const RedisNodes = <const D extends string>(description: D) =>
  ({
    type: 'array',
    items: Variant(
      { host: { type: 'string', minLength: 1 }, port: Port(6379, 'Port of the node.') },
      'Address of a node.',
      ['host'],
    ),
    minItems: 1,
    description,
  }) as const

const Redis = Variant(
  {
    url: Secret(
      Url({
        pattern: '^rediss?://([^\\s/?#]*@)?[^\\s@/?#]+(/[0-9]{0,5})?$',
        'x-form': 'redis://user:password@host:port/0 or rediss://…, with @ : / ? # in passwords percent-encoded',
        description: 'One server: redis://[user:password@]host[:port][/database], rediss:// for TLS.',
      }),
    ),
    sentinels: RedisNodes('Addresses of the Sentinels; needs `name`.'),
    name: { type: 'string', minLength: 1, description: 'Name of the master that the Sentinels watch.' },
    cluster: RedisNodes('Addresses of some nodes of a Redis Cluster.'),
    username: { type: 'string', description: 'User, for Sentinel and Cluster.' },
    password: Secret({ minLength: 1, description: 'Password, for Sentinel and Cluster.' }),
    tls: OptionalSwitch('TLS to the nodes, for Sentinel and Cluster; a URL begins with rediss:// instead.'),
    wait: {
      anyOf: [
        Off,
        Variant(
          {
            replicas: Count(1, 'Replicas that must confirm a change.'),
            timeout: Duration('100ms', 'Time limit for them; shorter than `store.timeout`.'),
          },
          'Waits for replicas.',
        ),
      ],
      description:
        'Whether the end of a session and a disabled login id are confirmed only after replicas have them. Not in a Cluster.',
    },
  },
  'Where Redis is: exactly one of `url`, `sentinels` with `name`, `cluster`.',
)

export const Store = Section(
  {
    kind: {
      enum: ['embedded', 'redis'],
      default: 'embedded',
      description: 'embedded: files below `data`, shared by the workers of one machine. redis: Redis 6.2+ or Valkey.',
    },
    prefix: {
      type: 'string',
      pattern: '^[A-Za-z0-9._:-]{1,64}$',
      'x-form': '1 to 64 characters of A-Z a-z 0-9 . _ : -',
      default: 'svc:auth',
      description: 'First part of every key in Redis.',
    },
    timeout: Duration('1s', 'No request waits longer for the store; then it fails with 503.'),
    redis: Redis,
  },
  'The session store.',
)

const CacheMode = <const F extends 'off' | 'tracking'>(fallback: F, side: string) =>
  ({
    anyOf: [Off, { const: 'tracking' }],
    default: fallback,
    'x-form': 'off or tracking',
    description: `Whether sessions of the ${side} side are remembered in the process until Redis announces a change.`,
  }) as const

export const SessionCache = Section(
  {
    business: CacheMode('off', 'B'),
    consumer: CacheMode('tracking', 'C'),
    heartbeat: Duration('1s', 'How long a remembered session is valid after the last message from Redis.'),
    max_entries: Count(100_000, 'Remembered sessions per side and process; then the oldest is dropped.'),
  },
  'Sessions remembered in the process. The embedded store uses max_entries only.',
)

export type SessionCacheSettings = Decoded<typeof SessionCache>
