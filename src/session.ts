import type { FieldFault } from './refusal.ts'

/** The login types of the specification, one per side. */
export const LOGIN_TYPES = ['BUSINESS', 'CONSUMER'] as const
export type LoginType = (typeof LOGIN_TYPES)[number]

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
const LOGIN_ID = /^[A-Za-z0-9._@:-]{1,128}$/

export const isLoginId = (value: unknown): value is string => typeof value === 'string' && LOGIN_ID.test(value)

export const writeRecord = (record: SessionRecord): string => JSON.stringify(record)

/**
 * Reads a stored value, also one that another program wrote under the same key. `null` when it is no record of this
 * side: such a token is not logged in.
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

export const MAX_EXTRA_BYTES = 8192
export const MAX_EXTRA_DEPTH = 16

/** What keeps `extra` from being stored, in words; `null` when nothing does. */
export function faultOfExtra(extra: unknown): FieldFault | null {
  if (!isPlainObject(extra)) return 'must be an object'
  if (depthOf(extra, MAX_EXTRA_DEPTH) > MAX_EXTRA_DEPTH) return `must not nest deeper than ${MAX_EXTRA_DEPTH} levels`
  if (Buffer.byteLength(JSON.stringify(extra)) > MAX_EXTRA_BYTES)
    return `must be at most ${MAX_EXTRA_BYTES} bytes as JSON`
  return null
}

/** Depth of a value, not looked at beyond `limit` levels, so that a cycle ends too. */
function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (limit === 0) return 1
  let deepest = 0
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, limit - 1))
  return deepest + 1
}
