import { isIP } from 'node:net'
import { createPool, type FieldPacket, type PoolConnection } from 'mysql2/promise'
import type { DatabaseAddress } from './address.ts'
import { placesOf } from './placeholder.ts'
import type { Database, DatabaseOptions } from './source.ts'

/** Milliseconds after which an unused connection is closed. */
const IDLE_TIMEOUT = 30_000

/** ER_CANNOT_CONVERT_STRING, ER_IMPOSSIBLE_STRING_CONVERSION: the column's character set has not all characters of the name. */
const UNWRITABLE: ReadonlySet<unknown> = new Set([3854, 3988])

export function openMysql(
  address: DatabaseAddress,
  { query, placeholder, connections, timeout }: DatabaseOptions,
): Database {
  const { host, port, user, password, database, tls } = address
  // For an address the driver would ask whether the certificate is localhost's.
  if (tls?.verify && isIP(host) !== 0) {
    throw new Error('accounts.url: a verified connection to MySQL needs a host name, not an address')
  }
  const places = placesOf(placeholder)
  const names = query.match(places)?.length ?? 0
  const text = query.replace(places, '?')
  const prepared = new WeakSet<object>()
  const pool = createPool({
    host,
    port,
    user,
    password,
    database,
    ...(tls !== null && {
      ssl: { rejectUnauthorized: tls.verify, verifyIdentity: tls.verify, ...(tls.ca !== undefined && { ca: tls.ca }) },
    }),
    connectionLimit: connections,
    connectTimeout: timeout,
    maxIdle: connections,
    idleTimeout: IDLE_TIMEOUT,
    // The server may not ask for files of ours.
    flags: ['-LOCAL_FILES'],
    rowsAsArray: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    disableEval: true,
  })

  /**
   * A new connection must become read-only before its first query. A placeholder within quotes is not a placeholder,
   * and the server would then answer for whatever name: it does not mind a parameter too many.
   */
  async function prepare(connection: PoolConnection): Promise<void> {
    if (prepared.has(connection.connection)) return
    // The pool listens once; a second error without a listener would end the process.
    connection.connection.on('error', () => undefined)
    await connection.query('SET SESSION TRANSACTION READ ONLY')
    // MariaDB reads the first comment and counts seconds, MySQL the second and counts milliseconds.
    await connection.query(
      `SET autocommit = 1 /*M!100100 , SESSION max_statement_time = ${timeout / 1000} */ /*!50708 , SESSION max_execution_time = ${timeout} */`,
    )
    const { statement } = (await connection.prepare(text)) as unknown as { statement: { parameters: unknown[] } }
    if (statement.parameters.length !== names) throw new Error('a placeholder stands in quotes or in a comment')
    prepared.add(connection.connection)
  }

  return {
    async ask(username, signal) {
      const connection = await pool.getConnection()
      if (signal.aborted) {
        connection.release()
        throw signal.reason
      }
      const giveUp = () => connection.destroy()
      signal.addEventListener('abort', giveUp, { once: true })
      try {
        await prepare(connection)
        const [rows, fields] = (await connection.execute(text, Array(names).fill(username))) as [
          unknown[][],
          FieldPacket[],
        ]
        connection.release()
        return { columns: fields.map(({ name }) => name), rows }
      } catch (fault) {
        connection.destroy()
        throw fault
      } finally {
        signal.removeEventListener('abort', giveUp)
      }
    },
    isUnwritable: fault => UNWRITABLE.has((fault as { errno?: unknown }).errno),
    close: () => pool.end(),
  }
}
