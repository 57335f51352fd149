import type { Extra } from './record.ts'

/** The key in a session's `extra`. */
export const PROVIDER = 'provider'

/** The OpenID provider by which the session with this `extra` began; `null` for any other. */
export function providerIn(extra: Extra): string | null {
  const provider = Object.hasOwn(extra, PROVIDER) ? extra[PROVIDER] : null
  return typeof provider === 'string' ? provider : null
}
