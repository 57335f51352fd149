import type { LoginType } from '../session/sides.ts'
import type { SessionStore } from '../store/store.ts'
import { asToken } from '../token/bearer.ts'
import type { Jwt } from '../token/jwt.ts'

export type TokenHandles = ReturnType<typeof createTokenHandles>

/** A handle names a token and is useless as a token: its `jti`. */
export function createTokenHandles(sessions: Pick<SessionStore, 'batches'>, jwt: Pick<Jwt, 'read'>) {
  function of(text: string): string {
    const token = asToken(text)
    return (token === null ? null : jwt.read(token))?.jti ?? ''
  }

  /** The token of a user by its handle; `null` without one. */
  async function find(type: LoginType, userId: string, handle: string): Promise<string | null> {
    if (handle === '') return null
    for await (const batch of sessions.batches(type, userId)) {
      const found = batch.find(({ token }) => of(token) === handle)
      if (found !== undefined) return found.token
    }
    return null
  }

  return { of, find }
}
