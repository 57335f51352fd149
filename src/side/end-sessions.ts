import type { AccountChange } from '../account/version.ts'
import type { Origin, SessionEvent } from '../event/event.ts'
import type { EndReason } from '../session/end-reason.ts'
import type { SessionRecord } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import { EndedSome, type EndNote, type SessionStore, type StoredToken } from '../store/store.ts'
import { asToken } from '../token/bearer.ts'
import type { Jwt } from '../token/jwt.ts'
import { checkLoginId } from './input.ts'
import type { LiveSessions, Session, WithHeaders } from './live.ts'
import type { Confirmed } from './replicated-events.ts'

export interface EndOptions {
  type: LoginType
  jwt: Jwt
  store: SessionStore
  live: Pick<LiveSessions, 'sessionOf'>
  confirmed: Confirmed
  noteOf(reason: EndReason): EndNote | undefined
}

/** The operations that end sessions: logout, kickout and kickout token. */
export function createEnd({ type, jwt, store, live, confirmed, noteOf }: EndOptions) {
  /** logout: ends the request's own session, or, given a login id, every session of that user. `false` when there was none. */
  async function logout(request: WithHeaders, loginId: string | undefined, origin: Origin): Promise<boolean> {
    if (loginId !== undefined) return (await kickout(loginId, origin)) > 0
    const session = await live.sessionOf(request)
    return session !== null && logoutSession(session, origin)
  }

  /** Ends a session that its user leaves. `false` when it has ended meanwhile. */
  async function logoutSession({ token, claims, record }: Session, origin: Origin): Promise<boolean> {
    const { user_id: userId } = record
    if (!(await store.remove(type, userId, token, noteOf('logged-out')))) return false
    await confirmed({ event: 'logout', login_id: userId, jti: claims.jti, ...origin })
    return true
  }

  /** kickout: ends every session of a user; answers how many. */
  async function kickout(userId: string, origin: Origin): Promise<number> {
    checkLoginId(userId)
    const publish = publishOf(userId, origin)
    const ended = await orPublished(store.removeAll(type, userId, noteOf('kicked-out')), publish)
    await publish(ended)
    return ended
  }

  const publishOf = (userId: string, origin: Origin) => (ended: number) =>
    confirmed({ event: 'kickout', login_id: userId, ended, ...origin })

  /** Ends every session of the user of a session but this one; answers how many. */
  async function kickoutOthers({ token, record }: Pick<Session, 'token' | 'record'>, origin: Origin): Promise<number> {
    const { user_id: userId } = record
    const publish = publishOf(userId, origin)
    const ended = await orPublished(store.removeOthers(type, userId, token, noteOf('kicked-out')), publish)
    if (ended > 0) await publish(ended)
    return ended
  }

  /** kickout token: ends one token of a user. `false` when it is not a live token of that user; then nothing changes. */
  async function kickoutToken(userId: string, text: string, origin: Origin): Promise<boolean> {
    checkLoginId(userId)
    const token = asToken(text)
    if (token === null || !(await store.remove(type, userId, token, noteOf('kicked-out')))) return false
    await confirmed({ event: 'kickout-token', login_id: userId, jti: jwt.read(token)?.jti ?? '', ...origin })
    return true
  }

  const kickoutWhere = createKickoutWhere({ type, store, confirmed, noteOf })
  return { logout, logoutSession, kickout, kickoutOthers, kickoutToken, kickoutWhere }
}

/** How many tokens a verb has ended; where the store fails in the middle, what had ended is published before. */
async function orPublished(end: Promise<number>, publish: (ended: number) => Promise<void>): Promise<number> {
  try {
    return await end
  } catch (fault) {
    if (fault instanceof EndedSome) await publish(fault.ended)
    throw fault
  }
}

/** Why a session ends that its user did not end here. */
export type EndedElsewhere = AccountChange | 'provider-logout'

type ReasonOf = (record: SessionRecord, token: string) => EndedElsewhere | null

/** The tokens of sessions that have a reason to end. */
function byReason(sessions: readonly StoredToken[], reasonOf: ReasonOf): Map<EndedElsewhere, string[]> {
  const found = new Map<EndedElsewhere, string[]>()
  for (const { token, record } of sessions) {
    const reason = reasonOf(record, token)
    if (reason !== null) found.set(reason, [...(found.get(reason) ?? []), token])
  }
  return found
}

/**
 * Ends the sessions of a user for which `reasonOf` has a reason; answers how many. Publishes one event for each reason, also
 * of what ended before the store failed. Without an origin, the gateway does it by itself. `readAgain` reads again what
 * `reasonOf` decides by: a session that was stored meanwhile may have begun after a later change.
 */
function createKickoutWhere({ type, store, confirmed, noteOf }: Omit<EndOptions, 'jwt' | 'live'>) {
  return async (
    userId: string,
    reasonOf: ReasonOf,
    origin: Origin & Pick<SessionEvent, 'provider'> = {},
    readAgain?: () => Promise<void>,
  ): Promise<number> => {
    const ended = new Map<EndedElsewhere, number>()
    try {
      for await (const batch of store.batches(type, userId)) {
        if (readAgain !== undefined && byReason(batch, reasonOf).size > 0) await readAgain()
        for (const [reason, tokens] of byReason(batch, reasonOf)) {
          const { length } = await store.removeSome(type, userId, tokens, noteOf(reason))
          if (length > 0) ended.set(reason, (ended.get(reason) ?? 0) + length)
        }
      }
    } finally {
      const event = { event: 'kickout', login_id: userId, ...origin } as const
      await confirmed(...Array.from(ended, ([reason, count]) => ({ ...event, ended: count, reason })))
    }
    return [...ended.values()].reduce((sum, count) => sum + count, 0)
  }
}
