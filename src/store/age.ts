import { createTimestampFormat, type TimestampFormat } from '../base/timestamp.ts'
import type { SessionRecord } from '../session/record.ts'
import type { StoredToken } from './store.ts'

type Dated = Pick<StoredToken, 'token'> & { record: Pick<SessionRecord, 'created_at'> }

/**
 * The creation time of sessions: every store reads `created_at` here. Other programs write other forms and zones, so
 * the texts themselves are never compared. Nor are the times that they show: a clock that is set back shows an hour twice, and an
 * operator can choose another zone while sessions live. So `iat` decides where both are one time in any zone.
 */
export interface Ages {
  /** The creation as `YYYY-MM-DD HH:MM:SS` in the configured zone; `''` if it is unknown. */
  createdAt(session: Dated): string
  /** The creation in milliseconds since the epoch; `null` if it is unknown. */
  createdMs(session: Dated): number | null
  /**
   * A text by which sessions sort, oldest first. Within one second the token's `iat` decides, then its `jti`, then the token
   * itself.
   */
  ageOf(session: Dated): string
}

export function createAges(timestamps: TimestampFormat = createTimestampFormat('UTC')): Ages {
  function createdAt({ token, record }: Dated): string {
    const written = timestamps.normalize(record.created_at)
    if (written !== null) return written
    const { iat } = issueOf(token)
    return iat === 0 ? '' : timestamps.write(iat * 1000)
  }

  function createdMs(session: Dated): number | null {
    const text = createdAt(session)
    const { iat } = issueOf(session.token)
    return isOneTime(text, iat) ? iat * 1000 : timestamps.read(text)
  }

  return {
    createdAt,
    createdMs,
    ageOf: session => `${digitsOf(Math.max(0, createdMs(session) ?? 0))} ${issueTextOf(session.token)}`,
  }
}

/** Seconds by which the times of one login differ: it reads the clock for each. */
const SAME_LOGIN = 2
/** All offsets of zones are multiples of it, in seconds. */
const QUARTER_HOUR = 900
/** The largest difference between two zones, in seconds. */
const MAX_OFFSET = 26 * 3600

/** Whether a clock in some zone shows this text at `iat`. */
function isOneTime(text: string, iat: number): boolean {
  if (iat === 0) return false
  const offset = Date.parse(`${text.replace(' ', 'T')}Z`) / 1000 - iat
  const rest = Math.abs(offset - Math.round(offset / QUARTER_HOUR) * QUARTER_HOUR)
  return Math.abs(offset) <= MAX_OFFSET && rest <= SAME_LOGIN
}

/** Numbers of equal length sort as texts. */
const digitsOf = (value: number): string => String(value).padStart(16, '0')

function issueTextOf(token: string): string {
  const { iat, jti } = issueOf(token)
  return `${digitsOf(iat)} ${jti}\u0000${token}`
}

/** The largest second of a date. */
const MAX_SECONDS = 8.64e12

/** The unverified `iat` of a token: it only orders tokens in the store, and grants nothing. */
function issueOf(token: string): { iat: number; jti: string } {
  const absent = { iat: 0, jti: '' }
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    if (typeof claims !== 'object' || claims === null) return absent
    const { iat, jti } = claims as Record<string, unknown>
    const isTime = typeof iat === 'number' && iat > 0 && iat < MAX_SECONDS
    return { iat: isTime ? Math.floor(iat) : 0, jti: typeof jti === 'string' ? jti : '' }
  } catch {
    return absent
  }
}
