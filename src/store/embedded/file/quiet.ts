import type { RootDatabase } from 'lmdb'

/** What the native part reports when a batch of changes was committed, or asks for their next step: no faults. */
const NO_FAULTS = new Set([0, 1, 2])

/** The native environment of lmdb 3.5.6; its types leave it out. */
interface Environment {
  info(): { lastTxnId: number }
  startWriting(address: number, done: (status: number) => unknown): void
}

/**
 * Keeps the faults of commits off standard error. For each, `write.js` of lmdb calls `console.error`, in the callback of
 * `startWriting` and with a status that is a fault; the same error then rejects `commitError`, by which the store reports it.
 * Only during that callback, which runs no code of others, `console.error` does nothing. What the native part itself prints
 * ("Write error") cannot be caught in the process.
 */
export function keepQuiet(root: RootDatabase): void {
  const { env } = root as unknown as { env: Environment }
  const startWriting = env.startWriting.bind(env)
  const quiet: Environment['startWriting'] = (address, done) =>
    startWriting(address, status => (NO_FAULTS.has(status) ? done(status) : withoutConsole(() => done(status))))
  // The native class makes its methods read-only.
  Object.defineProperty(env, 'startWriting', { value: quiet })
}

/** The number of the last commit of the file, by whichever process. One that changes nothing gets none. */
export const lastCommitOf = (root: RootDatabase): number =>
  (root as unknown as { env: Environment }).env.info().lastTxnId

function withoutConsole<T>(work: () => T): T {
  const { error } = console
  console.error = () => undefined
  try {
    return work()
  } finally {
    console.error = error
  }
}
