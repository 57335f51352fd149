import type { LoginType } from '../session.ts'

export const EVENT_NAMES = [
  'login',
  'login-failed',
  'logout',
  'kickout',
  'kickout-token',
  'replaced',
  'renew',
  'disable',
  'untie-disable',
] as const

/** A change of a session or of a login id, published after it is done. Never a token: its `jti` names it. */
export interface SessionEvent {
  event: (typeof EVENT_NAMES)[number]
  type: LoginType
  /** `null` if the name of a failed login is unknown. */
  login_id: string | null
  /** The token that changed, if the event concerns one token. */
  jti?: string
  /** Kickout: the number of sessions that ended. */
  ended?: number
  /** Renewal and disable: the duration in seconds. */
  seconds?: number
  /**
   * Failed login: the reason of the refusal. Kickout: `password-changed` or `account-changed` if the gateway ended sessions
   * because their account changed; sessions that began after the change are not among them.
   */
  reason?: string
  /** Login, failed or not: the client's address, as reported by trusted proxies. */
  address?: string
  /** Login, failed or not: the browser, otherwise the first product of the user agent. */
  device_type?: string
  /** Login, failed or not: the client's name of its device, at most 128 characters. */
  device_id?: string
  /** Set if no replica was proven to have the change (`store.redis.wait`). */
  replicated?: false
}

/** Accepts an event at once and never fails: its delivery is not part of the request. */
export type Publish = (event: SessionEvent) => void

/** One publisher for several. */
export const publishTo =
  (...sinks: readonly Publish[]): Publish =>
  event => {
    for (const sink of sinks) sink(event)
  }
