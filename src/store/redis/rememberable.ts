import type { SessionRecord } from '../../session/record.ts'
import type { LoginType } from '../../session/sides.ts'
import type { Credential } from '../credentials.ts'
import type { Disable, Kept } from '../remembered-values.ts'
import type { ReadableCredentials } from './credentials/credentials.ts'
import type { ReadableSessions } from './sessions/sessions.ts'

/** Reads from which a process may remember, each with an end that is never later than the true one. */
export interface RememberableReads {
  session(type: LoginType, token: string): Promise<Kept<SessionRecord> | null>
  credential(type: LoginType, id: string): Promise<Kept<Credential> | null>
  disable(type: LoginType, userId: string): Promise<Kept<Disable>>
}

export const rememberableReads = (
  sessions: Pick<ReadableSessions, 'read' | 'disabledUntil'>,
  credentials: Pick<ReadableCredentials, 'read'>,
): RememberableReads => ({
  async session(type, token) {
    const stored = await sessions.read(type, token)
    return stored === null ? null : { value: stored.record, expiresAt: stored.expiresAt }
  },
  credential: (type, id) => credentials.read(type, id),
  async disable(type, userId) {
    const until = await sessions.disabledUntil(type, userId)
    return { value: { userId, until }, expiresAt: until ?? Number.POSITIVE_INFINITY }
  },
})
