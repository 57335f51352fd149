import { isIP } from 'node:net'
import { hostOf } from '../base/url-host.ts'
import { BAD_PERCENT, ConfigurationError } from './notation/fault.ts'
import { readCertificates } from './tls.ts'

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

/** Reads the URL of a database. Throws `ConfigurationError`, which never contains the URL: there is a password in it. */
export function readDatabaseAddress(text: string): DatabaseAddress {
  const url = URL.canParse(text) ? new URL(text) : null
  const usual = KINDS[url?.protocol ?? '']
  if (url === null || usual === undefined)
    throw faultOf('address', 'must be postgres://user:password@host:port/database, or mysql://…')
  const host = hostOf(url)
  const tls = tlsOf(url.searchParams)
  // For an address the driver would ask whether the certificate is localhost's.
  if (usual.kind === 'mysql' && tls?.verify && isIP(host) !== 0)
    throw faultOf('host', 'must be a name, not an address, where TLS is verified')
  return {
    kind: usual.kind,
    host,
    port: url.port === '' ? usual.port : Number(url.port),
    user: decode('user', url.username),
    password: decode('password', url.password),
    database: decode('database', url.pathname.slice(1)),
    tls,
  }
}

function decode(part: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw faultOf(part, BAD_PERCENT)
  }
}

/** Stricter than PostgreSQL's own clients: TLS is verified unless the address disables it. */
function tlsOf(parameters: URLSearchParams): DatabaseAddress['tls'] {
  const mode = parameters.get('sslmode') ?? 'disable'
  const file = parameters.get('sslrootcert')
  if (mode === 'disable' && file === null) return null
  if (mode === 'disable') throw faultOf('sslrootcert', 'has no effect without sslmode=require; add it')
  if (mode === 'no-verify') return { verify: false }
  if (mode !== 'require' && mode !== 'verify-full') {
    throw faultOf('sslmode', 'must be disable, require, verify-full or no-verify')
  }
  return file === null ? { verify: true } : { verify: true, ca: readCertificates(file, 'sslrootcert') }
}

const faultOf = (place: string, message: string): ConfigurationError => new ConfigurationError([{ place, message }])
