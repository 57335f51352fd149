import { createMomentFormat, type MomentFormat } from '../side/moment.ts'
import type { SessionRecord } from '../side/record.ts'
import type { StoredToken } from './store.ts'

type Dated = Pick<StoredToken, 'token'> & { record: Pick<SessionRecord, 'created_at'> }

/**
 * When sessions were created, whoever wrote their records: the one reader of `created_at` of every store. Other programs
 * write other forms and other zones, so the texts themselves are never compared.
 */
export interface Ages {
  /** The creation as `YYYY-MM-DD HH:MM:SS` in the configured zone; these texts sort by age. `''` when nothing tells it. */
  createdAt(session: Dated): string
  /** The creation in milliseconds since the epoch; `null` when nothing tells it. */
  createdMs(session: Dated): number | null
  /** Oldest first. Within one second the token's `iat` decides, then its `jti`, then the token itself. */
  byAge(a: Dated, b: Dated): number
}

export function createAges(moments: MomentFormat = createMomentFormat('UTC')): Ages {
  function createdAt({ token, record }: Dated): string {
    const written = moments.normalize(record.created_at)
    if (written !== null) return written
    const { iat } = issueOf(token)
    return iat === 0 ? '' : moments.write(iat * 1000)
  }

  return {
    createdAt,
    createdMs: session => moments.read(createdAt(session)),
    byAge: (a, b) => compare(createdAt(a), createdAt(b)) || byIssue(a.token, b.token),
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function byIssue(a: string, b: string): number {
  const [one, other] = [issueOf(a), issueOf(b)]
  return one.iat - other.iat || compare(one.jti, other.jti) || compare(a, b)
}

/** The last second that a date can hold. */
const MAX_SECONDS = 8.64e12

/** What a token says of its issue, without proof: it orders what the store already holds, and grants nothing. */
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
