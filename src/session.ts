import { type FieldFault, Refusal } from './base/refusal.ts'

/** The two sides, by the login types of the specification, and every name that is derived from the side. */
export const SIDES = {
  BUSINESS: { name: 'business', section: 'b', letter: 'B', administration: 'sys/session', accounts: 'sys/account' },
  CONSUMER: {
    name: 'consumer',
    section: 'c',
    letter: 'C',
    administration: 'client/session',
    accounts: 'client/account',
  },
} as const satisfies Record<string, SideNames>

interface SideNames {
  /** In settings, in the paths of operations and as a property of `gateway.sides`. */
  name: string
  /** The segment behind `/api/v<n>/` and `/api/v<n>/public/`. */
  section: string
  /** In texts, and first in the keys of the embedded store. */
  letter: string
  /** Where "Session administration" is, below `/api/v<n>/`. */
  administration: string
  /** Where the account administration is, below `/api/v<n>/`. */
  accounts: string
}

export type LoginType = keyof typeof SIDES
export type SideName = (typeof SIDES)[LoginType]['name']

/** In the order in which both sides are shown. */
export const LOGIN_TYPES = Object.keys(SIDES) as readonly LoginType[]

/** One value per side. */
export const bySide = <T>(make: (type: LoginType) => T): Record<LoginType, T> => ({
  BUSINESS: make('BUSINESS'),
  CONSUMER: make('CONSUMER'),
})

/** One value per side, by the side's name in settings. */
export const bySideName = <T>(make: (type: LoginType) => T): Record<SideName, T> => ({
  business: make('BUSINESS'),
  consumer: make('CONSUMER'),
})

/** The role that holds every permission. */
export const SUPER_ADMIN = 'SUPER_ADMIN'

/** Why a session has ended before its time. */
export const END_REASONS = ['replaced', 'kicked-out', 'password-changed', 'account-changed', 'logged-out'] as const

export type EndReason = (typeof END_REASONS)[number]

/** Reads a stored value. `null` for an unknown reason. */
export const readEndReason = (text: string): EndReason | null => END_REASONS.find(reason => reason === text) ?? null

/** The refusal of a request without a live session. `ended`: why its session has ended, if that is reported. */
export const notLoggedIn = (ended?: EndReason | null): Refusal =>
  new Refusal('NOT_LOGGED_IN', ended ? { data: { ended } } : {})

export type Extra = Record<string, unknown>

/** The session token record, exactly as specified: the value stored under a token's key. */
export interface SessionRecord {
  user_id: string
  type: LoginType
  /** `YYYY-MM-DD HH:MM:SS` in the configured time zone. */
  created_at: string
  extra: Extra
}

/** Ids that fit keys and header values as they are ("Session token record"). */
export const LOGIN_ID_PATTERN = '^[A-Za-z0-9._@:-]{1,128}$'
const LOGIN_ID = new RegExp(LOGIN_ID_PATTERN)

export const isLoginId = (value: unknown): value is string => typeof value === 'string' && LOGIN_ID.test(value)

export const writeRecord = (record: SessionRecord): string => JSON.stringify(record)

/**
 * Reads a stored value, also one that another program wrote under the same key. `null` when it is not a record of
 * this side: such a token is not logged in.
 */
export function readRecord(text: string, type: LoginType): SessionRecord | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (!isPlainObject(value) || value.type !== type || !isLoginId(value.user_id)) return null
  return {
    user_id: value.user_id,
    type,
    created_at: typeof value.created_at === 'string' ? value.created_at : '',
    extra: isPlainObject(value.extra) ? value.extra : {},
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The texts of an own list in `extra`; empty for any other value. */
export function textsOf(extra: Extra, name: string): string[] {
  const value = Object.hasOwn(extra, name) ? extra[name] : undefined
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}

export const MAX_EXTRA_BYTES = 8192
const MAX_EXTRA_DEPTH = 16

/** Why `extra` cannot be stored; `null` when it can. */
export function faultOfExtra(extra: unknown): FieldFault | null {
  if (!isPlainObject(extra)) return 'must be an object'
  if (depthOf(extra, MAX_EXTRA_DEPTH) > MAX_EXTRA_DEPTH) return `must not nest deeper than ${MAX_EXTRA_DEPTH} levels`
  if (Buffer.byteLength(JSON.stringify(extra)) > MAX_EXTRA_BYTES)
    return `must be at most ${MAX_EXTRA_BYTES} bytes as JSON`
  return null
}

/** Depth of a value. Counting stops after `limit` levels, so that a cycle ends too. */
function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (limit === 0) return 1
  let deepest = 0
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, limit - 1))
  return deepest + 1
}
