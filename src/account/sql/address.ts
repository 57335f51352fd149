import { readFileSync } from 'node:fs'

/** The address of a database, from its URL. */
export interface DatabaseAddress {
  kind: 'postgres' | 'mysql'
  host: string
  /** The server's usual port where the URL names none. */
  port: number
  user: string
  password: string
  database: string
  /** `verify: false` encrypts without knowing for whom; `ca` is the authority in PEM, the system's where it is absent. */
  tls: { verify: boolean; ca?: string } | null
}

const KINDS: Readonly<Record<string, Pick<DatabaseAddress, 'kind' | 'port'>>> = {
  'postgres:': { kind: 'postgres', port: 5432 },
  'postgresql:': { kind: 'postgres', port: 5432 },
  'mysql:': { kind: 'mysql', port: 3306 },
  'mariadb:': { kind: 'mysql', port: 3306 },
}

/** Reads `accounts.url`. Exceptions never contain the URL, because it contains a password. */
export function readDatabaseAddress(text: string): DatabaseAddress {
  const url = URL.canParse(text) ? new URL(text) : null
  const usual = KINDS[url?.protocol ?? '']
  if (url === null || usual === undefined) throw new Error('accounts.url is not the URL of a database')
  try {
    return {
      kind: usual.kind,
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? usual.port : Number(url.port),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)),
      tls: tlsOf(url.searchParams),
    }
  } catch (error) {
    // What decodeURIComponent throws does not say where.
    if (error instanceof URIError) throw new Error('accounts.url contains a % that is not percent-encoding')
    throw error
  }
}

/** Stricter than PostgreSQL's own clients: TLS is verified unless the address disables it. */
function tlsOf(parameters: URLSearchParams): DatabaseAddress['tls'] {
  const mode = parameters.get('sslmode') ?? 'disable'
  const file = parameters.get('sslrootcert')
  if (mode === 'disable' && file === null) return null
  if (mode === 'no-verify') return { verify: false }
  if (mode !== 'require' && mode !== 'verify-full') {
    throw new Error('accounts.url: sslmode must be disable, require, verify-full or no-verify')
  }
  return file === null ? { verify: true } : { verify: true, ca: readFileSync(file, 'utf8') }
}
