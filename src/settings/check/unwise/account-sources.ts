import type { DecodedSettings } from '../../schema/settings.ts'
import { ACCOUNT_SECTIONS, type AccountSection } from '../account-sections.ts'
import { isUnencrypted, isUnverifiedDatabase } from '../networks.ts'
import type { Rule } from './rule.ts'

type Source = Exclude<AccountSection, 'off'>

/** `cn=admin,…`, `CN=Administrator,…`, `EXAMPLE\\administrator` */
const DIRECTORY_OWNER = /^(?:cn=|uid=|[^\\]+\\)?(?:admin|administrator|manager|root|directory manager)(?:,|@|$)/i

/** Of the source of one side. */
const SOURCE: readonly Rule<Source>[] = [
  {
    setting: ['url'],
    finds: source => source.kind === 'sql' && isUnverifiedDatabase(source.url),
    message: 'reads password hashes over a public network without verified TLS; add ?sslmode=require',
  },
  {
    setting: ['url'],
    finds: source => source.kind === 'sql' && /^\w+:\/\/(root|postgres|sa)[:@]/.test(source.url),
    message: 'names the owner of the database: give the gateway a user that can only do what its statements do',
  },
  {
    setting: ['bind', 'dn'],
    finds: source => source.kind === 'ldap' && DIRECTORY_OWNER.test(source.bind.dn),
    message: 'is the administrator of the directory: give the gateway an account that can only read',
  },
  {
    setting: ['url'],
    finds: source => source.kind === 'http' && isUnencrypted(source.url, 'http:'),
    message: 'gets password hashes unencrypted over a public network; use https://',
  },
  {
    setting: ['update_url'],
    finds: source => source.kind === 'http' && isUnencrypted(source.update_url, 'http:'),
    message: 'gets password hashes unencrypted over a public network; use https://',
  },
]

/** Where the accounts of both sides are. */
export const ACCOUNT_SOURCES: readonly Rule<DecodedSettings>[] = ACCOUNT_SECTIONS.flatMap(({ path, read }) =>
  SOURCE.map(({ setting, finds, message }) => ({
    setting: [...path, ...setting],
    finds(settings, isProduction) {
      const source = read(settings)
      return source !== 'off' && finds(source, isProduction)
    },
    message,
  })),
)
