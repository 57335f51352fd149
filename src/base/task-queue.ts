import { Refusal } from './refusal.ts'

/** Runs a task when its turn comes. Refuses with `BUSY` if too many wait. */
export type TaskQueue = <T>(work: () => Promise<T>) => Promise<T>

/** Runs `atOnce` tasks at a time, first come, first served; `waiting` more may wait. */
export function createTaskQueue(atOnce: number, waiting: number): TaskQueue {
  const line: (() => void)[] = []
  let running = 0

  async function begin(): Promise<void> {
    if (running < atOnce) {
      running += 1
      return
    }
    if (line.length >= waiting) throw new Refusal('BUSY', { retryAfter: 1 })
    // A finished task passes its turn on directly, so a newcomer cannot take it.
    await new Promise<void>(resolve => line.push(resolve))
  }

  function end(): void {
    const next = line.shift()
    if (next === undefined) running -= 1
    else next()
  }

  return async work => {
    await begin()
    try {
      return await work()
    } finally {
      end()
    }
  }
}
