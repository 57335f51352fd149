import type { RootDatabase } from 'lmdb'

/*
 * Seen in: lmdb 3.5.6. The number of the last commit is known to the native environment, which the types leave out. The
 * documented `getStats()` returns it without a type, and reads the list of free pages for it.
 * Upstream: no issue is known.
 * Without it: a store that could not write cannot tell when it can again, since a transaction that changes nothing succeeds.
 * Until: lmdb has a documented function for it alone.
 */

/** The number of the last commit of the file, by whichever process. One that changes nothing gets none. */
export const lastCommitOf = (root: RootDatabase): number =>
  (root as unknown as { env: { info(): { lastTxnId: number } } }).env.info().lastTxnId
