import pg from 'pg'
import type { DatabaseAddress } from './address.ts'
import { placesOf } from './placeholder.ts'
import type { Database, DatabaseOptions } from './source.ts'

/** Milliseconds after which an unused connection is closed. */
const IDLE_TIMEOUT = 30_000

const ignore = () => undefined

/** Types that arrive as values of JavaScript; all others, 64-bit numbers and times among them, stay the text of the server. */
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

/** A character that the database's encoding has not, or that no text can hold. */
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
  // An idle connection broke; the pool has dropped it, and the next question opens another.
  pool.on('error', ignore)

  return {
    async ask(username, signal) {
      const client = await pool.connect()
      if (signal.aborted) {
        client.release()
        throw signal.reason
      }
      // The pool does not listen to a connection that it gave away; its question fails by itself when it breaks.
      client.on('error', ignore)
      const giveUp = () => void client.end()
      signal.addEventListener('abort', giveUp, { once: true })
      try {
        // By transaction and not by session: what a session sets would stay behind in a pooler between us and the server.
        await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeout}`)
        const { fields, rows } = await client.query({ text, values: [username], rowMode: 'array' })
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
