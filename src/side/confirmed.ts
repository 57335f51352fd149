import type { Publish, SessionEvent } from '../event/event.ts'
import type { LoginType } from '../session.ts'

/** Whether replicas of the store have everything that was changed before; absent where that is not asked. */
export type IsReplicated = () => Promise<boolean>

/** Publishes what was changed for good, once replicas have it; an event says where that is not proven. */
export function createConfirmed(type: LoginType, publish: Publish, isReplicated?: IsReplicated) {
  return async (...events: readonly Omit<SessionEvent, 'type'>[]): Promise<void> => {
    if (events.length === 0) return
    const isMissed = isReplicated !== undefined && !(await isReplicated())
    for (const event of events) publish({ ...event, type, ...(isMissed && { replicated: false }) })
  }
}

export type Confirmed = ReturnType<typeof createConfirmed>
