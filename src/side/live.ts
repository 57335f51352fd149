import type { MaybePromise } from '../base/maybe-promise.ts'
import { Refusal } from '../base/refusal.ts'
import type { GatedKey } from '../gate/key-credential.ts'
import type { EndReason } from '../session/end-reason.ts'
import type { SessionRecord } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { SessionStore } from '../store/store.ts'
import { readBearer, type Token } from '../token/bearer.ts'
import type { Claims, Jwt } from '../token/jwt.ts'

/** A request whose token is read: any object with lower-case header names. */
export interface WithHeaders {
  headers: Record<string, string | string[] | undefined>
}

/** The key that proves a session. */
export interface SessionKey extends GatedKey {
  readonly id: string
}

/** A live session of one side: a token whose signature verifies and whose record exists, or a live key. */
export interface Session {
  /** Of a session by key, a name that is no token: the key never leaves the gate. */
  token: Token
  /** Of a session by key, its id and when it was made. */
  claims: Claims
  record: SessionRecord
  /** Absent where a token proves the session. */
  key?: SessionKey
  /** For how many seconds it lives from now on; only where the request that found it has renewed it. */
  renewedFor?: number
}

export interface LiveSessionsOptions {
  type: LoginType
  jwt: Jwt
  store: SessionStore
  /** Lower-case name of the header that carries the token. */
  headerName: string
  /** Called with each session that is found; answers its new lifetime in seconds where that has changed. */
  used(session: Session): number | null
  /** Whether clients receive the reason for which their session has ended. */
  tellsEnd: boolean
  /** Refuses a disabled login id on every request; `null` where it is refused at login only. */
  enforceDisable: ((loginId: string) => Promise<void>) | null
}

/** Finds the live session of a request or a token: what the gate and every operation begin with. */
export function createLiveSessions(options: LiveSessionsOptions) {
  const { type, jwt, store, headerName, used, tellsEnd, enforceDisable } = options
  /** get token value: the token of the request's header, valid or not; `null` without one. */
  const getTokenValue = (request: WithHeaders): Token | null => readBearer(request.headers[headerName])

  /** The live session of a token; `null` without one on this side. Throws `Unavailable` when the store cannot answer. */
  function find(token: Token): MaybePromise<Session | null> {
    const claims = jwt.read(token)
    if (claims === null) return null
    const record = store.find(type, token)
    const admit = (found: SessionRecord | null): Session | null => {
      if (found === null) return null
      const session: Session = { token, claims, record: found }
      const renewedFor = used(session)
      if (renewedFor !== null) session.renewedFor = renewedFor
      return session
    }
    return record instanceof Promise ? record.then(admit) : admit(record)
  }

  /** As `find`, for the gate: throws the refusal `SESSION_DISABLED` for a disabled login id where `disable.enforce` says so. */
  function authenticate(token: Token): MaybePromise<Session | null> {
    const session = find(token)
    if (enforceDisable === null) return session
    return Promise.resolve(session).then(async found => {
      if (found !== null) await enforceDisable(found.record.user_id)
      return found
    })
  }

  /** Why the session of a token has ended; `null` if this is not known. Only for a token whose signature verifies. */
  async function whyEnded(token: Token): Promise<EndReason | null> {
    if (jwt.read(token) === null) return null
    try {
      return await store.whyEnded(type, token)
    } catch (fault) {
      // The store has answered that there is no session: the request is refused, without a reason.
      if (fault instanceof Refusal) return null
      throw fault
    }
  }

  /** The live session of a request; `null` when it carries none of this side. */
  async function sessionOf(request: WithHeaders): Promise<Session | null> {
    const token = getTokenValue(request)
    return token === null ? null : find(token)
  }

  return { headerName, getTokenValue, find, authenticate, whyEnded: tellsEnd ? whyEnded : null, sessionOf }
}

export type LiveSessions = ReturnType<typeof createLiveSessions>
