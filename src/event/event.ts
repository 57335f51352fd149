import type { LoginType } from '../session/sides.ts'

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
  'password-changed',
  'password-reset',
  'second-factor-on',
  'second-factor-off',
  'second-factor-reset',
  'second-factor-failed',
  'second-factor-locked',
  'account-added',
  'account-edited',
  'account-removed',
  'key-added',
  'key-rotated',
  'key-revoked',
] as const

export type EventName = (typeof EVENT_NAMES)[number]

/** `by` of a change that a backend, or a program that embeds the gateway, made through the operations. */
export const BY_OPERATIONS = 'operations'
/** `by` of a change that `dualgate account` made. */
export const BY_COMMAND_LINE = 'command line'

/** Where a change comes from. Every operation that publishes an event is given one, and the event carries it. */
export interface Origin {
  /**
   * Who requested the change: a login id, `BY_OPERATIONS` or `BY_COMMAND_LINE`. Absent if the gateway acts by itself, and if
   * it does not know the client. Administrators of both sides are users of the B side.
   */
  by?: string
  /**
   * The side of the login id in `by`. Absent if `by` is one of the two words: a login id may be spelled like them, or like one
   * of the other side.
   */
  by_type?: LoginType
  /** The id of the request. */
  trace_id?: string
  /** The client's address, as reported by trusted proxies. */
  address?: string
  /** The browser, otherwise the first product of the user agent. */
  device_type?: string
  /** The client's name of its device, at most 128 characters. */
  device_id?: string
}

/** A change of a session, a login id or an account, published after it is done. Never a token: its `jti` names it. */
export interface SessionEvent extends Origin {
  event: EventName
  type: LoginType
  /** Whom it happened to; `null` if it concerns a name that no account has. */
  login_id: string | null
  /** The account's own name, where it is known; never a name that a client typed and no account has. */
  username?: string
  nickname?: string
  /** The token that changed, if the event concerns one token. */
  jti?: string
  /** The id of the key that changed, if the event concerns one. */
  key?: string
  /** The name of the OpenID provider, for a login by one, and for sessions that end because their user has signed out there. */
  provider?: string
  /** Kickout: the number of sessions that ended. */
  ended?: number
  /** Renewal, disable, lock of a second factor, and a login that set its lifetime: the duration in seconds. */
  seconds?: number
  /**
   * Failed login: the reason of the refusal, or what a directory says: `disabled-in-directory`, `expired-in-directory`,
   * `locked-in-directory`, `restricted-in-directory`. Kickout: `password-changed` or `account-changed` if the gateway ended sessions
   * because their account changed; sessions that began after the change are not among them; `provider-logout` if their user has
   * signed out at the provider. Disable: `too-many-failures` if
   * the gateway locked the name after failed logins. Second factor on: `replaced` if it took the place of another one, and
   * `recovery-codes` if only these are new. Login and second factor off: `recovery-code` if the user proved the factor by one.
   * Key revoked: `account-changed` if the gateway ended it because its account was removed or reset.
   */
  reason?: string
  /** Set if no replica was proven to have the change (`store.redis.wait`). */
  replicated?: false
}

/** Accepts an event at once and never fails: its delivery is not part of the request. */
export type Publish = (event: SessionEvent) => void

/** Reasons of logins that were refused before anything of them was checked: a client can cause any number of these. */
const UNCHECKED: ReadonlySet<string> = new Set(['TOO_MANY_ATTEMPTS', 'BUSY', 'UNAVAILABLE'])

/** Publishes no login that was refused unchecked: to what keeps events, a flood of them would displace all others. */
export const withoutUnchecked =
  (publish: Publish): Publish =>
  event => {
    if (event.event !== 'login-failed' || !UNCHECKED.has(event.reason ?? '')) publish(event)
  }

/** Reasons of failures that were behind the right password. */
const BEHIND_PASSWORD: ReadonlySet<string> = new Set([
  'WRONG_CODE',
  'FACTOR_UNREADABLE',
  'FACTOR_REQUIRED',
  'ACCOUNTS_UNWRITABLE',
  'ACCOUNT_LOCKED',
  'ACCOUNT_INACTIVE',
  'PASSWORD_EXPIRED',
])

/**
 * Whether a client caused the event that has proven nothing: a failed login, or the lock after several. Many clients can cause any
 * number of these. They must not displace other events, wherever a number of events is limited.
 */
export const isUnproven = ({ event, by, reason }: Pick<SessionEvent, 'event' | 'by' | 'reason'>): boolean =>
  by === undefined &&
  ((event === 'login-failed' && !BEHIND_PASSWORD.has(reason ?? '')) ||
    (event === 'disable' && reason === 'too-many-failures'))

/** Reasons of logins that were refused before any password was checked. */
const WITHOUT_PASSWORD: ReadonlySet<string> = new Set([
  'CAPTCHA_BLANK',
  'CAPTCHA_GONE',
  'CAPTCHA_WRONG',
  'TICKET_INVALID',
  'PROVIDER_REFUSED',
])

/** Publishes no refused captcha and no unknown ticket. A client needs nothing for these, and a receiver cannot use them. */
export const withoutWorthless =
  (publish: Publish): Publish =>
  event => {
    if (event.login_id !== null || !isUnproven(event) || !WITHOUT_PASSWORD.has(event.reason ?? '')) publish(event)
  }

/** One publisher for several. */
export const publishTo =
  (...sinks: readonly Publish[]): Publish =>
  event => {
    for (const sink of sinks) sink(event)
  }
