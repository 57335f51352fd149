import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/refusal.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { Origin } from '../event/event.ts'
import type { LoginType } from '../session/sides.ts'
import type { Side } from '../side/side.ts'
import type { OnlineUsers } from '../store/online.ts'
import type { SessionStore } from '../store/store.ts'
import { asToken } from '../token/bearer.ts'
import type { Jwt } from '../token/jwt.ts'
import { createDisabled } from './disabled.ts'
import { createUsers } from './online-users.ts'
import type { Locale } from './remaining-time.ts'
import { createStatistics } from './statistics.ts'
import { createTokenHandles, type TokenHandles } from './token-handles.ts'

export interface AdministrationOptions {
  sides: Readonly<Record<LoginType, Side>>
  sessions: SessionStore
  online: OnlineUsers
  jwt: Jwt
  clock: Clock
  timestamps: TimestampFormat
  locale: Locale
}

export type Administration = ReturnType<typeof createAdministration>

/** What administrators see and do ("Session administration"). Every operation names its side. */
export function createAdministration(options: AdministrationOptions) {
  const handles = createTokenHandles(options.sessions, options.jwt)
  return {
    ...createStatistics(options),
    ...createUsers({ ...options, handles }),
    ...createDisabled(options),
    ...createActions(options.sides, handles),
  }
}

function createActions(sides: AdministrationOptions['sides'], handles: TokenHandles) {
  return {
    exit: (type: LoginType, userId: string, origin: Origin): Promise<number> => sides[type].kickout(userId, origin),

    /** Ends one token of a user, given as the token itself or by its handle. */
    async exitToken(type: LoginType, userId: string, given: string, origin: Origin): Promise<void> {
      const token = asToken(given) ?? (await handles.find(type, userId, given))
      if (token === null || !(await sides[type].kickoutToken(userId, token, origin))) throw new Refusal('NO_SUCH_TOKEN')
    },

    disable: (type: LoginType, userId: string, seconds: number, origin: Origin): Promise<void> =>
      sides[type].disable(userId, seconds, origin),

    untieDisable: (type: LoginType, userId: string, origin: Origin): Promise<boolean> =>
      sides[type].untieDisable(userId, origin),
  }
}
