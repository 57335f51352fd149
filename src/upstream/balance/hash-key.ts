import type { IncomingHttpHeaders } from 'node:http'
import type { SessionRecord } from '../../session/record.ts'

/** What identifies the client of a request. */
export interface Identified {
  /** `null` if no session was needed. */
  session: { record: SessionRecord } | null
  headers: IncomingHttpHeaders
  /** The network address of the client. */
  client: string
}

/** The key by which requests go to the same target; `null` for requests that have none. */
export type KeyOf = (request: Identified) => string | null

const HEADER = 'header:'

/** `hash` is `login-id`, `address` or `header:<name>`. */
export function createKey(hash: string): KeyOf {
  if (hash === 'address') return ({ client }) => client
  if (hash.startsWith(HEADER)) {
    const name = hash.slice(HEADER.length).toLowerCase()
    return ({ headers }) => String(headers[name] ?? '') || null
  }
  // The two sides may have the same ids for different users.
  return ({ session }) => (session === null ? null : `${session.record.type} ${session.record.user_id}`)
}
