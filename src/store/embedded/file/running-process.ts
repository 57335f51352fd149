import { readFileSync } from 'node:fs'

/** Which of the fields after the command's name in `/proc/PID/stat` are needed here (proc(5)). */
const STATE = 0
const THREADS = 17
const STARTED = 19

/** Names this process among all since the machine was booted: process ids are used again. */
export const ownProcessName = (): string => `${process.pid}-${statusOf(process.pid)?.started ?? 0}`

/** Whether a process that gave this name to itself still runs. What cannot be told counts as running. */
export function isRunning(name: string): boolean {
  const [pid, started] = name.split('-')
  const status = statusOf(Number(pid))
  if (status !== null) return status.started === started && !status.hasEnded
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** What the kernel says of a process; `null` when it says nothing, as on systems without `/proc`. */
function statusOf(pid: number): { started: string; hasEnded: boolean } | null {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return null
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // An ended process stays listed until its parent waits for it. Its threads may still finish what they do in the kernel.
  const hasEnded = fields[STATE] === 'Z' && Number(fields[THREADS]) <= 1
  return { started: fields[STARTED] ?? '', hasEnded }
}
