import { isPlainObject } from '../base/plain-object.ts'
import type { FieldFault } from '../base/refusal.ts'
import type { LoginType } from './sides.ts'

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

/** A stored value that `readRecord` reads, with another `extra`. What else another program wrote into it stays as it is. */
export const withExtra = (text: string, extra: Extra): string => JSON.stringify({ ...JSON.parse(text), extra })

/** The role that holds every permission. */
export const SUPER_ADMIN = 'SUPER_ADMIN'

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
