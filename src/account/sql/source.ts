import { Refusal, Unavailable } from '../../base/refusal.ts'
import { createTaskQueue } from '../../base/task-queue.ts'
import { type DatabaseAddress, readDatabaseAddress } from '../../settings/database-address.ts'
import { ACCOUNT_FIELDS, RIGHTS_FIELDS, readAccount, readRights } from '../answered-account.ts'
import type { HashSource, HashUpdates } from '../hash-accounts.ts'
import type { Updatable } from '../source.ts'
import { type Database, type DatabaseOptions, type Placeholder, placesOf, type Values } from './database.ts'

export interface SqlAccountsSettings {
  kind: 'sql'
  /** With user and password. */
  url: string
  query: string
  rights_query?: string
  /** The statements that store changes, as far as the gateway may store any. */
  update?: { password?: string; second_factor?: string }
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
  const { url, query, rights_query, update = {}, timeout, pool } = settings
  const address = readDatabaseAddress(url)
  const open = await driverOf(address.kind)
  const statements: Statement[] = []
  const opened = (statement: string | undefined, placeholders: Placeholder[], writes = false): Statement | null => {
    if (statement === undefined) return null
    const options = { statement, placeholders, writes, connections: pool, timeout }
    statements.push(createStatement(open(address, options), options))
    return statements.at(-1)!
  }
  const accounts = opened(query, [':username'])!
  const rights = opened(rights_query, [':id'])
  const password = opened(update.password, [':password', ':id', ...compared(update.password, ':password_before')], true)
  const secondFactor = opened(
    update.second_factor,
    [':second_factor', ':id', ...compared(update.second_factor, ':second_factor_before')],
    true,
  )
  const expected = secondFactor === null ? ACCOUNT_FIELDS : [...ACCOUNT_FIELDS, 'second_factor']

  return {
    ...updatesOf(password, secondFactor),
    async find(username) {
      return accounts.ask({ ':username': username }, expected, fields => readAccount(fields, 'sql'))
    },
    async findRights(id) {
      if (rights === null) throw new Error('accounts.rights_query is missing; the configuration was not checked')
      return rights.ask({ ':id': id }, RIGHTS_FIELDS, fields => readRights(id, fields))
    },
    async close() {
      await Promise.all(statements.map(statement => statement.close()))
    },
  }
}

/** A statement that compares with the value before changes nothing if another one has been stored since. */
const compared = (statement: string | undefined, before: Placeholder): Placeholder[] =>
  placesOf([before]).test(statement ?? '') ? [before] : []

/** Nothing of it, where no statement says how a change is stored. */
function updatesOf(password: Statement | null, secondFactor: Statement | null): Pick<HashSource, 'updates'> {
  const stored = { password, 'second-factor': secondFactor }
  const can = (Object.keys(stored) as Updatable[]).filter(name => stored[name] !== null)
  if (can.length === 0) return {}
  const change = async (statement: Statement | null, values: Values): Promise<boolean> => {
    if (statement === null) throw new Error('accounts.update has no statement for this change')
    return statement.change(values)
  }
  const updates: HashUpdates = {
    can: new Set(can),
    setPassword: (id, { hash, before = null }) =>
      change(password, { ':password': hash, ':id': id, ':password_before': before }),
    setSecondFactor: (id, sealed, expected) =>
      change(secondFactor, { ':second_factor': sealed, ':id': id, ':second_factor_before': expected }),
    async check() {
      await Promise.all([password?.check(), secondFactor?.check()])
    },
  }
  return { updates }
}

type Fields = readonly (readonly [name: string, value: unknown])[]
type Statement = ReturnType<typeof createStatement>

/** One statement, with connections of its own. */
function createStatement(database: Database, { connections, timeout }: DatabaseOptions) {
  const enqueue = createTaskQueue(connections, WAITING)

  /**
   * The time limit covers waiting, connecting and answering together. A turn ends in time whatever the driver does, and
   * those who wait for it came later: so nothing waits beyond its own limit.
   */
  async function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = AbortSignal.timeout(timeout)
    return enqueue(async () => {
      const late = () => new Error(`no answer within ${timeout} ms`)
      if (signal.aborted) throw late()
      const tooLate = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(late()), { once: true })
      })
      return Promise.race([work(signal), tooLate])
    })
  }

  async function orUnavailable<T>(values: Values, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (fault) {
      if (fault instanceof Refusal) throw fault
      throw new Unavailable('the database of the accounts', withoutValues(fault, values))
    }
  }

  return {
    /** The only row of the answer, or `null` without one. The answer has all of the `expected` columns, also without a row. */
    ask: <T>(values: Values, expected: readonly string[], read: (fields: Fields) => T): Promise<T | null> =>
      orUnavailable(values, async () => {
        const answer = await inTime(signal => database.ask(values, signal)).catch(fault => {
          if (database.isUnwritable(fault)) return null
          throw fault
        })
        if (answer === null) return null
        const { columns, rows } = answer
        const missing = expected.find(name => !columns.some(column => column.toLowerCase() === name))
        if (missing !== undefined) throw new Error(`the query returns no column "${missing}"`)
        if (rows.length === 0) return null
        if (rows.length > 1) throw new Error(`the query returns ${rows.length} rows for one name`)
        return read(columns.map((name, index) => [name, rows[0]![index]]))
      }),
    /** `false` if the statement finds no account to change. */
    change: (values: Values): Promise<boolean> =>
      orUnavailable(values, async () => (await inTime(signal => database.change(values, signal))) > 0),
    check: (): Promise<void> => orUnavailable({}, () => inTime(signal => database.check(signal))),
    close: () => database.close(),
  }
}

/** Only the driver that is needed is loaded. */
const driverOf = async (kind: DatabaseAddress['kind']) =>
  kind === 'postgres' ? (await import('./postgres.ts')).openPostgres : (await import('./mysql.ts')).openMysql

/** SQLSTATE class of faults in values, whose messages quote them. */
const DATA_FAULT = '22'

/**
 * A fault without the values of the statement: users sometimes type their password as their name, and hashes are secrets. The
 * driver's own error is dropped too.
 */
function withoutValues(fault: unknown, values: Values): Error {
  const { message, code, sqlState } = fault as { message: string; code?: unknown; sqlState?: unknown }
  const quotes = [code, sqlState].some(state => String(state).startsWith(DATA_FAULT))
  const isTold = Object.values(values).some(value => value !== null && message.includes(value!.slice(0, 8)))
  const shown = quotes || isTold ? 'a fault whose message quotes a value' : message
  return new Error(typeof code === 'string' ? `${code}: ${shown}` : shown)
}
