import type { Clock } from '../clock.ts'
import { secondsUntil } from '../clock.ts'
import { Refusal } from '../refusal.ts'
import { type Extra, LOGIN_TYPES, type LoginType } from '../session.ts'
import { NONE } from '../side/input.ts'
import type { Side } from '../side/side.ts'
import type { OnlineUsers } from '../store/online.ts'
import type { Overview, SessionStore } from '../store/store.ts'
import type { TimestampFormat } from '../timestamp.ts'
import { asToken } from '../token/bearer.ts'
import type { Jwt } from '../token/jwt.ts'
import { type Locale, remainingText } from './remaining.ts'

const HOUR = 3_600_000
const DAY = 86_400_000
const CHART_DAYS = 7
/** Tokens of one user that a list shows: as many as one has at most, unless `max_tokens_per_user` says otherwise. */
export const SHOWN_TOKENS = 1000

export interface Analysis {
  /** Live tokens of both sides. */
  total_count: number
  /** The most live tokens of any one user of both sides. */
  max_token_count: number
  /** Logins of the last hour on both sides. */
  one_hour_newly_added: number
  /** Live tokens, `<B>/<C>`. */
  proportion_of_b_and_c: string
  /** Users of the asked side with a live token. */
  online_user_count: number
  /** Logins of the asked side today, in the configured time zone. */
  today_login_count: number
}

export interface OnlineUser {
  user_id: string
  username: string | null
  nickname: string | null
  avatar: string | null
  status: string | null
  last_login_ip: string | null
  last_login_address: string | null
  last_login_time: string
  session_create_time: string
  session_timeout: string
  session_timeout_seconds: number
  token_count: number
}

export interface UserToken {
  token: string
  created_at: string
  timeout: string
  timeout_seconds: number
  device_type: string | null
  device_id: string | null
}

export interface Bar {
  is_disable: boolean
  /** Seconds for which the login id stays disabled; -1 when it is not. */
  disable_time: number
}

export interface Page<T> {
  records: T[]
  total: number
  page: number
  size: number
  pages: number
}

export interface Chart {
  bar_chart: { days: string[]; series: { name: LoginType; data: number[] }[] }
  pie_chart: { data: { category: LoginType; total: number }[] }
}

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

/** What administrators see and do ("Session administration"); every question names the side it is about. */
export function createAdministration(options: AdministrationOptions) {
  const { sides, sessions, online, jwt, clock, timestamps, locale } = options

  const secondsLeft = (expiresAt: number): number =>
    expiresAt === Number.POSITIVE_INFINITY ? -1 : Math.max(secondsUntil(expiresAt, clock.now()), -1)
  const today = (): string => timestamps.day(clock.now())
  const tallies = () => Promise.all(LOGIN_TYPES.map(type => online.tally(type)))

  async function analysis(type: LoginType): Promise<Analysis> {
    const since = clock.now() - HOUR
    const [[business, consumer], added, own, [todays]] = await Promise.all([
      tallies(),
      Promise.all(LOGIN_TYPES.map(side => online.loginsSince(side, since))),
      online.tally(type),
      online.loginsOn(type, [today()]),
    ])
    const [b, c] = [business!, consumer!]
    return {
      total_count: b.tokens + c.tokens,
      max_token_count: Math.max(b.maxTokensPerUser, c.maxTokensPerUser),
      one_hour_newly_added: added.reduce((sum, count) => sum + count, 0),
      proportion_of_b_and_c: `${b.tokens}/${c.tokens}`,
      online_user_count: own.users,
      today_login_count: todays ?? 0,
    }
  }

  /** One page of online users, the newest session first. A user whose last session just ended is left out of it. */
  async function page(
    type: LoginType,
    query: { page: number; size: number; keyword: string },
  ): Promise<Page<OnlineUser>> {
    const { size, keyword } = query
    const { total, userIds } = await online.page(type, { offset: (query.page - 1) * size, limit: size, keyword })
    const users = await Promise.all(
      userIds.map(async userId => onlineUser(userId, await sessions.overview(type, userId))),
    )
    const records = users.filter(user => user !== null)
    return { records, total, page: query.page, size, pages: Math.ceil(total / size) }
  }

  function onlineUser(userId: string, overview: Overview | null): OnlineUser | null {
    if (overview === null) return null
    const { first, newest, count, expiresAt } = overview
    const { extra } = newest.record
    const left = secondsLeft(expiresAt)
    return {
      user_id: userId,
      username: textOf(extra, 'username'),
      nickname: textOf(extra, 'nickname'),
      avatar: textOf(extra, 'avatar'),
      status: textOf(extra, 'status'),
      last_login_ip: textOf(extra, 'login_ip'),
      last_login_address: textOf(extra, 'login_address'),
      last_login_time: inZone(newest.record.created_at),
      session_create_time: inZone(first.record.created_at),
      session_timeout: remainingText(left, locale),
      session_timeout_seconds: left,
      token_count: count,
    }
  }

  /** Records of other programs may hold other forms of a time; people see one. */
  const inZone = (createdAt: string): string => timestamps.normalize(createdAt) ?? createdAt

  /** A user's live tokens, the newest `SHOWN_TOKENS` at most and the newest first: the tokens themselves, or their `jti` as a handle. */
  async function tokens(type: LoginType, userId: string, show: 'token' | 'handle'): Promise<UserToken[]> {
    const live = await sessions.tokens(type, userId, SHOWN_TOKENS)
    return live.toReversed().map(({ token, record, expiresAt }) => {
      const left = secondsLeft(expiresAt)
      return {
        token: show === 'token' ? token : handleOf(token),
        created_at: inZone(record.created_at),
        timeout: remainingText(left, locale),
        timeout_seconds: left,
        device_type: textOf(record.extra, 'device_type'),
        device_id: textOf(record.extra, 'device_id'),
      }
    })
  }

  /** A name for a token that is worth nothing as a token: its `jti`. */
  function handleOf(text: string): string {
    const token = asToken(text)
    return (token === null ? null : jwt.read(token))?.jti ?? ''
  }

  const exit = (type: LoginType, userId: string): Promise<number> => sides[type].kickout(userId)

  /** Ends one token of a user, given as itself or by its handle. */
  async function exitToken(type: LoginType, userId: string, given: string): Promise<void> {
    const token = asToken(given) ?? (await byHandle(type, userId, given))
    if (token === null || !(await sides[type].kickoutToken(userId, token))) throw new Refusal('NO_SUCH_TOKEN')
  }

  async function byHandle(type: LoginType, userId: string, handle: string): Promise<string | null> {
    if (handle === '') return null
    for await (const batch of sessions.batches(type, userId)) {
      const found = batch.find(({ token }) => handleOf(token) === handle)
      if (found !== undefined) return found.token
    }
    return null
  }

  const disable = (type: LoginType, userId: string, seconds: number): Promise<void> =>
    sides[type].disable(userId, seconds)

  const untieDisable = (type: LoginType, userId: string): Promise<boolean> => sides[type].untieDisable(userId)

  async function disabled(type: LoginType, userId: string): Promise<Bar> {
    const seconds = await sides[type].getDisableTime(userId)
    return { is_disable: seconds !== NONE, disable_time: seconds }
  }

  /** Logins of the last seven days, today last, and the live tokens, of both sides. */
  async function chart(): Promise<Chart> {
    const now = clock.now()
    // Noon of each day: no change of clocks moves it to another date.
    const noon = timestamps.read(`${timestamps.day(now)} 12:00:00`) ?? now
    const days = Array.from({ length: CHART_DAYS }, (_, i) => timestamps.day(noon - (CHART_DAYS - 1 - i) * DAY))
    const [logins, live] = await Promise.all([
      Promise.all(LOGIN_TYPES.map(type => online.loginsOn(type, days))),
      tallies(),
    ])
    return {
      bar_chart: { days, series: LOGIN_TYPES.map((name, i) => ({ name, data: logins[i] ?? [] })) },
      pie_chart: { data: LOGIN_TYPES.map((category, i) => ({ category, total: live[i]?.tokens ?? 0 })) },
    }
  }

  return { analysis, page, exit, tokens, exitToken, disable, untieDisable, disabled, chart }
}

function textOf(extra: Extra, name: string): string | null {
  const value = Object.hasOwn(extra, name) ? extra[name] : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}
