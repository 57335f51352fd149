import { createHmac } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { IdentitySettings } from '../config/schema/upstreams.ts'
import type { Session } from '../side/side.ts'

/** What of an upstream request is signed. */
export interface Signed {
  method: string
  /** As the upstream gets it, without the query. */
  path: string
  /** `null` where none was needed: then type, id and extra are empty. */
  session: Session | null
}

/** What an upstream is told of the client beside id and type (design: Upstreams). */
export interface Identity {
  /** Names and values in turn. */
  headersFor(request: Signed): string[]
}

/** `null` when nothing more is told. */
export function createIdentity(
  { extra: tellsExtra, signature: keys }: IdentitySettings,
  clock: Clock,
): Identity | null {
  if (!tellsExtra && keys.length === 0) return null
  return {
    headersFor({ method, path, session }) {
      const extra = tellsExtra && session !== null ? encode(session.record.extra) : ''
      const headers = extra === '' ? [] : ['x-login-extra', extra]
      if (keys.length === 0) return headers
      const time = Math.floor(clock.now() / 1000)
      const { type = '', user_id: userId = '' } = session?.record ?? {}
      const text = [time, type, userId, extra, method, path].join('.')
      headers.push('x-login-signature', [`t=${time}`, ...keys.map(key => `v1=${hmac(key, text)}`)].join(','))
      return headers
    },
  }
}

const encode = (extra: object): string => Buffer.from(JSON.stringify(extra)).toString('base64url')

const hmac = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex')
