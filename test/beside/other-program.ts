import { createHmac, randomUUID } from 'node:crypto'
import type { LoginType } from '../../src/session/sides.ts'
import type { RedisServer } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

/** A back end of the same family that signs users in on the same Redis: raw keys as the specification has them. */
export interface OtherProgram {
  /** Signs a user in and answers the token. */
  signIn(userId: string, options?: SignIn): Promise<string>
  /** Ends one session as its logout does: the record, then the member. */
  signOut(userId: string, token: string, type?: LoginType): Promise<void>
}

export interface SignIn {
  type?: LoginType
  /** When, in milliseconds since the epoch; now when it is not given. */
  at?: number
  /** How the time is written: `+00:00` and microseconds, as Python's `isoformat()` has it, unless another form is given. */
  form?: (at: number) => string
  extra?: Record<string, unknown>
  seconds?: number
  /** The record alone is stored when it is false: the user's key may hold something else. */
  isInSet?: boolean
}

/** `2026-01-02T03:04:05.123456+00:00` */
export const isoInUtc = (at: number): string => `${new Date(at).toISOString().slice(0, -1)}456+00:00`
/** `2026-01-02T11:04:05+08:00` */
export const isoInShanghai = (at: number): string => `${new Date(at + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`
/** `2026-01-02T03:04:05Z` */
export const isoWithZ = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export function otherProgram(server: RedisServer, secret: string, prefix = 'svc:auth'): OtherProgram {
  return {
    async signIn(userId, options = {}) {
      const {
        type = 'BUSINESS',
        at = Date.now(),
        form = isoInUtc,
        extra = {},
        seconds = 3600,
        isInSet = true,
      } = options
      const head = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ jti: randomUUID(), iat: Math.floor(at / 1000) })}`
      const token = `${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`
      const record = { user_id: userId, type, created_at: form(at), extra }
      await server.cli('SET', `${prefix}:${type}:token:${token}`, JSON.stringify(record), 'EX', String(seconds))
      if (!isInSet) return token
      await server.cli('SADD', `${prefix}:${type}:session:${userId}`, token)
      await server.cli('EXPIRE', `${prefix}:${type}:session:${userId}`, String(seconds))
      return token
    },
    async signOut(userId, token, type = 'BUSINESS') {
      await server.cli('DEL', `${prefix}:${type}:token:${token}`)
      await server.cli('SREM', `${prefix}:${type}:session:${userId}`, token)
    },
  }
}

/** Repeats a request until the answer is the expected one, for at most half a minute; returns the last answer. */
export async function eventually<T>(ask: () => Promise<T>, expected: T): Promise<T> {
  const wanted = JSON.stringify(expected)
  await until(async () => JSON.stringify(await ask()) === wanted).catch(() => undefined)
  return ask()
}
