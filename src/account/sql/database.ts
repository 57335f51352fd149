/** The placeholder of the value in an operator's query. */
export type Placeholder = ':username' | ':id'

/** Every place in a query where its value goes. */
export const placesOf = (placeholder: Placeholder): RegExp => new RegExp(`${placeholder}(?![A-Za-z0-9_])`, 'g')

/** The result of a query, column by column: two columns may have one name. */
export interface Rows {
  columns: readonly string[]
  rows: readonly (readonly unknown[])[]
}

/** One kind of database. It connects with the first query. */
export interface Database {
  /** Runs the query for a value, read only. When `signal` aborts, its connection is closed and the query fails. */
  ask(value: string, signal: AbortSignal): Promise<Rows>
  /** Whether a fault of `ask` says that the database cannot represent this value: then it has no such account. */
  isUnwritable(fault: unknown): boolean
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** The operator's query; `placeholder` stands for the value, which is sent beside the text and never becomes part of it. */
  query: string
  placeholder: Placeholder
  connections: number
  /** Milliseconds until the server itself has to give up, and for connecting. */
  timeout: number
}

/** Milliseconds after which an unused connection is closed. */
export const IDLE_TIMEOUT = 30_000
