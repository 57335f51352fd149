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

/** What happened to a session or a login id, told after it happened. Never a token: its `jti` names it. */
export interface SessionEvent {
  event: (typeof EVENT_NAMES)[number]
  type: LoginType
  /** `null` where nobody is known by the name that was tried. */
  login_id: string | null
  /** The token that it is about, where it is about one. */
  jti?: string
  /** Of a kickout: how many sessions ended. */
  ended?: number
  /** Of a renewal and a bar: for how long, in seconds. */
  seconds?: number
  /** Of a failed login: the refusal. */
  reason?: string
  /** Of a login, failed or not: where it came from, as the proxies that are trusted tell it. */
  address?: string
  /** Of a login, failed or not: the browser, or else the first product of the user agent. */
  device_type?: string
  /** Of a login, failed or not: what the client calls its device, at most 128 characters. */
  device_id?: string
  /** Of what was changed for good: it is not proven that replicas have it (`store.redis.wait`). */
  replicated?: false
}

/** Takes an event at once and never fails: telling others is no part of the request. */
export type Publish = (event: SessionEvent) => void

/** One publisher for several. */
export const publishTo =
  (...sinks: readonly Publish[]): Publish =>
  event => {
    for (const sink of sinks) sink(event)
  }
