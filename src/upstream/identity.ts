import type { Clock } from '../base/clock.ts'
import { sign } from '../base/hmac.ts'
import type { IdentitySettings } from '../config/schema/upstreams.ts'
import type { Session } from '../side/side.ts'

/** The signed parts of an upstream request. */
export interface Signed {
  method: string
  /** The path that the upstream receives, without the query. */
  path: string
  /** `null` if no session was needed: then type, id and extra are empty. */
  session: Session | null
}

/** Headers about the client beside its id and type (design: Upstreams). */
export interface Identity {
  /** Names and values in turn. */
  headersFor(request: Signed): string[]
}

/** `null` if an upstream gets only id and type. */
export function createIdentity(
  { extra: sendsExtra, signature: keys }: IdentitySettings,
  clock: Clock,
): Identity | null {
  if (!sendsExtra && keys.length === 0) return null
  return {
    headersFor({ method, path, session }) {
      const extra = sendsExtra && session !== null ? encode(session.record.extra) : ''
      const headers = extra === '' ? [] : ['x-login-extra', extra]
      if (keys.length === 0) return headers
      const { type = '', user_id: userId = '' } = session?.record ?? {}
      const text = [type, userId, extra, method, path].join('.')
      headers.push('x-login-signature', sign(text, keys, clock.now()))
      return headers
    },
  }
}

const encode = (extra: object): string => Buffer.from(JSON.stringify(extra)).toString('base64url')
