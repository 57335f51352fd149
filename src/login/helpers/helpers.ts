import { availableParallelism } from 'node:os'
import { within } from '../../base/deadline.ts'
import type { Logger } from '../../base/log/log.ts'
import { Unavailable } from '../../base/refusal.ts'
import { Helper } from './helper-process.ts'
import type { WorkName, WorkResult, WorkTask } from './helper-work.ts'
import { createLine, type Place } from './waiting-line.ts'

/**
 * A few processes that compute for logins. What would wait too long is refused with `BUSY` at once, and with `UNAVAILABLE` if
 * its process fails: another try may succeed.
 */
export interface Helpers {
  decrypt(ciphertext: string, privateKey: string): Promise<string | null>
  draw(text: string): Promise<string>
  /** If the password does not match, it is also compared with the decoys, so that every failure costs the same time. */
  compare(password: string, hash: string, decoys?: readonly string[]): Promise<boolean>
  /** Ends the processes and drops tasks in progress. */
  close(): Promise<void>
}

/** On one core, two logins at a time end no sooner than one after the other. */
const MAX_HELPERS = Math.min(2, availableParallelism())
/** Milliseconds; an idle helper holds about 20 MB of its own. */
const IDLE_TIMEOUT = 60_000

/**
 * Milliseconds. Users wait some seconds for a login, because one that is refused needs a new captcha. A page shows
 * nothing in place of a picture that waits; ten users who open it at once on a busy machine still get theirs.
 */
const MAX_LOGIN_WAIT = 5000
const MAX_PICTURE_WAIT = 3000
/**
 * Pictures are drawn one at a time and wait in a line of their own. Requests for pictures cost a client nothing. A
 * flood of them takes one place in the line of the logins, each of which has answered a captcha.
 */
const DRAWN_AT_ONCE = 1
/** Milliseconds, on a core of a usual server; measured values replace them. */
const DURATIONS: Readonly<Record<WorkName, number>> = { decrypt: 10, draw: 5, compare: 60 }

const PLACES: { readonly [K in WorkName]: Place<WorkName> } = {
  decrypt: { kind: 'decrypt', leadsTo: 'compare' },
  draw: { kind: 'draw' },
  compare: { kind: 'compare', continues: true },
}

/**
 * A helper gives way to everything else, so a busy core may leave it no time at all. Its task is given to the substitute
 * as well when it has taken so many times its processor time, and at least so many milliseconds; `first`, while its
 * processor time is not known, because it may still be starting.
 */
const PATIENCE = { factor: 8, least: 50, first: 250 }
const LOWEST = { niceness: 19, idle: true }
/** Beside one busy event loop it has about a quarter of the core, so that users can sign in to a loaded gateway. */
const SUBSTITUTE = { niceness: 5, idle: false }

const patienceWith = (cpu: number): number =>
  cpu === 0 ? PATIENCE.first : Math.max(PATIENCE.least, PATIENCE.factor * cpu)

/** For so many milliseconds after a task was late the next ones go to the substitute at once. */
const STARVING = 1000

/** The first task starts the first process, so that the gateway starts faster. */
export function createHelpers(log: Pick<Logger, 'error'>): Helpers {
  const now = (): number => performance.now()
  const line = createLine({ atOnce: MAX_HELPERS, maxWait: MAX_LOGIN_WAIT, durations: DURATIONS, now })
  const pictures = createLine({ atOnce: DRAWN_AT_ONCE, maxWait: MAX_PICTURE_WAIT, durations: DURATIONS, now })
  const helpers = Array.from({ length: MAX_HELPERS }, () => new Helper(LOWEST, IDLE_TIMEOUT))
  const substitute = new Helper(SUBSTITUTE, IDLE_TIMEOUT)
  let closed = false
  let starvingUntil = 0

  async function perform<K extends WorkName>(name: K, task: WorkTask<K>): Promise<WorkResult<K>> {
    if (closed) throw new Error('the login helpers are closed')
    // A helper may still be busy with a task that the substitute has done meanwhile.
    const helper = now() < starvingUntil ? undefined : helpers.find(({ isBusy }) => !isBusy)
    if (helper === undefined) return await substitute.run(name, task)
    return await within<WorkResult<K>>(patienceWith(helper.cpuOf(name)), helper.run(name, task), () => {
      starvingUntil = now() + STARVING
      return substitute.run(name, task)
    })
  }

  const run = <K extends WorkName>(name: K, task: WorkTask<K>): Promise<WorkResult<K>> =>
    line(PLACES[name], () =>
      perform(name, task).catch((err: unknown) => {
        if (!closed) log.error({ err }, 'a login helper failed')
        throw new Unavailable('a login helper failed', err)
      }),
    )

  return {
    decrypt: (ciphertext, privateKey) => run('decrypt', { ciphertext, privateKey }),
    draw: text => pictures(PLACES.draw, () => run('draw', { text })),
    compare: (password, hash, decoys = []) => run('compare', { password, hash, decoys }),
    async close() {
      closed = true
      await Promise.all([...helpers, substitute].map(helper => helper.close()))
    },
  }
}
