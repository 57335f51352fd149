import cluster, { type Worker } from 'node:cluster'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/*
 * The first worker starts before the program of the primary is loaded and has checked the configuration: both take as long
 * as the start of a process. A worker does nothing without an order, so it does not listen before that check.
 */

/** The program of a worker: one file beside the bundle, or the module (.ts in tests). */
const BUNDLED = fileURLToPath(new URL('../bundle/worker.cjs', import.meta.url))
const MODULE = fileURLToPath(new URL(`./worker${import.meta.url.slice(-3)}`, import.meta.url))

/** What a worker creates, and the sockets that the primary creates for it, are accessible only to the gateway's user. */
export const WORKER_UMASK = 0o077

/** Workers that are in use. */
const adopted = new WeakSet<Worker>()

/** A worker that waits for orders: the one that was started first, or a new one. */
export function workerInWaiting(): Worker {
  const worker = Object.values(cluster.workers ?? {}).find(isWaiting) ?? fork()
  adopted.add(worker)
  return worker
}

const isWaiting = (worker: Worker | undefined): worker is Worker =>
  worker !== undefined && !adopted.has(worker) && worker.isConnected() && !worker.isDead()

/** Starts a worker; returns a function that ends it if nothing uses it. */
export function startFirstWorker(): () => void {
  const before = process.umask(WORKER_UMASK)
  const worker = fork()
  process.umask(before)
  let isUsed = false
  worker.once('listening', () => {
    isUsed = true
  })
  // A worker that ends itself is not an unhandled fault; whatever uses it notices.
  worker.on('error', () => undefined)
  return () => {
    if (!isUsed) worker.process.kill('SIGKILL')
  }
}

function fork(): Worker {
  cluster.setupPrimary({ exec: existsSync(BUNDLED) ? BUNDLED : MODULE, args: [] })
  return cluster.fork()
}

/** A line of the configuration file about workers. */
const LINE = /^\s*"?workers"?\s*:\s*["']?(\w+)/m

/**
 * Whether a start with this configuration probably has workers. It is a guess, because the configuration is not checked yet:
 * a wrong one starts a process too many or too late, and changes nothing else.
 */
export function expectsWorkers(file: string, { WORKERS }: NodeJS.ProcessEnv): boolean {
  return (WORKERS ?? LINE.exec(textOf(file))?.[1]) !== '1'
}

/** A pipe is left to those who read the configuration: what is read here would be missing there. */
function textOf(file: string): string {
  try {
    return statSync(file).isFile() ? readFileSync(file, 'utf8') : ''
  } catch {
    return ''
  }
}
