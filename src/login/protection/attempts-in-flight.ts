import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../../base/refusal.ts'
import type { Origin } from '../../event/event.ts'
import { countersOf, type Failures, type LockoutOptions, type Locks, type Subject } from './lockout-counters.ts'

/**
 * How often an attempt asks whether it can be verified, and for how long, in milliseconds: while as many are being verified
 * in other processes as could lock the name.
 */
const ASK_AGAIN = 25
const MAX_WAIT = 5000
/**
 * How long a verification may take, in milliseconds: twice the longest wait for a helper process (`helpers/helpers.ts`) and the
 * work of an expensive hash. A later result is not answered.
 */
const MAX_VERIFICATION = 20_000
/**
 * How long an unfinished attempt counts, whose worker was killed, in milliseconds: as long as a verification may take, and its
 * failure to be counted in a slow store.
 */
const UNDER_WAY = 30_000

/** An attempt that others count until it ends. */
interface Begun {
  /** Throws `BUSY` if its verification has taken so long that others may not count it any more. */
  checkInTime(): void
  end(): Promise<void>
}

/**
 * The attempts under way: with the failures, never more than would lock the name. A failure is counted before its attempt ends,
 * and who begins reads the failures after that: so it finds every earlier attempt under way, or as a failure, or as both.
 */
export function createAttemptsInFlight(
  { side, attempts, settings, clock }: LockoutOptions,
  failures: Pick<Failures, 'read'>,
  { check, lock }: Locks,
) {
  const { underWayOf } = countersOf(side.type)

  /** `null` if the attempts before it could lock the name. */
  async function tryBegin(subject: Subject, origin: Origin): Promise<Begun | null> {
    const [name, id, since] = [underWayOf(subject), randomUUID(), clock.elapsed()]
    const underWay = await attempts.begin(name, id, UNDER_WAY, settings.failures)
    if (underWay === null) return null
    // What is not ended in a failing store ends by itself.
    const end = () => attempts.end(name, id).catch(() => undefined)
    try {
      const isFirst = underWay + (await failures.read(subject)) <= settings.failures
      // A lock that came meanwhile has cleared the failures.
      await check(subject, origin)
      if (isFirst) return { end, checkInTime: () => checkInTime(since) }
    } catch (fault) {
      await end()
      throw fault
    }
    await end()
    return null
  }

  function checkInTime(since: number): void {
    if (clock.elapsed() - since > MAX_VERIFICATION) throw new Refusal('BUSY')
  }

  /** Begins an attempt. Others under way may still be right, so it waits for them, and locks nothing while they may. */
  return async (subject: Subject, origin: Origin): Promise<Begun> => {
    const began = clock.elapsed()
    for (;;) {
      await check(subject, origin)
      const begun = await tryBegin(subject, origin)
      if (begun !== null) return begun
      if (clock.elapsed() - began > MAX_WAIT) {
        // The worker that was to lock the name is gone.
        if ((await failures.read(subject)) >= settings.failures) await lock(subject, origin)
        await check(subject, origin)
        throw new Refusal('BUSY')
      }
      await pause(ASK_AGAIN)
    }
  }
}
