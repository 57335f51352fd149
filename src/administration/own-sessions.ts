import { Refusal } from '../base/refusal.ts'
import type { Origin } from '../event/event.ts'
import type { LoginType } from '../session/sides.ts'
import type { Session, Side } from '../side/side.ts'
import type { SessionStore } from '../store/store.ts'
import type { Jwt } from '../token/jwt.ts'
import { createShown, SHOWN_TOKENS, type ShownOptions, type UserToken } from './online-users.ts'
import { createTokenHandles } from './token-handles.ts'

/** A session as its user sees it. */
export interface OwnSession extends UserToken {
  /** Whether it is the session of the request. */
  current: boolean
}

export interface OwnSessionsOptions extends ShownOptions {
  sides: Readonly<Record<LoginType, Pick<Side, 'kickoutToken' | 'kickoutOthers'>>>
  sessions: Pick<SessionStore, 'tokens' | 'batches'>
  jwt: Pick<Jwt, 'read'>
}

export type OwnSessions = ReturnType<typeof createOwnSessions>

/** What users see and do of their own sessions. Every operation is given the session of the request. */
export function createOwnSessions({ sides, sessions, jwt, ...options }: OwnSessionsOptions) {
  const handles = createTokenHandles(sessions, jwt)
  const show = createShown(options)

  return {
    /** The user's live sessions, newest first, `SHOWN_TOKENS` at most, by their handles. */
    async list({ token, record: { type, user_id: userId } }: Session): Promise<OwnSession[]> {
      const live = await sessions.tokens(type, userId, SHOWN_TOKENS)
      return live.toReversed().map(stored => ({
        token: handles.of(stored.token),
        ...show.session(stored),
        current: stored.token === token,
      }))
    },

    /** Ends one of the user's sessions by its handle. Only these are searched: a handle of another user is unknown here. */
    async exitToken({ record: { type, user_id: userId } }: Session, handle: string, origin: Origin): Promise<void> {
      const token = await handles.find(type, userId, handle)
      if (token === null || !(await sides[type].kickoutToken(userId, token, origin))) throw new Refusal('NO_SUCH_TOKEN')
    },

    /** Ends every other session of the user; answers how many. */
    exitOthers: (session: Session, origin: Origin): Promise<number> =>
      sides[session.record.type].kickoutOthers(session, origin),
  }
}
