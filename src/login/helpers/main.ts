import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'
import { WORK } from './helper-work.ts'
import type { Answer, Task } from './message.ts'

/* The program of a helper process. It does one task at a time and ends with the gateway that started it. */

/** Linux has a priority per thread, and V8 has already started threads of its own; elsewhere it is one of the process. */
function lowerPriority(niceness: number): void {
  for (const thread of threads()) {
    try {
      setPriority(thread, niceness)
    } catch {
      // A thread that has ended meanwhile, or a system that does not allow it: the work is done all the same.
    }
  }
}

function threads(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return [process.pid]
  }
}

async function answerOf({ id, name, task }: Task): Promise<Answer> {
  const before = process.cpuUsage()
  const cpu = (): number => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  try {
    const work = WORK[name as keyof typeof WORK] as (task: unknown) => Promise<unknown>
    return { id, result: await work(task), cpu: cpu() }
  } catch (fault) {
    return { id, fault: (fault as Error).message, cpu: cpu() }
  }
}

lowerPriority(Number(process.argv[2]))
// A terminal and a service manager send these to every process of the gateway, which may still be draining. It decides
// when its helpers end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())
/** An answer that finds no gateway is lost with it: this process ends by the disconnect. */
const answer = (task: Task): Promise<unknown> =>
  answerOf(task).then(found => process.connected && process.send!(found, undefined, {}, () => undefined))
process.on('message', (task: Task) => void answer(task))
