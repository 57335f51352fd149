/** A placeholder of a value in an operator's statement. */
export type Placeholder =
  | ':username'
  | ':id'
  | ':password'
  | ':password_before'
  | ':second_factor'
  | ':second_factor_before'

/** The value of each placeholder of a statement. Values are sent beside the text, and never become part of it. */
export type Values = Readonly<Partial<Record<Placeholder, string | null>>>

/** Every place in a statement where a value goes. */
export const placesOf = (placeholders: readonly Placeholder[]): RegExp =>
  new RegExp(`(?:${placeholders.join('|')})(?![A-Za-z0-9_])`, 'g')

/** The result of a query, column by column: two columns may have one name. */
export interface Rows {
  columns: readonly string[]
  rows: readonly (readonly unknown[])[]
}

/**
 * One statement of the operator in one kind of database. It connects with the first use. When `signal` aborts, its connection
 * is closed and the work fails.
 */
export interface Database {
  /** Runs the statement read only. */
  ask(values: Values, signal: AbortSignal): Promise<Rows>
  /** Runs a statement that changes rows, and answers how many. It is undone, and fails, if there are several. */
  change(values: Values, signal: AbortSignal): Promise<number>
  /** Fails if the server does not accept the statement that `change` runs: its tables, its columns, its rights. Runs nothing. */
  check(signal: AbortSignal): Promise<void>
  /** Whether a fault of `ask` says that the database cannot represent this value: then it has no such account. */
  isUnwritable(fault: unknown): boolean
  close(): Promise<void>
}

export interface DatabaseOptions {
  statement: string
  placeholders: readonly Placeholder[]
  /** Whether the statement is one that `change` runs; otherwise its connections are read only. */
  writes: boolean
  connections: number
  /** Milliseconds until the server itself has to give up, and for connecting. */
  timeout: number
}

export const TOO_MANY_ROWS = 'the statement changes more than one account; nothing was changed'

/** Milliseconds after which an unused connection is closed. */
export const IDLE_TIMEOUT = 30_000
