import { createTimestampFormat, type TimestampFormat } from '../base/timestamp.ts'
import type { SessionRecord } from '../session/record.ts'
import type { StoredToken } from './store.ts'

type Dated = Pick<StoredToken, 'token'> & { record: Pick<SessionRecord, 'created_at'> }

/**
 * The creation time of sessions: every store reads `created_at` here. Other programs write other forms and zones, so
 * the texts themselves are never compared. Nor are the times that they show: a clock that is set back shows an hour twice, and an
 * operator can choose another zone while sessions live. There `iat` decides, which is the same in every zone.
 */
export interface Ages {
  /** The creation as `YYYY-MM-DD HH:MM:SS` in the configured zone; `''` if it is unknown. */
  createdAt(session: Dated): string
  /** The creation in milliseconds since the epoch; `null` if it is unknown. */
  createdMs(session: Dated): number | null
  /**
   * A text by which sessions sort, oldest first. Within one second the token's `iat` decides, then its `jti`, then the token
   * itself. What was created later than `now`, by more than clocks of gateways differ, was created before a clock was set back: it
   * is older than the rest.
   */
  ageOf(session: Dated, now?: number): string
}

export function createAges(timestamps: TimestampFormat = createTimestampFormat('UTC')): Ages {
  const issuedAt = ({ iat }: Issue): string => (iat === 0 ? '' : timestamps.write(iat * 1000))

  function msOf({ created_at }: Dated['record'], issue: Issue): number | null {
    const text = timestamps.normalize(created_at) ?? issuedAt(issue)
    return inSomeZone(text, issue.iat * 1000) ?? timestamps.read(text)
  }

  return {
    createdAt: ({ token, record }) => timestamps.normalize(record.created_at) ?? issuedAt(issueOf(token)),
    createdMs: ({ token, record }) => msOf(record, issueOf(token)),
    ageOf({ token, record }, now = Number.POSITIVE_INFINITY) {
      const issue = issueOf(token)
      const created = Math.max(0, msOf(record, issue) ?? 0)
      const isOfBefore = created > now + CLOCKS_DIFFER
      return `${isOfBefore ? 0 : 1} ${digitsOf(created)} ${digitsOf(issue.iat)} ${issue.jti}\u0000${token}`
    },
  }
}

/** By how much the clocks of gateways differ at most that are kept right, in milliseconds. */
const CLOCKS_DIFFER = 5000

/** By how much the times of one login differ, in milliseconds: it reads the clock for each. */
const SAME_LOGIN = 2000
/** All offsets of zones are multiples of it, in milliseconds. */
const QUARTER_HOUR = 900_000
/** No zone has a larger offset, in milliseconds. */
const MAX_OFFSET = 16 * 3_600_000

/** The time of a text in the zone whose clock shows it at `iat`; `null` where no clock does. */
function inSomeZone(text: string, iat: number): number | null {
  const shown = Date.parse(`${text.replace(' ', 'T')}Z`)
  const offset = Math.round((shown - iat) / QUARTER_HOUR) * QUARTER_HOUR
  const isOneLogin = Math.abs(shown - iat - offset) <= SAME_LOGIN && Math.abs(offset) <= MAX_OFFSET
  return isOneLogin && iat > 0 ? shown - offset : null
}

/** Numbers of equal length sort as texts. */
const digitsOf = (value: number): string => String(value).padStart(16, '0')

/** The largest second of a date. */
const MAX_SECONDS = 8.64e12

interface Issue {
  /** In seconds since the epoch; 0 if it is unknown. */
  iat: number
  jti: string
}

/** What a token says of itself, unverified: it only orders tokens in the store, and grants nothing. */
function issueOf(token: string): Issue {
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
