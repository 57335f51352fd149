import { EXCEPTION_METHODS } from '../../gate/exceptions.ts'
import { HEADER_NAME } from '../header-field.ts'
import { Off, Section, Switch, Url, Variant } from '../notation/notation.ts'

/* Which requests need what, and which pages of other origins may send them. */

const Ranges = (description: string) =>
  ({
    type: 'array',
    items: { type: 'string', minLength: 1, 'x-form': 'an address or a CIDR range such as 10.0.0.0/8' },
    minItems: 1,
    'x-form': 'a list of addresses and CIDR ranges such as [10.0.0.0/8]',
    description,
  }) as const

export const Access = {
  type: 'array',
  items: Variant(
    {
      path: {
        type: 'string',
        minLength: 1,
        'x-form': 'a path such as /console, or /api/v1/sys/* for everything below',
        description: 'A path, exact; or with /* at its end, for it and for everything below; case is ignored.',
      },
      allow: Ranges('The only client addresses that may call the path.'),
      deny: Ranges('Client addresses that may not call the path, even if `allow` contains them.'),
    },
    'Which client addresses may call a path.',
    ['path'],
  ),
  default: [],
  description: 'Client addresses that may call a path, own routes included; the first match decides.',
} as const

const ORIGIN = Url({ pattern: '^https?://[^/*]+$', 'x-form': 'an origin such as https://admin.example' })

/** Origins of pages, each as scheme://host[:port]. */
export const Origins = <const O extends object>(options: O) => ({ type: 'array', items: ORIGIN, ...options }) as const

const Names = {
  type: 'array',
  items: { type: 'string', pattern: `^${HEADER_NAME}$`, 'x-form': 'the name of a header such as X-Request-Id' },
} as const

export const Cors = {
  anyOf: [
    Off,
    Variant(
      {
        origin: Origins({ minItems: 1, description: 'Allowed origins, each as scheme://host[:port].' }),
        credentials: Switch(false, 'Whether browsers may send credentials.'),
        methods: { type: 'array', items: { type: 'string', pattern: '^[A-Z]+$', 'x-form': 'a method such as GET' } },
        allowedHeaders: Names,
        exposedHeaders: Names,
        maxAge: { type: 'integer', minimum: 0, description: 'Seconds for which browsers keep a preflight response.' },
      },
      'As @fastify/cors.',
      ['origin'],
    ),
  ],
  default: 'off',
  description: 'Cross-origin requests from browsers.',
} as const

const Exception = Variant(
  {
    path: {
      type: 'string',
      minLength: 1,
      'x-form': 'a path such as /api/v1/sys/dict/tree, or /api/v1/file/* for everything below',
      description: 'A path, exact; or with /* at its end, for every path that begins with the part before the *.',
    },
    methods: {
      type: 'array',
      items: { enum: EXCEPTION_METHODS },
      minItems: 1,
      default: ['GET'],
      description: 'The methods of the exception; GET includes HEAD.',
    },
    needs: {
      enum: ['none', 'business', 'consumer', 'either'],
      description: 'What these requests need: no session, a session of one side, or a session of either side.',
    },
  },
  'Requests that do not need what the rule for their path requires.',
  ['path', 'needs'],
)

const Page = Variant(
  {
    path: {
      type: 'string',
      minLength: 1,
      'x-form': 'a path such as /wiki, or /wiki/* for it and everything below; /* is every path',
      description: 'A path outside of /api; or with /* at its end, for it and every path below.',
    },
    methods: {
      type: 'array',
      items: { enum: EXCEPTION_METHODS },
      minItems: 1,
      description: 'The methods of the page, all of them by default; GET includes HEAD.',
    },
    needs: {
      enum: ['none', 'business', 'consumer', 'either'],
      description: 'What these requests need: no session, a session of one side, or a session of either side.',
    },
  },
  'Paths outside of /api that upstreams serve.',
  ['path', 'needs'],
)

export const Gate = Section(
  {
    pages: {
      type: 'array',
      items: Page,
      default: [],
      description: 'Paths outside of /api that are forwarded (rule 7); the first match decides.',
    },
    exceptions: {
      type: 'array',
      items: Exception,
      default: [],
      description: 'Exceptions from rules 4 to 6 of the gate; the first match decides.',
    },
  },
  'The gate.',
)
