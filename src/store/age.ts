import { createTimestampFormat, type TimestampFormat } from '../base/timestamp.ts'
import type { SessionRecord } from '../session/record.ts'
import type { StoredToken } from './store.ts'

type Dated = Pick<StoredToken, 'token'> & { record: Pick<SessionRecord, 'created_at'> }

/**
 * The creation time of sessions: every store reads `created_at` here. Other programs write other forms and zones, so
 * the texts themselves are never compared.
 */
export interface Ages {
  /** The creation as `YYYY-MM-DD HH:MM:SS` in the configured zone; these texts sort by age. `''` if it is unknown. */
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

  return {
    createdAt,
    createdMs: session => timestamps.read(createdAt(session)),
    ageOf: session => `${createdAt(session)} ${issueTextOf(session.token)}`,
  }
}

function issueTextOf(token: string): string {
  const { iat, jti } = issueOf(token)
  return `${String(iat).padStart(13, '0')} ${jti}\u0000${token}`
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
