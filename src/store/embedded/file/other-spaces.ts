import { readdirSync, rmSync, statSync, utimes } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../base/clock.ts'
import { isOfOtherSpace, isRunning } from './running-process.ts'

/*
 * LMDB does not hold between containers. It knows its readers by process ids, which two containers give out twice, and this
 * process cannot see whether one of another container still runs (`open-lock.ts` has to). So all processes that have an LMDB
 * file open are of one space of process ids. What is known of the others is the time of the file by which each says that it
 * has the LMDB file open: the process renews it as long as it runs.
 */

/** Milliseconds between two renewals. */
const RENEWAL = 1000
/** Milliseconds after which a file that was not renewed is void. */
const ABANDONED = 5000
/** Milliseconds between two looks at the files of others. */
const POLL = 20

/** Renews the file by which this process says that it has an LMDB file open. What cannot be renewed becomes void. */
export const keepRenewed = (path: string): NodeJS.Timeout =>
  setInterval(() => {
    const now = new Date(systemClock.now())
    utimes(path, now, now, () => undefined)
  }, RENEWAL).unref()

/**
 * Waits `wait` milliseconds until no process of another space has the LMDB file `path` open, and removes what they left. The
 * file of this process is there already, so that of two that open at the same time at least one sees the other.
 */
export async function othersEnded(path: string, openings: string, processes: string, wait: number): Promise<void> {
  const deadline = performance.now() + wait
  let others = othersIn(processes)
  while (others.some(name => isRenewed(`${processes}/${name}`))) {
    // Then the others wait, too, and must not keep this space from starting more processes.
    if (isOpenHere(processes)) return
    if (performance.now() > deadline) throw new Error(refusal(path))
    await sleep(POLL)
    others = othersIn(processes)
  }
  for (const name of others) rmSync(`${processes}/${name}`, { force: true })
  for (const name of othersIn(openings)) rmSync(`${openings}/${name}`, { force: true })
}

const othersIn = (folder: string): string[] => readdirSync(folder).filter(isOfOtherSpace)

/** A time that lies ahead was written before the clock was set back. */
function isRenewed(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && Math.abs(systemClock.now() - found.mtimeMs) < ABANDONED
}

/** Whether a process of this space has the LMDB file open; the file of one that still waits for others is empty. */
const isOpenHere = (processes: string): boolean =>
  readdirSync(processes).some(name => {
    if (isOfOtherSpace(name) || !isRunning(name)) return false
    return (statSync(`${processes}/${name}`, { throwIfNoEntry: false })?.size ?? 0) > 0
  })

const refusal = (path: string): string =>
  `a process of another container, or of another PID namespace, has ${path} open, which only one container may have: ` +
  'stop the other and start again, or set store.kind: redis'
