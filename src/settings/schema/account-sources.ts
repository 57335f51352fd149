import { Count, Duration, LongDuration, Off, Path, Secret, Variant } from '../notation/notation.ts'

/* Where accounts are, and how the gateway stores what their users change. */

/*
 * The default file name differs between the sides, so that no account serves both by accident; the other sources have no
 * default, for the same reason.
 */
export const FileAccounts = (path: string) =>
  Variant(
    { kind: { const: 'file' }, path: Path({ default: path, description: 'The file with the accounts.' }) },
    'Accounts in a YAML file, managed by `dualgate account`, read again when it changes.',
    ['kind'],
  )

const RECHECK_EVERY =
  'The source is asked again for the account of a session in use, at most once in this time for each user.'

/** For sources that do not report changes by themselves. */
const Recheck = {
  anyOf: [Off, LongDuration('60s', RECHECK_EVERY)],
  default: '60s',
  description: `${RECHECK_EVERY} Sessions end if the account is gone, not ACTIVE, or has another password. Or off.`,
  'x-form': 'off, or a duration such as 60s',
} as const

/** An UPDATE with a value and the id, both as placeholders: in any order, and not within quotes or a longer word. */
const UpdateStatement = (value: 'password' | 'second_factor', description: string) =>
  ({
    type: 'string',
    pattern: `^\\s*[Uu][Pp][Dd][Aa][Tt][Ee]\\s(?=[^]*[^:'"\`A-Za-z0-9_]:${value}(?![A-Za-z0-9_]))(?=[^]*[^:'"\`A-Za-z0-9_]:id(?![A-Za-z0-9_]))`,
    'x-form': `an UPDATE with the placeholders :${value} and :id`,
    description,
  }) as const

export const SqlAccounts = Variant(
  {
    kind: { const: 'sql' },
    url: Secret({
      pattern:
        '^(postgres|postgresql|mysql|mariadb)://[^\\s:@/?#]+(:[^\\s@/?#]*)?@[^\\s@/?#]+/[^\\s/?#]+([?](sslmode|sslrootcert)=[^\\s&#]+(&(sslmode|sslrootcert)=[^\\s&#]+)*)?$',
      'x-form':
        'postgres://user:password@host:port/database or mysql://… with @ : / ? # in names and passwords percent-encoded',
      description:
        'The database. ?sslmode=require uses TLS and verifies the server (&sslrootcert=FILE names its authority), no-verify does not verify it.',
    }),
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
    recheck: Recheck,
  },
  'Accounts in a table of yours, in PostgreSQL, MySQL or MariaDB.',
  ['kind', 'url', 'query'],
)

export const HttpAccounts = Variant(
  {
    kind: { const: 'http' },
    url: {
      type: 'string',
      pattern: '^https?://[^\\s@/?#]+(/[^\\s@#]*)?$',
      'x-form': 'http://host:port/path or https://host:port/path',
      description: 'Receives {"username": …} by POST; responds with 200 and the account, or with 404.',
    },
    secret: Secret({
      minLength: 16,
      'x-form': '16 characters or more',
      description: 'Signs every request: X-Dualgate-Signature is t=<unix seconds>,v1=<hex HMAC-SHA256 of t.body>.',
    }),
    update_url: {
      type: 'string',
      pattern: '^https?://[^\\s@/?#]+(/[^\\s@#]*)?$',
      'x-form': 'http://host:port/path or https://host:port/path',
      description:
        'Receives {"id": …, "password": …, "password_before": …} or {"id": …, "second_factor": …, "second_factor_before": …} by POST; responds with 200 or 204, with 404, or with 409.',
    },
    timeout: Duration('2s', 'No login waits longer for the response; then it fails with 503.'),
    recheck: Recheck,
  },
  'Accounts in a backend of yours.',
  ['kind', 'url', 'secret'],
)

/** The accounts of the B side. */
export const Accounts = {
  anyOf: [FileAccounts('accounts.yaml'), SqlAccounts, HttpAccounts],
  default: { kind: 'file' },
  description: 'Where the B-side accounts are.',
} as const
