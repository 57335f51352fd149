import { setTimeout as pause } from 'node:timers/promises'
import { DAY } from '../../src/base/clock.ts'

/** In milliseconds, far more than anything takes on a busy machine: only a fault reaches it. Also for the time limit of a store. */
export const PATIENCE = 300_000

/** Between two looks, in milliseconds: a part of the wait so far, so that a long one takes little CPU from what it waits for. */
const PAUSE = { least: 5, part: 0.05, most: 100 }

/** Waits until `look` finds something, and answers that. Throws when it has not happened within the limit. */
export async function until<T>(look: () => T | Promise<T>): Promise<Exclude<T, false | null | undefined>> {
  const began = performance.now()
  for (;;) {
    const found = await look()
    if (found) return found as Exclude<T, false | null | undefined>
    const waited = performance.now() - began
    if (waited > PATIENCE) throw new Error(`it did not happen: ${look}`)
    await pause(Math.min(PAUSE.most, Math.max(PAUSE.least, waited * PAUSE.part)))
  }
}

/** For a test that compares counts of one day: where the day ends (UTC) within a minute, waits for the next one. */
export const inOneDay = (): Promise<true> => until(() => DAY - (Date.now() % DAY) > 60_000)
