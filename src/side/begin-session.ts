import type { Clock } from '../base/clock.ts'
import { invalid, Refusal } from '../base/refusal.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import type { Origin, SessionEvent } from '../event/event.ts'
import { type Extra, faultOfExtra } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { SessionStore } from '../store/store.ts'
import type { Token } from '../token/bearer.ts'
import type { Jwt } from '../token/jwt.ts'
import { disabledFor, disabledSeconds } from './disable.ts'
import { eventNames } from './event-names.ts'
import { checkLoginId, checkSeconds } from './input.ts'
import { type Lifetime, latestEndIn, withLifetime } from './lifetime.ts'
import type { LiveSessions, WithHeaders } from './live.ts'
import type { Policy } from './policy.ts'

export interface BeginOptions {
  type: LoginType
  jwt: Jwt
  store: SessionStore
  clock: Clock
  timestamps: TimestampFormat
  /** Lifetime of a session in seconds. */
  expireSeconds: number
  /** Without the policies: a renewal by use, at the same time, could take the place of the requested one. */
  live: Pick<LiveSessions, 'sessionOf'>
  policy: Pick<Policy, 'firstExpiry' | 'entered' | 'noteRenewal' | 'renewedExpiry'>
  /** Refuses an id that is locked after failed logins. */
  checkLock(userId: string): Promise<void>
  publish(event: Omit<SessionEvent, 'type'>): void
}

/** Where a login comes from and how it was proven, and how long its session lives. */
export type LoginOptions = Origin & Pick<SessionEvent, 'reason' | 'provider'> & Lifetime

/** Kickouts of a user that one login may overlap; with so many the user is being kicked out without end. */
const MAX_OVERLAPS = 10

/** The operations that give a session its lifetime: login and renew timeout. */
export function createBegin({
  type,
  jwt,
  store,
  clock,
  timestamps,
  live,
  policy,
  checkLock,
  publish,
  ...options
}: BeginOptions) {
  /** Stores a new session. One that a kickout of its user overlaps begins again, after the kickout. */
  async function add(userId: string, extra: Extra): Promise<Token> {
    for (let i = 0; i < MAX_OVERLAPS; i++) {
      const token = jwt.issue()
      const record = { user_id: userId, type, created_at: timestamps.write(clock.now()), extra }
      const admission = await store.add(type, token, record, policy.firstExpiry(extra))
      if (admission.admitted) return token
      if (admission.disabledUntil !== null) throw disabledFor(disabledSeconds(admission.disabledUntil, clock.now()))
    }
    throw new Refusal('BUSY')
  }

  /**
   * login: a new token for a user, and its record. Refuses a disabled id with `DISABLED`, and with `BUSY` a user who is kicked
   * out again and again meanwhile. The request may be absent.
   */
  async function login(
    _request: WithHeaders | undefined,
    userId: string,
    extra: Extra | undefined = {},
    given: LoginOptions,
  ): Promise<Token> {
    const { reason: _, provider: __, seconds, latestEnd, ...origin } = given
    checkLoginId(userId)
    const fault = faultOfExtra(extra)
    if (fault !== null) throw invalid('extra', fault)
    if (seconds !== undefined) checkSeconds(seconds)
    await checkLock(userId)
    const token = await add(userId, withLifetime(extra, { seconds, latestEnd }))
    await orEnded(policy.entered(userId, origin), () => store.remove(type, userId, token))
    const jti = jwt.read(token)?.jti ?? ''
    publish({ event: 'login', login_id: userId, jti, ...aboutLogin(given, extra) })
    return token
  }

  /**
   * renew timeout: a new lifetime for the request's token and its session, in seconds, up to its latest end. `false` when it is not
   * live.
   */
  async function renewTimeout(
    request: WithHeaders,
    seconds: number | undefined = options.expireSeconds,
    origin: Origin,
  ): Promise<boolean> {
    checkSeconds(seconds)
    const session = await live.sessionOf(request)
    if (session === null) return false
    const { user_id: userId, extra } = session.record
    const end = Math.min(clock.now() + seconds * 1000, latestEndIn(extra))
    // First: a use of the session that comes after the renewal must find it.
    if (!(await policy.noteRenewal(session, end))) return false
    if (!(await store.renew(type, userId, session.token, policy.renewedExpiry(end)))) return false
    publish({ event: 'renew', login_id: userId, jti: session.claims.jti, seconds, ...origin })
    return true
  }

  return { login, renewTimeout }
}

/** Ends a session whose login fails after it was stored: the client gets no token, and nothing may be left. */
async function orEnded(rest: Promise<void>, end: () => Promise<unknown>): Promise<void> {
  try {
    await rest
  } catch (fault) {
    await end().catch(() => undefined)
    throw fault
  }
}

/** What the event of a login has beside its token. */
function aboutLogin({ reason, provider, seconds, latestEnd: _, ...origin }: LoginOptions, extra: Extra) {
  return {
    ...origin,
    ...(reason !== undefined && { reason }),
    ...(provider !== undefined && { provider }),
    ...(seconds !== undefined && { seconds }),
    ...clientOf(extra),
    ...eventNames(extra),
  }
}

/** The client of a login, as its record says: address and device. */
function clientOf(extra: Extra): Pick<Origin, 'address' | 'device_type' | 'device_id'> {
  const { login_ip: address, device_type, device_id } = extra
  return {
    ...(typeof address === 'string' && { address }),
    ...(typeof device_type === 'string' && { device_type }),
    ...(typeof device_id === 'string' && { device_id }),
  }
}
