import type { RootDatabase } from 'lmdb'

/*
 * Seen in: lmdb 3.5.6. For each fault of a commit, its `write.js` calls `console.error`, in the callback of the native
 * `startWriting`; the same error then rejects `commitError`, by which the store reports it.
 * Upstream: no issue is known.
 * Without it: a stack on standard error for each change while the disk is full, beside the one line of the log.
 * Until: lmdb leaves the report to the rejection.
 */

/** What the native part reports when a batch of changes was committed, or asks for their next step: no faults. */
const NO_FAULTS = new Set([0, 1, 2])

/** The native environment; the types of lmdb leave it out. */
interface Environment {
  startWriting(address: number, done: (status: number) => unknown): void
}

/**
 * Keeps the faults of commits off standard error: `console.error` does nothing during the callbacks that report one. These run
 * no code of others. What the native part itself prints ("Write error") cannot be caught in the process.
 */
export function keepQuiet(root: RootDatabase): void {
  const { env } = root as unknown as { env: Environment }
  const startWriting = env.startWriting.bind(env)
  const quiet: Environment['startWriting'] = (address, done) =>
    startWriting(address, status => (NO_FAULTS.has(status) ? done(status) : withoutConsole(() => done(status))))
  // The native class makes its methods read-only.
  Object.defineProperty(env, 'startWriting', { value: quiet })
}

function withoutConsole<T>(work: () => T): T {
  const { error } = console
  console.error = () => undefined
  try {
    return work()
  } finally {
    console.error = error
  }
}
