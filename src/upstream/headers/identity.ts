import type { Clock } from '../../base/clock.ts'
import { sign } from '../../base/hmac.ts'
import { textsOf } from '../../session/record.ts'
import type { IdentityField, IdentitySettings } from '../../settings/schema/upstreams.ts'
import type { Session } from '../../side/side.ts'

/** Adds the headers that every upstream gets with a session: its id and type, and the id of the key if that is what proved it. */
export function addLogin(headers: string[], { record, key }: Session): void {
  headers.push('x-login-id', record.user_id, 'x-login-type', record.type)
  if (key !== undefined) headers.push('x-login-key', key.id)
}

/** The signed parts of an upstream request. */
export interface Signed {
  method: string
  /** The path that the upstream receives, without the query. */
  path: string
  /** `null` if no session was needed: then type, id and extra are empty. */
  session: Pick<Session, 'record'> | null
}

/** Headers about the client beside its id and type (design: Upstreams). */
export interface Identity {
  /** Names and values in turn. */
  headersFor(request: Signed): string[]
}

/** The headers that identify the client beside its id and type. Clients cannot send them. */
export const namedHeaders = ({ headers, assertion }: IdentitySettings): string[] => [
  ...Object.keys(headers),
  ...(assertion === 'off' ? [] : [assertion.header]),
]

/** `null` if an upstream gets only id and type, and perhaps an assertion (assertions.ts). */
export function createIdentity(
  { headers: named, extra: sendsExtra, signature: keys }: IdentitySettings,
  clock: Clock,
): Identity | null {
  const fields = Object.entries(named)
  if (fields.length === 0 && !sendsExtra && keys.length === 0) return null
  return {
    headersFor({ method, path, session }) {
      const headers = session === null ? [] : fieldHeaders(fields, session.record)
      const extra = sendsExtra && session !== null ? encode(session.record.extra) : ''
      if (extra !== '') headers.push('x-login-extra', extra)
      if (keys.length === 0) return headers
      const { type = '', user_id: userId = '' } = session?.record ?? {}
      const text = [type, userId, extra, method, path].join('.')
      headers.push('x-login-signature', sign(text, keys, clock.now()))
      return headers
    },
  }
}

const encode = (extra: object): string => Buffer.from(JSON.stringify(extra)).toString('base64url')

type Fields = readonly (readonly [name: string, field: IdentityField])[]

/** What a user does not have has no header. */
function fieldHeaders(fields: Fields, record: Session['record']): string[] {
  return fields.flatMap(([name, field]) => {
    const value = VALUES[field](record)
    return value === '' ? [] : [name, value]
  })
}

const VALUES: Readonly<Record<IdentityField, (record: Session['record']) => string>> = {
  id: ({ user_id }) => user_id,
  type: ({ type }) => type,
  username: ({ extra }) => escaped(extra.username),
  nickname: ({ extra }) => escaped(extra.nickname),
  roles: ({ extra }) =>
    textsOf(extra, 'roles')
      .map(role => escaped(role).replaceAll(',', '%2C'))
      .join(','),
}

const PLAIN = /^[!-$&-~]*$/

/**
 * A text as the value of a header: `%` and everything outside of visible ASCII is percent-encoded as UTF-8, so that no server
 * reads it as another one. `''` for what is not a text.
 */
function escaped(value: unknown): string {
  if (typeof value !== 'string') return ''
  if (PLAIN.test(value)) return value
  return Array.from(Buffer.from(value), byte => {
    const character = String.fromCharCode(byte)
    return PLAIN.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}
