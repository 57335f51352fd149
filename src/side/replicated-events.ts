import type { Publish, SessionEvent } from '../event/event.ts'
import type { LoginType } from '../session/sides.ts'

/** Whether replicas of the store have every change that was made before; absent where this is not checked. */
export type IsReplicated = () => Promise<boolean>

/** Publishes changes that must not be lost, once replicas have them; an event says where this is not proven. */
export function createConfirmed(type: LoginType, publish: Publish, isReplicated?: IsReplicated) {
  return async (...events: readonly Omit<SessionEvent, 'type'>[]): Promise<void> => {
    if (events.length === 0) return
    const isMissed = isReplicated !== undefined && !(await isReplicated())
    for (const event of events) publish({ ...event, type, ...(isMissed && { replicated: false }) })
  }
}

export type Confirmed = ReturnType<typeof createConfirmed>
