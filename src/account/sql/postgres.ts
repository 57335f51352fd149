import pg from 'pg'
import type { DatabaseAddress } from '../../settings/database-address.ts'
import { type Database, type DatabaseOptions, IDLE_TIMEOUT, placesOf, TOO_MANY_ROWS } from './database.ts'

const ignore = () => undefined

/** Types that become values of JavaScript; all others, such as 64-bit numbers and times, stay the text of the server. */
const READ_TYPES: ReadonlySet<number> = new Set([
  16, // boolean
  21, // smallint
  23, // integer
  17, // bytea
  114, // json
  3802, // jsonb
  1009, // text[]
  1015, // varchar[]
])

/** A character that the database's encoding does not have, or that no text can hold. */
const UNWRITABLE: ReadonlySet<unknown> = new Set(['22021', '22P05'])

export function openPostgres(address: DatabaseAddress, options: DatabaseOptions): Database {
  const { statement, placeholders, timeout } = options
  // In the order of the placeholders: a value that occurs twice is one parameter.
  const text = statement.replace(placesOf(placeholders), name => `$${placeholders.indexOf(name as never) + 1}`)
  const pool = openPool(address, options)
  const withClient = createClients(pool)
  // By transaction and not by session: settings of a session would stay in a pooler between us and the server.
  const begin = (mode: 'ONLY' | 'WRITE'): string => `BEGIN READ ${mode}; SET LOCAL statement_timeout = ${timeout}`

  return {
    ask: (values, signal) =>
      withClient(signal, async client => {
        await client.query(begin('ONLY'))
        const parameters = placeholders.map(name => values[name])
        const { fields, rows } = await client.query({ text, values: parameters, rowMode: 'array' })
        await client.query('COMMIT')
        return { columns: fields.map(({ name }) => name), rows: rows as unknown[][] }
      }),
    change: (values, signal) =>
      withClient(signal, async client => {
        await client.query(begin('WRITE'))
        const { rowCount } = await client.query({ text, values: placeholders.map(name => values[name]) })
        // The connection is closed then, which undoes it.
        if ((rowCount ?? 0) > 1) throw new Error(TOO_MANY_ROWS)
        await client.query('COMMIT')
        return rowCount ?? 0
      }),
    check: signal =>
      withClient(signal, async client => {
        await client.query(begin('ONLY'))
        await client.query(`PREPARE dualgate_check AS ${text}`)
        // Every type has NULL. An explained statement does not run, but the rights for it are checked.
        await client.query(`EXPLAIN EXECUTE dualgate_check(${placeholders.map(() => 'NULL').join(', ')})`)
        await client.query('DEALLOCATE dualgate_check')
        await client.query('ROLLBACK')
      }),
    isUnwritable: fault => UNWRITABLE.has((fault as { code?: unknown }).code),
    close: () => pool.end(),
  }
}

function openPool(
  { host, port, user, password, database, tls }: DatabaseAddress,
  { connections, timeout }: DatabaseOptions,
): pg.Pool {
  const pool = new pg.Pool({
    host,
    port,
    user,
    password,
    database,
    ssl: tls === null ? false : { rejectUnauthorized: tls.verify, ...(tls.ca !== undefined && { ca: tls.ca }) },
    application_name: 'dualgate',
    max: connections,
    connectionTimeoutMillis: timeout,
    idleTimeoutMillis: IDLE_TIMEOUT,
    keepAlive: true,
    types: { getTypeParser: (type: number) => (READ_TYPES.has(type) ? pg.types.getTypeParser(type) : String) },
  })
  // An idle connection broke; the pool has dropped it, and the next query opens another.
  pool.on('error', ignore)
  return pool
}

/** Runs work on a connection of the pool, which is closed if the work fails. */
function createClients(pool: pg.Pool) {
  return async <T>(signal: AbortSignal, work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    const client = await pool.connect()
    if (signal.aborted) {
      client.release()
      throw signal.reason
    }
    // The pool does not listen to a connection in use; its query fails by itself when the connection breaks.
    client.on('error', ignore)
    const giveUp = () => void client.end()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      const answer = await work(client)
      client.off('error', ignore)
      client.release()
      return answer
    } catch (fault) {
      client.release(true)
      throw fault
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }
}
