import { Refusal, Unavailable } from '../../refusal.ts'
import { createTurns } from '../../turns.ts'
import { readAccount, readRights } from '../answer.ts'
import type { HashSource } from '../hash-accounts.ts'
import { type DatabaseAddress, readDatabaseAddress } from './address.ts'
import type { Database, DatabaseOptions, Rows } from './database.ts'

export interface SqlAccountsSettings {
  kind: 'sql'
  /** With user and password. */
  url: string
  query: string
  rights_query?: string
  /** Milliseconds for one look-up. */
  timeout: number
  /** Connections of this process at most. */
  pool: number
  /** Milliseconds. */
  recheck: number | 'off'
}

/** Queries that wait for a connection; further ones are refused with `BUSY`. */
const WAITING = 64

/** Accounts in a table of the operator's (design: B-side login). */
export async function createSqlAccounts(settings: Omit<SqlAccountsSettings, 'recheck'>): Promise<HashSource> {
  const { url, query, rights_query, timeout, pool } = settings
  const address = readDatabaseAddress(url)
  const open = await driverOf(address.kind)
  const options = { connections: pool, timeout }
  const accounts = createLookup(open(address, { ...options, query, placeholder: ':username' }), options)
  const rights =
    rights_query === undefined
      ? null
      : createLookup(open(address, { ...options, query: rights_query, placeholder: ':id' }), options)

  return {
    async find(username) {
      return accounts.ask(username, fields => readAccount(fields, 'sql'))
    },
    async findRights(id) {
      if (rights === null) throw new Error('accounts.rights_query is missing; the configuration was not checked')
      return rights.ask(id, fields => readRights(id, fields))
    },
    async close() {
      await Promise.all([accounts.close(), rights?.close()])
    },
  }
}

type Fields = readonly (readonly [name: string, value: unknown])[]

/** One query, with connections of its own: it has one row for a value, or none. */
function createLookup(database: Database, { connections, timeout }: Omit<DatabaseOptions, 'query' | 'placeholder'>) {
  const inTurn = createTurns(connections, WAITING)

  /**
   * The time limit covers waiting, connecting and answering together. A turn ends in time whatever the driver does, and
   * those who wait for it came later: so no look-up waits beyond its own limit.
   */
  async function rowsFor(value: string): Promise<Rows> {
    const signal = AbortSignal.timeout(timeout)
    return inTurn(async () => {
      const late = () => new Error(`no answer within ${timeout} ms`)
      if (signal.aborted) throw late()
      const tooLate = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(late()), { once: true })
      })
      return Promise.race([database.ask(value, signal), tooLate])
    })
  }

  return {
    async ask<T>(value: string, read: (fields: Fields) => T): Promise<T | null> {
      try {
        const { columns, rows } = await rowsFor(value)
        if (rows.length === 0) return null
        if (rows.length > 1) throw new Error(`the query returns ${rows.length} rows for one name`)
        return read(columns.map((name, index) => [name, rows[0]![index]]))
      } catch (fault) {
        if (fault instanceof Refusal) throw fault
        if (database.isUnwritable(fault)) return null
        throw new Unavailable('the database of the accounts', withoutName(fault, value))
      }
    },
    close: () => database.close(),
  }
}

/** Only the driver that is needed is loaded. */
const driverOf = async (kind: DatabaseAddress['kind']) =>
  kind === 'postgres' ? (await import('./postgres.ts')).openPostgres : (await import('./mysql.ts')).openMysql

/** SQLSTATE class of faults in values, whose messages quote them. */
const DATA_FAULT = '22'

/**
 * A fault without the name in the query, because users sometimes type their password there. The driver's own error is
 * dropped too.
 */
function withoutName(fault: unknown, username: string): Error {
  const { message, code, sqlState } = fault as { message: string; code?: unknown; sqlState?: unknown }
  const quotes = [code, sqlState].some(state => String(state).startsWith(DATA_FAULT))
  const shown = quotes || message.includes(username.slice(0, 8)) ? 'a fault whose message quotes the name' : message
  return new Error(typeof code === 'string' ? `${code}: ${shown}` : shown)
}
