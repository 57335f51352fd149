import type { Clock } from '../clock.ts'
import type { Publish, SessionEvent } from '../event/event.ts'
import { invalid, Refusal } from '../refusal.ts'
import { type Extra, faultOfExtra, type LoginType, type SessionRecord } from '../session.ts'
import { createAges } from '../store/age.ts'
import type { MaybePromise, SessionStore } from '../store/store.ts'
import type { TimestampFormat } from '../timestamp.ts'
import { asToken, readBearer, type Token } from '../token/bearer.ts'
import type { Claims, Jwt } from '../token/jwt.ts'
import { createConfirmed, type IsReplicated } from './confirmed.ts'
import { createBar, disabledFor } from './disable.ts'
import { checkLoginId, checkSeconds, NONE, remaining } from './input.ts'
import { createPolicy, type SessionPolicy } from './policy.ts'

/** What a request has to have for its token to be found: anything with lower-case header names will do. */
export interface WithHeaders {
  headers: Record<string, string | string[] | undefined>
}

/** A live session of one side: a token whose signature verifies and whose record exists. */
export interface Session {
  token: Token
  claims: Claims
  record: SessionRecord
}

export interface SideOptions {
  type: LoginType
  jwt: Jwt
  store: SessionStore
  clock: Clock
  timestamps: TimestampFormat
  /** Lifetime of a session in seconds. */
  expireSeconds: number
  /** Name of the header that carries the token. */
  tokenName: string
  /** Whether a disabled login id is refused on every request. */
  enforceDisable: boolean
  policy: SessionPolicy
  publish: Publish
  isReplicated?: IsReplicated | undefined
}

export type Side = ReturnType<typeof createSide>

/** The operations of one side ("Internal authentication operations"). Inputs that cannot be meant are refused with `INVALID`. */
export function createSide(options: SideOptions) {
  const { type, jwt, store, clock, timestamps, enforceDisable } = options
  const headerName = options.tokenName.toLowerCase()
  const confirmed = createConfirmed(type, options.publish, options.isReplicated)
  const policy = createPolicy({ ...options, confirmed, ages: createAges(timestamps) })
  const tell = (event: Omit<SessionEvent, 'type'>): void => options.publish({ ...event, type })
  const bar = createBar({ type, store, clock, confirmed })

  const jtiOf = (token: Token): string => jwt.read(token)?.jti ?? ''
  const expiryAfter = (seconds: number): number => clock.now() + seconds * 1000
  const secondsLeft = (timestamp: number | null): number => remaining(timestamp, clock.now())

  /** get token value: the token of the request's header, valid or not; `null` without one. */
  const getTokenValue = (request: WithHeaders): Token | null => readBearer(request.headers[headerName])

  /**
   * What the gate asks: the live session of a token, `null` when there is none on this side. Throws `Unavailable` when
   * the store cannot tell, and the refusal `SESSION_DISABLED` for a disabled login id where `disable.enforce` says so.
   */
  function authenticate(token: Token): MaybePromise<Session | null> {
    const session = find(token)
    if (!enforceDisable) return session
    return Promise.resolve(session).then(async found => {
      if (found !== null) await bar.enforce(found.record.user_id)
      return found
    })
  }

  function find(token: Token): MaybePromise<Session | null> {
    const claims = jwt.read(token)
    if (claims === null) return null
    const record = store.find(type, token)
    const admit = (found: SessionRecord | null): Session | null => {
      if (found === null) return null
      const session = { token, claims, record: found }
      policy.used(session)
      return session
    }
    return record instanceof Promise ? record.then(admit) : admit(record)
  }

  /** The live session of a request; `null` when it carries none of this side. */
  async function sessionOf(request: WithHeaders): Promise<Session | null> {
    const token = getTokenValue(request)
    return token === null ? null : find(token)
  }

  /** login: a new token for a user, and its record. Refuses a disabled id with `DISABLED`. The request may be absent. */
  async function login(_request: WithHeaders | undefined, userId: string, extra: Extra = {}): Promise<Token> {
    checkLoginId(userId)
    const fault = faultOfExtra(extra)
    if (fault !== null) throw invalid('extra', fault)
    const token = jwt.issue()
    const record = { user_id: userId, type, created_at: timestamps.write(clock.now()), extra }
    const admission = await store.add(type, token, record, policy.firstExpiry())
    if (admission.admitted) {
      tell({ event: 'login', login_id: userId, jti: jtiOf(token), ...originOf(extra) })
      await policy.entered(userId)
      return token
    }
    if (admission.disabledUntil === null) throw new Refusal('NOT_LOGGED_IN')
    throw disabledFor(secondsLeft(admission.disabledUntil))
  }

  /** logout: ends the request's own session, or, given a login id, every session of that user. `false` when there was none. */
  async function logout(request: WithHeaders, loginId?: string): Promise<boolean> {
    if (loginId !== undefined) return (await kickout(loginId)) > 0
    const session = await sessionOf(request)
    if (session === null || !(await store.remove(type, session.record.user_id, session.token))) return false
    await confirmed({ event: 'logout', login_id: session.record.user_id, jti: session.claims.jti })
    return true
  }

  /** kickout: ends every session of a user; answers how many. */
  async function kickout(userId: string): Promise<number> {
    checkLoginId(userId)
    const ended = await store.removeAll(type, userId)
    await confirmed({ event: 'kickout', login_id: userId, ended })
    return ended
  }

  /** kickout token: ends one token of a user. `false` when it is not a live token of that user; then nothing changes. */
  async function kickoutToken(userId: string, text: string): Promise<boolean> {
    checkLoginId(userId)
    const token = asToken(text)
    if (token === null || !(await store.remove(type, userId, token))) return false
    await confirmed({ event: 'kickout-token', login_id: userId, jti: jtiOf(token) })
    return true
  }

  const isLogin = async (request: WithHeaders): Promise<boolean> => (await sessionOf(request)) !== null

  /** get login id: `''` when not logged in. */
  const getLoginId = async (request: WithHeaders): Promise<string> => (await sessionOf(request))?.record.user_id ?? ''

  /** get login id, default-null form: `null` when not logged in. */
  const getLoginIdDefaultNull = async (request: WithHeaders): Promise<string | null> =>
    (await sessionOf(request))?.record.user_id ?? null

  /** get login id by token: `''` when the token is not live. */
  async function getLoginIdByToken(text: string): Promise<string> {
    const token = asToken(text)
    return (token === null ? null : await find(token))?.record.user_id ?? ''
  }

  /** renew timeout: a new lifetime for the request's token and its session, in seconds. `false` when it is not live. */
  async function renewTimeout(request: WithHeaders, seconds: number = options.expireSeconds): Promise<boolean> {
    checkSeconds(seconds)
    const session = await sessionOf(request)
    const userId = session?.record.user_id
    if (userId === undefined || !(await store.renew(type, userId, session!.token, expiryAfter(seconds)))) return false
    tell({ event: 'renew', login_id: userId, jti: session!.claims.jti, seconds })
    return true
  }

  /** get token info: the full stored record of the request's token; `null` when it is not live. */
  const getTokenInfo = async (request: WithHeaders): Promise<SessionRecord | null> =>
    (await sessionOf(request))?.record ?? null

  /** get extra: one value of the record's `extra`; `null` when there is no session or no such own property. */
  async function getExtra(request: WithHeaders, name: string): Promise<unknown> {
    const extra = (await sessionOf(request))?.record.extra
    return extra !== undefined && Object.hasOwn(extra, name) ? extra[name] : null
  }

  /** get token timeout: seconds that the request's token will live; -1 when it does not. */
  async function getTokenTimeout(request: WithHeaders): Promise<number> {
    const session = await sessionOf(request)
    return session === null ? NONE : secondsLeft(await store.tokenExpiresAt(type, session.token))
  }

  /** get session timeout: seconds that the user's session will live; -1 when not logged in. */
  async function getSessionTimeout(request: WithHeaders): Promise<number> {
    const session = await sessionOf(request)
    return session === null ? NONE : secondsLeft(await store.sessionExpiresAt(type, session.record.user_id))
  }

  /** get token values by login id: the live tokens of a user, oldest first; of more than `LISTED_AT_MOST` the newest. */
  async function getTokenValuesByLoginId(loginId: string): Promise<string[]> {
    checkLoginId(loginId)
    return (await store.tokens(type, loginId)).map(({ token }) => token)
  }

  /** get token value by login id: the newest live token of a user; `null` without one. */
  async function getTokenValueByLoginId(loginId: string): Promise<string | null> {
    checkLoginId(loginId)
    const [newest] = await store.tokens(type, loginId, 1)
    return newest?.token ?? null
  }

  return {
    type,
    headerName,
    authenticate,
    sessionOf,
    login,
    logout,
    kickout,
    kickoutToken,
    isLogin,
    getLoginId,
    getLoginIdDefaultNull,
    getLoginIdByToken,
    getTokenValue,
    renewTimeout,
    disable: bar.disable,
    isDisable: bar.isDisable,
    untieDisable: bar.untieDisable,
    getLoginType: (): LoginType => type,
    getDisableTime: bar.getDisableTime,
    checkDisable: bar.checkDisable,
    getTokenInfo,
    /** get session: the same as get token info. */
    getSession: getTokenInfo,
    getExtra,
    getTokenTimeout,
    getSessionTimeout,
    getTokenValueByLoginId,
    getTokenValuesByLoginId,
  }
}

/** What the record of a login says of where it came from, whoever signed the user in. */
function originOf(extra: Extra): Pick<SessionEvent, 'address' | 'device_type' | 'device_id'> {
  const { login_ip: address, device_type, device_id } = extra
  return {
    ...(typeof address === 'string' && { address }),
    ...(typeof device_type === 'string' && { device_type }),
    ...(typeof device_id === 'string' && { device_id }),
  }
}
