import { type Clock, secondsUntil } from '../base/clock.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { LoginType } from '../session/sides.ts'
import { NONE } from '../side/input.ts'
import type { Side } from '../side/side.ts'
import type { OnlineUsers } from '../store/online.ts'
import type { SessionStore } from '../store/store.ts'
import type { Page } from './online-users.ts'

export interface DisableState {
  is_disable: boolean
  /** Seconds for which the login id stays disabled; -1 when it is not. */
  disable_time: number
}

/** A disabled login id in a list; `null` where the disable has no end. */
export interface DisabledId {
  user_id: string
  type: LoginType
  until: string | null
  /** In seconds. */
  disable_time: number | null
}

export interface DisabledOptions {
  sides: Readonly<Record<LoginType, Pick<Side, 'getDisableTime'>>>
  sessions: Pick<SessionStore, 'disabledUntil'>
  online: Pick<OnlineUsers, 'disabled'>
  clock: Clock
  timestamps: TimestampFormat
}

/** Which login ids are disabled. */
export function createDisabled({ sides, sessions, online, clock, timestamps }: DisabledOptions) {
  return {
    /** Whether logins of an id are refused: also by a lock after failed ones. */
    async disabled(type: LoginType, userId: string): Promise<DisableState> {
      const seconds = await sides[type].getDisableTime(userId)
      return { is_disable: seconds !== NONE, disable_time: seconds }
    },

    /** One page of the disabled login ids, those first that are enabled next. One that was enabled just now is not on it. */
    async disabledPage(type: LoginType, { page, size }: { page: number; size: number }): Promise<Page<DisabledId>> {
      const { total, userIds } = await online.disabled(type, { offset: (page - 1) * size, limit: size })
      const ends = await Promise.all(userIds.map(userId => sessions.disabledUntil(type, userId)))
      const records = userIds.flatMap((user_id, i) => {
        const until = ends[i] ?? null
        if (until === null) return []
        const isEndless = until === Number.POSITIVE_INFINITY
        return [
          {
            user_id,
            type,
            until: isEndless ? null : timestamps.write(until),
            disable_time: isEndless ? null : secondsUntil(until, clock.now()),
          },
        ]
      })
      return { records, total, page, size, pages: Math.ceil(total / size) }
    },
  }
}
