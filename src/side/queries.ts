import type { Clock } from '../base/clock.ts'
import type { SessionRecord } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { SessionStore } from '../store/store.ts'
import { asToken } from '../token/bearer.ts'
import { checkLoginId, NONE, remaining } from './input.ts'
import type { LiveSessions, WithHeaders } from './live.ts'

export interface QueriesOptions {
  type: LoginType
  store: SessionStore
  clock: Clock
  live: Pick<LiveSessions, 'sessionOf' | 'find'>
}

/** What is known about the session of a request. */
export function createRequestQueries({ type, store, clock, live: { sessionOf } }: QueriesOptions) {
  const isLogin = async (request: WithHeaders): Promise<boolean> => (await sessionOf(request)) !== null

  /** get login id, default-null form: `null` when not logged in. */
  const getLoginIdDefaultNull = async (request: WithHeaders): Promise<string | null> =>
    (await sessionOf(request))?.record.user_id ?? null

  /** get login id: `''` when not logged in. */
  const getLoginId = async (request: WithHeaders): Promise<string> => (await getLoginIdDefaultNull(request)) ?? ''

  /** get token info: the full stored record of the request's token; `null` when it is not live. */
  const getTokenInfo = async (request: WithHeaders): Promise<SessionRecord | null> =>
    (await sessionOf(request))?.record ?? null

  /** get extra: one value of the record's `extra`; `null` when there is no session or no such own property. */
  async function getExtra(request: WithHeaders, name: string): Promise<unknown> {
    const extra = (await sessionOf(request))?.record.extra
    return extra !== undefined && Object.hasOwn(extra, name) ? extra[name] : null
  }

  /** get token timeout: seconds until the request's token ends; -1 when it is not live. */
  async function getTokenTimeout(request: WithHeaders): Promise<number> {
    const session = await sessionOf(request)
    return session === null ? NONE : remaining(await store.tokenExpiresAt(type, session.token), clock.now())
  }

  /** get session timeout: seconds until the user's session ends; -1 when not logged in. */
  async function getSessionTimeout(request: WithHeaders): Promise<number> {
    const session = await sessionOf(request)
    return session === null ? NONE : remaining(await store.sessionExpiresAt(type, session.record.user_id), clock.now())
  }

  return {
    isLogin,
    getLoginId,
    getLoginIdDefaultNull,
    getTokenInfo,
    /** get session: the same as get token info. */
    getSession: getTokenInfo,
    getExtra,
    getTokenTimeout,
    getSessionTimeout,
  }
}

/** What is known about a token or a user, without a request. */
export function createUserQueries({ type, store, live: { find } }: QueriesOptions) {
  /** get login id by token: `''` when the token is not live. */
  async function getLoginIdByToken(text: string): Promise<string> {
    const token = asToken(text)
    return (token === null ? null : await find(token))?.record.user_id ?? ''
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

  return { getLoginIdByToken, getTokenValuesByLoginId, getTokenValueByLoginId }
}
