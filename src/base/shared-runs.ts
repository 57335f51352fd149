/** Runs something for a key. A call during a run waits for the next run, together with all other calls of that time. */
export type SharedRuns<T> = (key: string, cause: T) => Promise<void>

/**
 * Runs `run` once at a time for each key. A run that begins after a call sees all that was done before the call. So one run is
 * enough for any number of calls, and gets the `cause` of the first.
 */
export function createSharedRuns<T>(run: (key: string, cause: T) => Promise<void>): SharedRuns<T> {
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()

  function begin(key: string, cause: T): Promise<void> {
    const begun = run(key, cause).finally(() => running.delete(key))
    running.set(key, begun)
    return begun
  }

  return (key, cause) => {
    const shared = waiting.get(key)
    if (shared !== undefined) return shared
    const current = running.get(key)
    if (current === undefined) return begin(key, cause)
    const next = () => {
      waiting.delete(key)
      return begin(key, cause)
    }
    // A run that fails has failed for its own calls alone.
    const following = current.then(next, next)
    waiting.set(key, following)
    return following
  }
}
