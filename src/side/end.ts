import type { AccountChange } from '../account/version.ts'
import type { Origin } from '../event/event.ts'
import type { LoginType, SessionRecord } from '../session.ts'
import type { SessionStore } from '../store/store.ts'
import { asToken } from '../token/bearer.ts'
import type { Jwt } from '../token/jwt.ts'
import type { Confirmed } from './confirmed.ts'
import { checkLoginId } from './input.ts'
import type { LiveSessions, WithHeaders } from './live.ts'

export interface EndOptions {
  type: LoginType
  jwt: Jwt
  store: SessionStore
  live: Pick<LiveSessions, 'sessionOf'>
  confirmed: Confirmed
}

/** The operations that end sessions: logout, kickout and kickout token. */
export function createEnd({ type, jwt, store, live, confirmed }: EndOptions) {
  /** logout: ends the request's own session, or, given a login id, every session of that user. `false` when there was none. */
  async function logout(request: WithHeaders, loginId: string | undefined, origin: Origin): Promise<boolean> {
    if (loginId !== undefined) return (await kickout(loginId, origin)) > 0
    const session = await live.sessionOf(request)
    if (session === null || !(await store.remove(type, session.record.user_id, session.token))) return false
    await confirmed({ event: 'logout', login_id: session.record.user_id, jti: session.claims.jti, ...origin })
    return true
  }

  /** kickout: ends every session of a user; answers how many. */
  async function kickout(userId: string, origin: Origin): Promise<number> {
    checkLoginId(userId)
    const ended = await store.removeAll(type, userId)
    await confirmed({ event: 'kickout', login_id: userId, ended, ...origin })
    return ended
  }

  /** kickout token: ends one token of a user. `false` when it is not a live token of that user; then nothing changes. */
  async function kickoutToken(userId: string, text: string, origin: Origin): Promise<boolean> {
    checkLoginId(userId)
    const token = asToken(text)
    if (token === null || !(await store.remove(type, userId, token))) return false
    await confirmed({ event: 'kickout-token', login_id: userId, jti: jwt.read(token)?.jti ?? '', ...origin })
    return true
  }

  return { logout, kickout, kickoutToken, kickoutWhere: createKickoutWhere({ type, store, confirmed }) }
}

/**
 * Ends the sessions of a user for which `reasonOf` has a reason; answers how many. Publishes one event for each reason, also
 * of what ended before the store failed. Without an origin, the gateway does it by itself.
 */
function createKickoutWhere({ type, store, confirmed }: Pick<EndOptions, 'type' | 'store' | 'confirmed'>) {
  type ReasonOf = (record: SessionRecord, token: string) => AccountChange | null
  return async (userId: string, reasonOf: ReasonOf, origin: Origin = {}): Promise<number> => {
    const ended = new Map<AccountChange, number>()
    try {
      for await (const batch of store.batches(type, userId)) {
        const reasons = new Map(batch.map(({ token, record }) => [token, reasonOf(record, token)]))
        const tokens = batch.map(({ token }) => token).filter(token => reasons.get(token) !== null)
        if (tokens.length === 0) continue
        for (const token of await store.removeSome(type, userId, tokens)) {
          const reason = reasons.get(token)!
          ended.set(reason, (ended.get(reason) ?? 0) + 1)
        }
      }
    } finally {
      const event = { event: 'kickout', login_id: userId, ...origin } as const
      await confirmed(...Array.from(ended, ([reason, count]) => ({ ...event, ended: count, reason })))
    }
    return [...ended.values()].reduce((sum, count) => sum + count, 0)
  }
}
