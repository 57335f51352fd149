import { type Decoded, Duration, LongDuration, Path, Secret, Url, Variant } from '../notation/notation.ts'

/* OpenID providers with which users sign in. */

const Label = { type: 'string', minLength: 1, maxLength: 80 } as const

const Claim = (description: string) =>
  ({
    type: 'string',
    minLength: 1,
    maxLength: 128,
    'x-form': 'the name of a claim such as preferred_username',
    description,
  }) as const

const Texts = (description: string, item: object = {}) =>
  ({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 256, ...item },
    minItems: 1,
    maxItems: 256,
    description,
  }) as const

/** Signatures of ID tokens and logout tokens: never `none`, and never one whose key the client knows, too. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const

/** What goes into a session unless the settings say something else. */
export const DEFAULT_CLAIMS = { username: 'preferred_username', nickname: 'name' } as const

const Provider = Variant(
  {
    name: {
      type: 'string',
      pattern: '^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$',
      'x-form': 'a name of 1 to 32 characters of a-z 0-9 -',
      description: 'Stands in the paths of the provider and in the login ids of its users: never change it.',
    },
    side: { enum: ['business', 'consumer'], description: 'The side whose users sign in with it.' },
    label: {
      anyOf: [Label, Variant({ en: Label, 'zh-CN': Label }, 'By language.', ['en', 'zh-CN'])],
      description: 'The text of its button.',
      'x-form': 'a text, or { en: Company account, zh-CN: 公司账号 }',
    },
    issuer: Url({
      pattern: '^https?://[^\\s@/?#]+(?:/[^\\s?#]*)?$',
      'x-form': 'a URL such as https://sso.example.com/realms/staff',
      description: 'The issuer, exactly as the provider writes it; its configuration is found below it.',
    }),
    client_id: {
      type: 'string',
      minLength: 1,
      maxLength: 256,
      description: 'The client as which it knows the gateway.',
    },
    client_secret: Secret({ minLength: 1, description: 'The secret of the client; or use `key`.' }),
    client_auth: {
      enum: ['basic', 'post'],
      default: 'basic',
      description: 'How the secret is sent: client_secret_basic or client_secret_post.',
    },
    key: Path({ description: 'PEM file with a private key that proves the client instead (private_key_jwt).' }),
    scopes: {
      ...Texts('What is requested; openid is always among it.'),
      default: ['openid', 'profile', 'email'],
    },
    account: {
      enum: ['claims', 'match'],
      description:
        'claims: what the provider says is the account. match: an account of the side must exist, and is found by `match`.',
    },
    match: Variant(
      {
        claim: Claim('The claim by which an account is found.'),
        with: { enum: ['username'], default: 'username', description: 'What of the account equals it.' },
      },
      'How the account is found, with account: match.',
      ['claim'],
    ),
    claims: {
      type: 'object',
      additionalProperties: Claim('The claim that goes into the session under this name.'),
      default: DEFAULT_CLAIMS,
      description: 'The claims that go into the session, by the name that they get there.',
    },
    roles: Variant(
      {
        claim: Claim('The claim with the groups; a dot leads into an object, as in realm_access.roles.'),
        map: {
          type: 'object',
          additionalProperties: { type: 'string', minLength: 1, maxLength: 128, 'x-form': 'a role such as operator' },
          default: {},
          description: 'The role that each group gives.',
        },
      },
      'The roles of its users, with account: claims.',
      ['claim'],
    ),
    require: Variant(
      {
        groups: Texts('One of these groups, by roles.claim.'),
        email_domains: Texts('A verified e-mail address of one of these domains.'),
      },
      'What users must have; each line must hold.',
    ),
    second_factor: {
      enum: ['provider', 'own'],
      default: 'provider',
      description: 'provider: the provider asks for it. own: the gateway asks, as after a password.',
    },
    acr: Texts('Classes of authentication of which the provider must name one (acr).'),
    session: LongDuration('12h', 'The longest life of a session, which no renewal exceeds.'),
    logout: {
      enum: ['user', 'session'],
      default: 'user',
      description:
        'What a logout at the provider ends: all sessions that its user has by this provider, or the session that it names.',
    },
    algorithms: {
      type: 'array',
      items: { enum: ALGORITHMS },
      minItems: 1,
      default: ['RS256', 'PS256', 'ES256', 'EdDSA'],
      description: 'The signatures that are accepted.',
    },
    clock_tolerance: Duration('30s', 'How far its clock may differ.'),
    timeout: Duration('5s', 'A sign-in waits no longer for one answer of the provider; then it fails with 503.'),
    ca: Path({ description: 'PEM file of the trusted authorities, instead of those of the system.' }),
    proxy: Url({
      pattern: '^http://[^\\s@/?#]+/?$',
      'x-form': 'http://host:port',
      description: 'The HTTP proxy through which the provider is reached.',
    }),
  },
  'An OpenID provider.',
  ['name', 'side', 'label', 'issuer', 'client_id', 'account'],
)

export const Providers = {
  type: 'array',
  items: Provider,
  maxItems: 32,
  default: [],
  description: 'OpenID providers with which users sign in, each with a button on the sign-in page.',
} as const

export type ProviderSettings = Decoded<typeof Provider>
