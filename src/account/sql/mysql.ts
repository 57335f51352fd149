import { createPool, type FieldPacket, type Pool, type PoolConnection, type ResultSetHeader } from 'mysql2/promise'
import type { DatabaseAddress } from '../../settings/database-address.ts'
import { parametersOf } from '../../workarounds/mysql2-parameters.ts'
import {
  type Database,
  type DatabaseOptions,
  IDLE_TIMEOUT,
  type Placeholder,
  placesOf,
  TOO_MANY_ROWS,
  type Values,
} from './database.ts'

/** ER_CANNOT_CONVERT_STRING, ER_IMPOSSIBLE_STRING_CONVERSION: the column's character set has not all characters of the name. */
const UNWRITABLE: ReadonlySet<unknown> = new Set([3854, 3988])

export function openMysql(address: DatabaseAddress, options: DatabaseOptions): Database {
  const { statement, placeholders } = options
  const places = placesOf(placeholders)
  const names = (statement.match(places) ?? []) as Placeholder[]
  const text = statement.replace(places, '?')
  const pool = openPool(address, options)
  const withConnection = createConnections(pool, text, names.length, options)
  const parametersOf = (values: Values) => names.map(name => values[name] ?? null)

  return {
    ask: (values, signal) =>
      withConnection(signal, async connection => {
        const [rows, fields] = await connection.execute(text, parametersOf(values))
        return { columns: (fields as FieldPacket[]).map(({ name }) => name), rows: rows as unknown as unknown[][] }
      }),
    change: (values, signal) =>
      withConnection(signal, async connection => {
        await connection.query('START TRANSACTION')
        // Of rows that are found, also if they do not change.
        const [{ affectedRows }] = (await connection.execute(text, parametersOf(values))) as [ResultSetHeader, unknown]
        // The connection is closed then, which undoes it.
        if (affectedRows > 1) throw new Error(TOO_MANY_ROWS)
        await connection.query('COMMIT')
        return affectedRows
      }),
    // Every connection is prepared before its first use: the server then checks the statement and the rights for it.
    check: signal => withConnection(signal, async () => undefined),
    isUnwritable: fault => UNWRITABLE.has((fault as { errno?: unknown }).errno),
    // A connection that is being made when it is closed may fail only then: its work has failed before.
    close: () => pool.end().catch(() => undefined),
  }
}

/** Runs work on a connection of the pool, which is closed if the work fails. */
function createConnections(pool: Pool, text: string, places: number, options: DatabaseOptions) {
  const prepared = new WeakSet<object>()

  /**
   * A new connection has to be restricted before its first query. A placeholder within quotes is not one, and the server
   * would then answer for any value: it accepts a parameter too many.
   */
  async function prepare(connection: PoolConnection): Promise<void> {
    if (prepared.has(connection.connection)) return
    // The pool listens once; a second error without a listener would end the process.
    connection.connection.on('error', () => undefined)
    await restrict(connection, options)
    if (parametersOf(await connection.prepare(text)) !== places)
      throw new Error('a placeholder stands in quotes or in a comment')
    prepared.add(connection.connection)
  }

  return async <T>(signal: AbortSignal, work: (connection: PoolConnection) => Promise<T>): Promise<T> => {
    const connection = await pool.getConnection()
    if (signal.aborted) {
      connection.release()
      throw signal.reason
    }
    const giveUp = () => connection.destroy()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      await prepare(connection)
      const answer = await work(connection)
      connection.release()
      return answer
    } catch (fault) {
      connection.destroy()
      throw fault
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }
}

function openPool({ host, port, user, password, database, tls }: DatabaseAddress, options: DatabaseOptions): Pool {
  const { connections, timeout } = options
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

/** Gives each statement of a connection a time limit, and makes the connection read only unless it writes. */
async function restrict(connection: PoolConnection, { timeout, writes }: DatabaseOptions): Promise<void> {
  if (!writes) await connection.query('SET SESSION TRANSACTION READ ONLY')
  // MariaDB reads the first comment and counts seconds, MySQL the second and counts milliseconds. The last is in seconds.
  await connection.query(
    `SET autocommit = 1 /*M!100100 , SESSION max_statement_time = ${timeout / 1000} */ /*!50708 , SESSION max_execution_time = ${timeout} */ , SESSION innodb_lock_wait_timeout = ${Math.ceil(timeout / 1000)}`,
  )
}
