import Type from 'typebox'
import { Duration, Path, Secret, Variant } from './notation.ts'

/*
 * Where accounts come from. The file's default name differs between the sides, so that no account serves both by
 * accident; the other sources have no default, for the same reason.
 */

const FileAccounts = (path: string) =>
  Variant(
    { kind: Type.Literal('file'), path: Path({ default: path, description: 'The file with the accounts.' }) },
    'Accounts in a YAML file, managed by `dualgate account`, read again when it changes.',
  )

const SqlAccounts = Variant(
  {
    kind: Type.Literal('sql'),
    url: Secret({
      pattern:
        '^(postgres|postgresql|mysql|mariadb)://[^\\s:@/?#]+(:[^\\s@/?#]*)?@[^\\s@/?#]+/[^\\s/?#]+([?](sslmode|sslrootcert)=[^\\s&#]+(&(sslmode|sslrootcert)=[^\\s&#]+)*)?$',
      'x-form':
        'postgres://user:password@host:port/database or mysql://… with @ : / ? # in names and passwords percent-encoded',
      description:
        'The database. ?sslmode=require asks for TLS and verifies the server (&sslrootcert=FILE names its authority), no-verify does not.',
    }),
    query: Type.String({
      pattern: '^\\s*([Ss][Ee][Ll][Ee][Cc][Tt]|[Ww][Ii][Tt][Hh])\\s[^]*[^:\'"`A-Za-z0-9_]:username(?![A-Za-z0-9_])',
      'x-form': 'a SELECT with the placeholder :username',
      description:
        'Answers one row for a name, :username, with the columns id, username, password (bcrypt) and status; further columns go into the session.',
    }),
    rights_query: Type.Optional(
      Type.String({
        pattern: '^\\s*([Ss][Ee][Ll][Ee][Cc][Tt]|[Ww][Ii][Tt][Hh])\\s[^]*[^:\'"`A-Za-z0-9_]:id(?![A-Za-z0-9_])',
        'x-form': 'a SELECT with the placeholder :id',
        description:
          'With `permissions.source: accounts`: answers one row for a login id, :id, with the columns id, status, roles and permissions.',
      }),
    ),
    timeout: Duration('2s', 'No login waits longer for the database; then it is answered with 503.'),
    pool: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 4,
      description: 'Connections that each worker process opens at most.',
    }),
  },
  'Accounts in a table of yours, in PostgreSQL, MySQL or MariaDB, read only.',
)

const HttpAccounts = Variant(
  {
    kind: Type.Literal('http'),
    url: Type.String({
      pattern: '^https?://[^\\s@/?#]+(/[^\\s@#]*)?$',
      'x-form': 'http://host:port/path or https://host:port/path',
      description: 'Where {"username": …} is posted to: 200 with the account, or 404.',
    }),
    secret: Secret({
      minLength: 16,
      'x-form': '16 characters or more',
      description: 'Signs every question: X-Dualgate-Signature is t=<unix seconds>,v1=<hex HMAC-SHA256 of t.body>.',
    }),
    timeout: Duration('2s', 'No login waits longer for the answer; then it is answered with 503.'),
  },
  'Accounts that a backend of yours answers.',
)

/** The sources of accounts, `path` being the default file of the first. */
export const accountSources = (path: string) => [FileAccounts(path), SqlAccounts, HttpAccounts] as const

export type FileAccountsSettings = Type.StaticDecode<ReturnType<typeof FileAccounts>>
export type SqlAccountsSettings = Type.StaticDecode<typeof SqlAccounts>
export type HttpAccountsSettings = Type.StaticDecode<typeof HttpAccounts>
export type AccountsSettings = FileAccountsSettings | SqlAccountsSettings | HttpAccountsSettings
