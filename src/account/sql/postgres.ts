import pg from 'pg'
import type { DatabaseAddress } from './address.ts'
import { type Database, type DatabaseOptions, IDLE_TIMEOUT, placesOf } from './database.ts'

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

export function openPostgres(
  address: DatabaseAddress,
  { query, placeholder, connections, timeout }: DatabaseOptions,
): Database {
  const { host, port, user, password, database, tls } = address
  const text = query.replace(placesOf(placeholder), '$$1')
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

  return {
    async ask(value, signal) {
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
        // By transaction and not by session: settings of a session would stay in a pooler between us and the server.
        await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeout}`)
        const { fields, rows } = await client.query({ text, values: [value], rowMode: 'array' })
        await client.query('COMMIT')
        client.off('error', ignore)
        client.release()
        return { columns: fields.map(({ name }) => name), rows: rows as unknown[][] }
      } catch (fault) {
        client.release(true)
        throw fault
      } finally {
        signal.removeEventListener('abort', giveUp)
      }
    },
    isUnwritable: fault => UNWRITABLE.has((fault as { code?: unknown }).code),
    close: () => pool.end(),
  }
}
