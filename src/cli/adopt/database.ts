/** The database of a compatible service, from its settings: an address in the gateway's form, or why it cannot be used. */
export type Database = { kind: 'mysql' | 'postgres'; url: string } | { fault: string }

const KINDS: Readonly<Record<string, 'mysql' | 'postgres'>> = {
  mysql: 'mysql',
  mariadb: 'mysql',
  postgres: 'postgres',
  postgresql: 'postgres',
}

/** From DB__URL, or from DB__HOST, _PORT, _USER, _PASSWORD and _DATABASE. `null` without any of them. */
export function databaseOf(variables: Readonly<Record<string, string>>): Database | null {
  const part = (names: string): string =>
    Object.entries(variables).find(([key]) => new RegExp(`^(?:DB|DATABASE)__?(?:${names})$`, 'i').test(key))?.[1] ?? ''
  const url = part('URL|DSN')
  if (url !== '') return databaseOfUrl(url)
  if (part('HOST') === '') return null
  const driver = part('DRIVER|TYPE|DIALECT|ENGINE') || (part('PORT') === '5432' ? 'postgres' : 'mysql')
  const kind = kindOf(driver)
  if (kind === undefined) return { fault: UNKNOWN }
  const [user, password, name] = [part('USER|USERNAME'), part('PASSWORD'), part('DATABASE|NAME')].map(
    encodeURIComponent,
  )
  if (user === '' || name === '') return { fault: 'DB__USER or DB__DATABASE is missing' }
  const port = part('PORT')
  return { kind, url: `${kind}://${user}:${password}@${part('HOST')}${port === '' ? '' : `:${port}`}/${name}` }
}

/** A URL with a driver and options that the gateway does not have: `mysql+pymysql://…?charset=utf8mb4`. */
function databaseOfUrl(text: string): Database {
  const parts = /^([A-Za-z]+)(?:\+\w+)?:\/\/([^:@/]+)(?::([^@]*))?@([^/?]+)\/([^/?]+)(?:\?(.*))?$/.exec(text)
  const kind = kindOf(parts?.[1] ?? '')
  if (parts === null || kind === undefined) return { fault: UNKNOWN }
  const [, , user, password = '', host, name, options = ''] = parts
  const sslmode = new URLSearchParams(options).get('sslmode') ?? ''
  const tls = ['require', 'verify-full', 'no-verify'].includes(sslmode) ? `?sslmode=${sslmode}` : ''
  return { kind, url: `${kind}://${encoded(user!)}:${encoded(password)}@${host}/${encoded(name!)}${tls}` }
}

const kindOf = (driver: string): 'mysql' | 'postgres' | undefined => KINDS[driver.toLowerCase()]

const UNKNOWN = 'its database is not PostgreSQL, MySQL or MariaDB, or its address has an unknown form'

/** A part of a URL that may be percent-encoded already. */
function encoded(part: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(part))
  } catch {
    return encodeURIComponent(part)
  }
}

/**
 * The user of the account that signs in, and the rights of a user, from the tables that these services have: those granted to
 * the user, and those of the user's roles.
 */
export function queriesFor(kind: 'mysql' | 'postgres'): { query: string; rights_query: string } {
  const list = kind === 'mysql' ? 'JSON_ARRAYAGG' : 'json_agg'
  const roles = `(SELECT ${list}(r.code) FROM rel_user_role ur JOIN sys_role r ON r.id = ur.role_id WHERE ur.user_id = u.id) AS roles`
  const status = (known: string): string =>
    `CASE WHEN u.status IN (${known}) THEN u.status ELSE 'INACTIVE' END AS status`
  // A derived table cannot refer to `u`.
  const permissions = `(SELECT ${list}(p.permission_code) FROM (
        SELECT up.permission_code FROM rel_user_permission up WHERE up.user_id = :id
        UNION SELECT rp.permission_code FROM rel_role_permission rp
          JOIN rel_user_role ur ON ur.role_id = rp.role_id WHERE ur.user_id = :id) p) AS permissions`
  return {
    query: `SELECT u.id, u.username, u.password, u.nickname,
      ${status("'ACTIVE', 'LOCKED'")},
      ${roles}
    FROM sys_user u WHERE u.username = :username`,
    rights_query: `SELECT u.id, ${status("'ACTIVE'")},
      ${roles},
      ${permissions}
    FROM sys_user u WHERE u.id = :id`,
  }
}
