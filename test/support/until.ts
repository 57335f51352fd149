import { setTimeout as pause } from 'node:timers/promises'

/** In milliseconds, far more than anything takes on a busy machine: only a fault reaches it. Also for the time limit of a store. */
export const PATIENCE = 300_000

/** Waits until `look` finds something, and answers that. Throws when it has not happened within the limit. */
export async function until<T>(look: () => T | Promise<T>): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + PATIENCE
  for (;;) {
    const found = await look()
    if (found) return found as Exclude<T, false | null | undefined>
    if (performance.now() > end) throw new Error(`it did not happen: ${look}`)
    await pause(5)
  }
}
