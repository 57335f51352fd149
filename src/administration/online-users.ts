import { type Clock, secondsUntil } from '../base/clock.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import { providerIn } from '../session/provider.ts'
import type { Extra } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { OnlineUsers } from '../store/online.ts'
import type { Overview, SessionStore, StoredToken } from '../store/store.ts'
import { type Locale, remainingText } from './remaining-time.ts'
import type { TokenHandles } from './token-handles.ts'

/** Tokens of one user that a list shows: as many as one has at most, unless `max_tokens_per_user` says otherwise. */
export const SHOWN_TOKENS = 1000

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
  login_ip: string | null
  provider: string | null
}

export interface Page<T> {
  records: T[]
  total: number
  page: number
  size: number
  pages: number
}

/** How sessions are shown to people. */
export interface ShownOptions {
  clock: Clock
  timestamps: TimestampFormat
  locale: Locale
}

export interface UsersOptions extends ShownOptions {
  sessions: SessionStore
  online: OnlineUsers
  handles: TokenHandles
}

/** The lists of "Session administration": online users, and the tokens of one user. */
export function createUsers({ sessions, online, handles, ...options }: UsersOptions) {
  const show = createShown(options)

  /** One page of online users, the newest session first. A user whose last session ended just now is not on it. */
  async function page(
    type: LoginType,
    query: { page: number; size: number; keyword: string },
  ): Promise<Page<OnlineUser>> {
    const { size, keyword } = query
    const { total, userIds } = await online.page(type, { offset: (query.page - 1) * size, limit: size, keyword })
    const overviews = await Promise.all(userIds.map(userId => sessions.overview(type, userId)))
    const records = overviews.flatMap((overview, i) => (overview === null ? [] : [show.user(userIds[i]!, overview)]))
    return { records, total, page: query.page, size, pages: Math.ceil(total / size) }
  }

  /** A user's live tokens, newest first, `SHOWN_TOKENS` at most: the tokens themselves, or their handles. */
  async function tokens(type: LoginType, userId: string, as: 'token' | 'handle'): Promise<UserToken[]> {
    const live = await sessions.tokens(type, userId, SHOWN_TOKENS)
    return live.toReversed().map(stored => ({
      token: as === 'token' ? stored.token : handles.of(stored.token),
      ...show.session(stored),
    }))
  }

  return { page, tokens }
}

/** How users and their sessions are shown to people. */
export function createShown({ clock, timestamps, locale }: ShownOptions) {
  const secondsLeft = (expiresAt: number): number =>
    expiresAt === Number.POSITIVE_INFINITY ? -1 : Math.max(secondsUntil(expiresAt, clock.now()), -1)

  /** Records of other programs may hold other forms of a time; people see one form. */
  const inZone = (createdAt: string): string => timestamps.normalize(createdAt) ?? createdAt

  return {
    user(userId: string, { first, newest, count, expiresAt }: Overview): OnlineUser {
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
    },

    session({ record, expiresAt }: Pick<StoredToken, 'record' | 'expiresAt'>): Omit<UserToken, 'token'> {
      const left = secondsLeft(expiresAt)
      return {
        created_at: inZone(record.created_at),
        timeout: remainingText(left, locale),
        timeout_seconds: left,
        device_type: textOf(record.extra, 'device_type'),
        device_id: textOf(record.extra, 'device_id'),
        login_ip: textOf(record.extra, 'login_ip'),
        provider: providerIn(record.extra),
      }
    },
  }
}

function textOf(extra: Extra, name: string): string | null {
  const value = Object.hasOwn(extra, name) ? extra[name] : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}
