import { Count, Duration, LongDuration, Off, Path, Secret, Switch, Url, Variant } from '../notation/notation.ts'

/* Where accounts are, and how the gateway stores what their users change. */

/*
 * The default file name differs between the sides, so that no account serves both by accident; the other sources have no
 * default, for the same reason.
 */
const FileAccounts = (path: string) =>
  Variant(
    { kind: { const: 'file' }, path: Path({ default: path, description: 'The file with the accounts.' }) },
    'Accounts in a YAML file, managed by `dualgate account`, read again when it changes.',
    ['kind'],
  )

const RECHECK_EVERY =
  'The source is asked again for the account of a session in use, at most once in this time for each user.'

/** For sources that do not report changes by themselves. */
const Recheck = <const D extends string>(fallback: D, ends = 'or has another password') =>
  ({
    anyOf: [Off, LongDuration(fallback, RECHECK_EVERY)],
    default: fallback,
    description: `${RECHECK_EVERY} Sessions end if the account is gone, not ACTIVE, ${ends}. Or off.`,
    'x-form': `off, or a duration such as ${fallback}`,
  }) as const

/** An UPDATE with a value and the id, both as placeholders: in any order, and not within quotes or a longer word. */
const UpdateStatement = (value: 'password' | 'second_factor', description: string) =>
  ({
    type: 'string',
    pattern: `^\\s*[Uu][Pp][Dd][Aa][Tt][Ee]\\s(?=[^]*[^:'"\`A-Za-z0-9_]:${value}(?![A-Za-z0-9_]))(?=[^]*[^:'"\`A-Za-z0-9_]:id(?![A-Za-z0-9_]))`,
    'x-form': `an UPDATE with the placeholders :${value} and :id`,
    description,
  }) as const

const SqlAccounts = Variant(
  {
    kind: { const: 'sql' },
    url: Secret(
      Url({
        pattern:
          '^(postgres|postgresql|mysql|mariadb)://[^\\s:@/?#]+(:[^\\s@/?#]*)?@[^\\s@/?#]+/[^\\s/?#]+([?](sslmode|sslrootcert)=[^\\s&#]+(&(sslmode|sslrootcert)=[^\\s&#]+)*)?$',
        'x-form':
          'postgres://user:password@host:port/database or mysql://… with @ : / ? # in names and passwords percent-encoded',
        description:
          'The database. ?sslmode=require uses TLS and verifies the server (&sslrootcert=FILE names its authority), no-verify does not verify it.',
      }),
    ),
    query: {
      type: 'string',
      pattern: '^\\s*([Ss][Ee][Ll][Ee][Cc][Tt]|[Ww][Ii][Tt][Hh])\\s[^]*[^:\'"`A-Za-z0-9_]:username(?![A-Za-z0-9_])',
      'x-form': 'a SELECT with the placeholder :username',
      description:
        'Returns one row for a name, :username, with the columns id, username, password (bcrypt) and status; further columns go into the session.',
    },
    rights_query: {
      type: 'string',
      pattern: '^\\s*([Ss][Ee][Ll][Ee][Cc][Tt]|[Ww][Ii][Tt][Hh])\\s[^]*[^:\'"`A-Za-z0-9_]:id(?![A-Za-z0-9_])',
      'x-form': 'a SELECT with the placeholder :id',
      description:
        'With `permissions.source: accounts`: returns one row for a login id, :id, with the columns id, status, roles and permissions.',
    },
    update: Variant(
      {
        password: UpdateStatement(
          'password',
          'Stores :password, a bcrypt hash, for the account with the login id :id; may compare the present one with :password_before.',
        ),
        second_factor: UpdateStatement(
          'second_factor',
          'Stores :second_factor, an encrypted text or NULL, for the account with the login id :id; may compare the present one with :second_factor_before.',
        ),
      },
      'How changes that users make of themselves are stored; without it the gateway only reads.',
    ),
    timeout: Duration('2s', 'No login waits longer for the database; then it fails with 503.'),
    pool: Count(4, 'Connections of each worker process at most.', 1, 100),
    recheck: Recheck('60s'),
  },
  'Accounts in a table of yours, in PostgreSQL, MySQL or MariaDB.',
  ['kind', 'url', 'query'],
)

const HttpAccounts = Variant(
  {
    kind: { const: 'http' },
    url: Url({
      pattern: '^https?://[^\\s@/?#]+(/[^\\s@#]*)?$',
      'x-form': 'http://host:port/path or https://host:port/path',
      description: 'Receives {"username": …} by POST; responds with 200 and the account, or with 404.',
    }),
    secret: Secret({
      minLength: 16,
      'x-form': '16 characters or more',
      description: 'Signs every request: X-Dualgate-Signature is t=<unix seconds>,v1=<hex HMAC-SHA256 of t.body>.',
    }),
    update_url: Url({
      pattern: '^https?://[^\\s@/?#]+(/[^\\s@#]*)?$',
      'x-form': 'http://host:port/path or https://host:port/path',
      description:
        'Receives {"id": …, "password": …, "password_before": …} or {"id": …, "second_factor": …, "second_factor_before": …} by POST; responds with 200 or 204, with 404, or with 409.',
    }),
    timeout: Duration('2s', 'No login waits longer for the response; then it fails with 503.'),
    recheck: Recheck('60s'),
  },
  'Accounts in a backend of yours.',
  ['kind', 'url', 'secret'],
)

const DirectoryServer = Url({
  pattern: '^ldaps?://[^\\s/?#@,]+/?$',
  'x-form': 'ldaps://host or ldaps://host:port, or ldap://… with start_tls: on',
})

const Attribute = (description: string) =>
  ({
    type: 'string',
    pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$',
    'x-form': 'the name of an attribute such as mail',
    description,
  }) as const

const EntryName = (description: string) =>
  ({
    type: 'string',
    minLength: 1,
    'x-form': 'a distinguished name such as OU=Staff,DC=example,DC=com',
    description,
  }) as const

const SearchFilter = (placeholder: string, example: string, description: string) =>
  ({
    type: 'string',
    minLength: 1,
    'x-form': `a filter with the placeholder ${placeholder}, such as ${example}`,
    description,
  }) as const

const Nested = {
  anyOf: [Off, { type: 'integer', minimum: 1, maximum: 20 }],
  default: 'off',
  description: 'Through how many groups that are members of groups a membership counts; or off.',
  'x-form': 'off, or a whole number from 1 to 20',
} as const

const GroupsBase = EntryName('Below which entry groups are searched; unset: the domain of `base`.')

const Groups = {
  anyOf: [
    Off,
    Variant(
      { kind: { const: 'member-of' }, base: GroupsBase, nested: Nested },
      'The attribute memberOf of an entry names its groups.',
      ['kind'],
    ),
    Variant(
      {
        kind: { const: 'search' },
        base: GroupsBase,
        search: SearchFilter('{dn}', '(member={dn})', 'Finds the groups that have the entry {dn} as a member.'),
        nested: Nested,
      },
      'Groups are searched that name the entry.',
      ['kind'],
    ),
  ],
  description: 'How the groups of an account are found, or off; unset: as `preset` says.',
  'x-form': 'off, { kind: member-of } or { kind: search, search: (member={dn}) }',
} as const

/** What people of a company sign in with. A directory verifies a password by a bind, and shows no hash. */
const LdapAccounts = Variant(
  {
    kind: { const: 'ldap' },
    preset: {
      enum: ['active-directory', 'openldap', 'freeipa'],
      description: 'The kind of directory: the defaults of user, id, attributes and groups.',
    },
    url: {
      anyOf: [DirectoryServer, { type: 'array', items: DirectoryServer, minItems: 1, maxItems: 8 }],
      description: 'The servers of the directory; the first one that answers is asked.',
      'x-form': 'ldaps://host, or a list of servers such as [ldaps://dc1.example.com, ldaps://dc2.example.com]',
    },
    start_tls: Switch(false, 'Whether connections to ldap:// begin TLS before anything else is sent.'),
    ca: Path({ description: 'PEM file of the trusted authorities, instead of those of the system.' }),
    bind: Variant(
      {
        dn: {
          type: 'string',
          pattern: '[=@\\\\]',
          'x-form': 'a distinguished name such as CN=dualgate,OU=Services,DC=example,DC=com',
          description: 'The account with which the gateway searches.',
        },
        password: Secret({ minLength: 1, 'x-form': 'a password', description: 'Its password.' }),
      },
      'The account of the gateway in the directory; it needs the right to read, and no other.',
      ['dn', 'password'],
    ),
    base: EntryName('Below which entry accounts are searched.'),
    user: SearchFilter(
      '{username}',
      '(uid={username})',
      'Finds the entry of a name, {username}; unset: as `preset` says.',
    ),
    id: Attribute(
      'The attribute that becomes the login id: one that no other entry ever gets. Unset: as `preset` says.',
    ),
    attributes: {
      type: 'object',
      properties: {
        username: Attribute('The name of the account; `user` must find the entry by it.'),
        nickname: Attribute('The name that is shown.'),
      },
      additionalProperties: Attribute('An attribute that goes into the session under this name.'),
      default: {},
      description: 'Attributes that go into the session, by the name that they get there.',
    },
    groups: Groups,
    roles: {
      type: 'object',
      additionalProperties: { type: 'string', minLength: 1, maxLength: 128, 'x-form': 'a role such as operator' },
      default: {},
      description: 'The role that each group gives, by the distinguished name of the group.',
    },
    timeout: Duration('3s', 'A login waits no longer for the directory, all steps together; then it fails with 503.'),
    recheck: Recheck('5m', 'has another password, or has lost one of its roles'),
  },
  'Accounts in a directory: Active Directory, OpenLDAP, FreeIPA.',
  ['kind', 'preset', 'url', 'bind', 'base'],
)

/** The kinds of sources, which are the same on both sides; `path` is the default of the file. */
export const accountSources = (path: string) => [FileAccounts(path), SqlAccounts, HttpAccounts, LdapAccounts] as const

/** The accounts of the B side. */
export const Accounts = {
  anyOf: accountSources('accounts.yaml'),
  default: { kind: 'file' },
  description: 'Where the B-side accounts are.',
} as const
