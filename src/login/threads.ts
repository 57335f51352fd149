import { availableParallelism } from 'node:os'
import type { Piscina } from 'piscina'
import type { Logger } from '../log.ts'
import { Refusal } from '../refusal.ts'
import { createTurns } from '../turns.ts'

/** The work of a login that would block the event loop; `thread.ts` does it. */
export interface ThreadWork {
  decrypt(task: { ciphertext: string; privateKey: string }): string | null
  draw(task: { text: string }): string
  compare(task: { password: string; hash: string; decoys: readonly string[] }): boolean
}

/** A few worker threads with a short queue: beyond it the answer is `BUSY` rather than a long wait. */
export interface Threads {
  decrypt(ciphertext: string, privateKey: string): Promise<string | null>
  draw(text: string): Promise<string>
  /** If the password does not match, it is also compared with the decoys, so that every failure costs the same time. */
  compare(password: string, hash: string, decoys?: readonly string[]): Promise<boolean>
  /** Ends the threads and drops tasks in progress. */
  close(): Promise<void>
}

/** On one core, two logins at a time end no sooner than one after the other. */
const MAX_THREADS = Math.min(2, availableParallelism())
const MAX_WAITING = 64
/**
 * Pictures are drawn one at a time and wait outside of the threads' queue. Requests for pictures cost a client nothing.
 * A flood of them still leaves the other thread and the whole queue to logins, each of which has answered a captcha.
 */
const DRAWN_AT_ONCE = 1
const MAX_PICTURES_WAITING = 32
/** Milliseconds; an idle thread holds about 15 MB. */
const IDLE_TIMEOUT = 60_000

/** The sources run as .ts in tests and as .js in dist. */
const THREAD = new URL(`./thread${import.meta.url.slice(-3)}`, import.meta.url).href

/** The first task loads the pool and starts the first thread, so that the gateway starts faster. */
export function createThreads(log: Logger): Threads {
  const inTurn = createTurns(DRAWN_AT_ONCE, MAX_PICTURES_WAITING)
  let pool: Promise<Piscina> | null = null
  let closed = false

  async function open(): Promise<Piscina> {
    const { Piscina } = await import('piscina')
    const opened = new Piscina({
      filename: THREAD,
      minThreads: 0,
      maxThreads: MAX_THREADS,
      idleTimeout: IDLE_TIMEOUT,
      // A thread that blocks until its next task never runs its event loop, which frees the memory of pictures: forty
      // kilobytes each, as long as there is always another one to draw.
      atomics: 'disabled',
    })
    const opening = pool
    opened.on('error', err => {
      log.error({ err }, 'a login thread failed')
      // If a thread cannot start, its tasks would wait for ever: they fail now, and the next task starts a new thread.
      if (pool === opening) pool = null
      void opened.destroy()
    })
    return opened
  }

  async function run<K extends keyof ThreadWork>(
    name: K,
    task: Parameters<ThreadWork[K]>[0],
  ): Promise<ReturnType<ThreadWork[K]>> {
    if (closed) throw new Error('the login threads are closed')
    pool ??= open()
    const opened = await pool
    if (opened.queueSize >= MAX_WAITING) throw new Refusal('BUSY', { retryAfter: 1 })
    return opened.run(task, { name })
  }

  return {
    decrypt: (ciphertext, privateKey) => run('decrypt', { ciphertext, privateKey }),
    draw: text => inTurn(() => run('draw', { text })),
    compare: (password, hash, decoys = []) => run('compare', { password, hash, decoys }),
    async close() {
      closed = true
      await (await pool)?.destroy()
    },
  }
}
