import { readFileSync } from 'node:fs'
import { processSpace } from '../../../base/process-space.ts'

/** Which of the fields after the command's name in `/proc/PID/stat` are needed here (proc(5)). */
const STATE = 0
const THREADS = 17
const STARTED = 19

/** The space in which process ids are unique, in letters and digits. */
const SPACE = processSpace().replaceAll(/\W/g, '')

/** Names this process among all of its space since the machine was booted: process ids are used again. */
export const ownProcessName = (): string => `${process.pid}-${statusOf(process.pid)?.started ?? 0}`

/** The name of a file of this process. `nonce` is in letters and digits. */
export const ownFileName = (nonce: string): string => `${ownProcessName()}-${nonce}-${SPACE}`

/** Whether this is the file of a process in another container, of which nothing is known. */
export function isOfOtherSpace(fileName: string): boolean {
  // Without a space: of an earlier version.
  const [, , , space = SPACE] = fileName.split('-')
  return space !== SPACE
}

/** Whether a process of this space that gave this name to itself still runs. What cannot be told counts as running. */
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
