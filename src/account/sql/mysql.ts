import { isIP } from 'node:net'
import { createPool, type FieldPacket, type Pool, type PoolConnection } from 'mysql2/promise'
import type { DatabaseAddress } from './address.ts'
import { type Database, type DatabaseOptions, IDLE_TIMEOUT, placesOf, type Rows } from './database.ts'

/** ER_CANNOT_CONVERT_STRING, ER_IMPOSSIBLE_STRING_CONVERSION: the column's character set has not all characters of the name. */
const UNWRITABLE: ReadonlySet<unknown> = new Set([3854, 3988])

export function openMysql(address: DatabaseAddress, options: DatabaseOptions): Database {
  const pool = openPool(address, options)
  const { query, placeholder, timeout } = options
  const places = placesOf(placeholder)
  const names = query.match(places)?.length ?? 0
  const text = query.replace(places, '?')
  const prepared = new WeakSet<object>()

  /**
   * A new connection has to be made read only before its first query. A placeholder within quotes is not one, and the
   * server would then answer for any name: it accepts a parameter too many.
   */
  async function prepare(connection: PoolConnection): Promise<void> {
    if (prepared.has(connection.connection)) return
    // The pool listens once; a second error without a listener would end the process.
    connection.connection.on('error', () => undefined)
    await restrict(connection, timeout)
    const { statement } = (await connection.prepare(text)) as unknown as { statement: { parameters: unknown[] } }
    if (statement.parameters.length !== names) throw new Error('a placeholder stands in quotes or in a comment')
    prepared.add(connection.connection)
  }

  return {
    async ask(value, signal) {
      const connection = await pool.getConnection()
      if (signal.aborted) {
        connection.release()
        throw signal.reason
      }
      const giveUp = () => connection.destroy()
      signal.addEventListener('abort', giveUp, { once: true })
      try {
        await prepare(connection)
        const rows = await execute(connection, text, Array(names).fill(value))
        connection.release()
        return rows
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

function openPool({ host, port, user, password, database, tls }: DatabaseAddress, options: DatabaseOptions): Pool {
  const { connections, timeout } = options
  // For an address the driver would ask whether the certificate is localhost's.
  if (tls?.verify && isIP(host) !== 0) {
    throw new Error('accounts.url: a verified connection to MySQL needs a host name, not an address')
  }
  return createPool({
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
    // The server must not request files of ours.
    flags: ['-LOCAL_FILES'],
    rowsAsArray: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    disableEval: true,
  })
}

/** Makes a connection read only, with a time limit for each statement. */
async function restrict(connection: PoolConnection, timeout: number): Promise<void> {
  await connection.query('SET SESSION TRANSACTION READ ONLY')
  // MariaDB reads the first comment and counts seconds, MySQL the second and counts milliseconds.
  await connection.query(
    `SET autocommit = 1 /*M!100100 , SESSION max_statement_time = ${timeout / 1000} */ /*!50708 , SESSION max_execution_time = ${timeout} */`,
  )
}

async function execute(connection: PoolConnection, text: string, values: string[]): Promise<Rows> {
  const [rows, fields] = (await connection.execute(text, values)) as [unknown[][], FieldPacket[]]
  return { columns: fields.map(({ name }) => name), rows }
}
