import type { Extra } from '../session/record.ts'
import { isSeconds } from './input.ts'

/*
 * The lifetime of a session whose login set one. It stands in the session's `extra`, so that every gateway that renews the
 * session knows it.
 */

/** The key in a session's `extra`; its value is in seconds. */
const LIFETIME = 'session_seconds'

/** The lifetime that a login set, in seconds; `undefined` without one. */
export function lifetimeIn(extra: Extra): number | undefined {
  const seconds = Object.hasOwn(extra, LIFETIME) ? extra[LIFETIME] : undefined
  return isSeconds(seconds) ? seconds : undefined
}

/** The `extra` of a session with this lifetime, or with that of its side. A client sets none by writing the key itself. */
export function withLifetime(extra: Extra, seconds: number | undefined): Extra {
  const { [LIFETIME]: _, ...others } = extra
  return seconds === undefined ? others : { ...others, [LIFETIME]: seconds }
}
