import type { PreparedStatementInfo } from 'mysql2/promise'

/*
 * Seen in: mysql2 3.24.5. What the server says of the parameters of a prepared statement is in a part that the types leave out.
 * Upstream: no issue is known.
 * Without it: a placeholder in quotes or in a comment is not found before the first login, which it answers for any name.
 * Until: the types of mysql2 have it.
 */

/** How many parameters a prepared statement has. */
export const parametersOf = (prepared: PreparedStatementInfo): number =>
  (prepared as unknown as { statement: { parameters: unknown[] } }).statement.parameters.length
