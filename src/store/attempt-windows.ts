import { type Clock, endsTooLate } from '../base/clock.ts'
import type { AttemptStore, Attempts } from './store.ts'

/** Counters in windows of so many milliseconds. */
export interface AttemptWindows {
  count(name: string, window: number): Promise<Attempts>
  read(name: string, window: number): Promise<Attempts | null>
}

/**
 * Counts in windows that last no longer where the clock is set back. A store that keeps the end of a window as a time of day would
 * keep it open for as much longer, and no client of an address, or no user whose codes were wrong, could sign in.
 */
export function createAttemptWindows(
  attempts: Pick<AttemptStore, 'count' | 'read' | 'clear'>,
  clock: Clock,
): AttemptWindows {
  const isOfBefore = ({ resetsAt }: Attempts, window: number): boolean => endsTooLate(resetsAt, window, clock.now())
  return {
    async count(name, window) {
      const counted = await attempts.count(name, window)
      if (!isOfBefore(counted, window)) return counted
      await attempts.clear(name)
      return attempts.count(name, window)
    },
    async read(name, window) {
      const found = await attempts.read(name)
      return found === null || isOfBefore(found, window) ? null : found
    },
  }
}
