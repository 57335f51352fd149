import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/refusal.ts'
import type { LoginType } from '../session/sides.ts'
import type { AttemptStore } from '../store/store.ts'

/** How often the lock is requested, and for how long, in milliseconds. */
const ASK_AGAIN = 25
const MAX_WAIT = 5000
/** How long the lock of a worker lasts that was killed, in milliseconds: as long as a password may take to be verified, and more. */
const MAX_HELD = 30_000

export interface OwnerLockOptions {
  type: LoginType
  attempts: Pick<AttemptStore, 'begin' | 'end'>
  clock: Clock
}

/** Does the work of an owner when no other is under way, in any process. Refuses with `BUSY` where that lasts. */
export type OwnerLock = <T>(owner: string, work: () => Promise<T>) => Promise<T>

/**
 * A change of a password takes the keys along that are there, and a new key carries the version of the account that its maker has
 * proved: one made in between would be valid with no account.
 */
export function createOwnerLock({ type, attempts, clock }: OwnerLockOptions): OwnerLock {
  return async (owner, work) => {
    const [name, id, since] = [`keys-of:${type}:${owner}`, randomUUID(), clock.elapsed()]
    while ((await attempts.begin(name, id, MAX_HELD, 1)) === null) {
      if (clock.elapsed() - since > MAX_WAIT) throw new Refusal('BUSY')
      await pause(ASK_AGAIN)
    }
    try {
      return await work()
    } finally {
      // What is not ended in a failing store ends by itself.
      await attempts.end(name, id).catch(() => undefined)
    }
  }
}
