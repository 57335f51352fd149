import { readdirSync, readFileSync } from 'node:fs'
import { childrenOf } from './process.ts'

/** Nanoseconds of a tick, the unit of /proc/PID/stat: Linux reports 100 a second to programs. */
const TICK = 1e7

/**
 * Processor time of a process, all its threads and children. Linux counts the time of a live thread in nanoseconds
 * (/proc/PID/task/TID/schedstat). The time of an ended thread or child is what it had when it was last read, or what
 * /proc/PID/stat counts in addition to the live ones, if that is more: that is in ticks, but it includes the ended ones.
 */
export class ProcessorMeter {
  readonly #pids: readonly number[]
  #threads: ReadonlyMap<string, number> = new Map()
  #ended = 0

  constructor(pids: readonly number[]) {
    this.#pids = pids
    this.read()
  }

  /** Nanoseconds so far. */
  read(): number {
    const processes = this.#pids.flatMap(treeOf)
    // Before the threads: so it never includes time of a live thread that the threads do not have yet.
    const coarse = processes.reduce((sum, pid) => sum + ticksOf(pid) * TICK, 0)
    const threads = new Map(processes.flatMap(threadsOf))
    for (const [thread, time] of this.#threads) if (!threads.has(thread)) this.#ended += time
    const live = [...threads.values()].reduce((sum, time) => sum + time, 0)
    this.#threads = threads
    this.#ended = Math.max(this.#ended, coarse - live)
    return live + this.#ended
  }
}

/** A process and all its descendants. */
const treeOf = (pid: number): number[] => [pid, ...(ifThere(() => childrenOf(pid)) ?? []).flatMap(treeOf)]

/** Ticks of a process with its ended threads, and of its ended children. */
function ticksOf(pid: number): number {
  const stat = ifThere(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return 0
  // Fields 14 to 17 of proc(5), counted after the name, which may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
}

/** The live threads of a process, and the nanoseconds of each. */
function threadsOf(pid: number): [thread: string, time: number][] {
  const threads = ifThere(() => readdirSync(`/proc/${pid}/task`)) ?? []
  return threads.flatMap(thread => {
    const stat = ifThere(() => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))
    return stat === null ? [] : [[thread, Number(stat.split(' ')[0])]]
  })
}

/** `null` when the process or thread has ended. */
function ifThere<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
