import type { Extra } from '../session/record.ts'
import { isSeconds } from './input.ts'

/*
 * The lifetime of a session whose login set one, the end that a renewal set, and the time that no renewal passes. All stand in the
 * session's `extra`, so that every gateway that renews the session knows them.
 */

/** The key of the lifetime in a session's `extra`; its value is in seconds. */
const LIFETIME = 'session_seconds'
/** The key of the latest end; its value is in milliseconds since the epoch. */
const LATEST_END = 'session_latest_end'
/** The key of the end that a renewal has set; its value is in milliseconds since the epoch. */
const RENEWED_END = 'session_renewed_end'

/** What a login says about the life of its session. */
export interface Lifetime {
  /** Seconds that a session lives, instead of those of its side. */
  seconds?: number | undefined
  /** When it ends however often it is renewed, in milliseconds since the epoch. */
  latestEnd?: number | undefined
}

/** The lifetime that a login set, in seconds; `undefined` without one. */
export function lifetimeIn(extra: Extra): number | undefined {
  const seconds = Object.hasOwn(extra, LIFETIME) ? extra[LIFETIME] : undefined
  return isSeconds(seconds) ? seconds : undefined
}

/** When a session ends however often it is renewed, in milliseconds since the epoch; `Infinity` without such a time. */
export function latestEndIn(extra: Extra): number {
  return timestampIn(extra, LATEST_END) ?? Number.POSITIVE_INFINITY
}

/** When a session ends by its last renewal, in milliseconds since the epoch; `undefined` if none was noted. */
export const renewedEndIn = (extra: Extra): number | undefined => timestampIn(extra, RENEWED_END)

function timestampIn(extra: Extra, key: string): number | undefined {
  const timestamp = Object.hasOwn(extra, key) ? extra[key] : undefined
  return typeof timestamp === 'number' ? timestamp : undefined
}

/** The `extra` of a session that was renewed until then. */
export const withRenewedEnd = (extra: Extra, renewedEnd: number): Extra => ({ ...extra, [RENEWED_END]: renewedEnd })

/** The `extra` of a session with this lifetime. A client sets none by writing the keys itself. */
export function withLifetime(extra: Extra, { seconds, latestEnd }: Lifetime): Extra {
  const { [LIFETIME]: _, [LATEST_END]: __, [RENEWED_END]: ___, ...others } = extra
  return {
    ...others,
    ...(seconds !== undefined && { [LIFETIME]: seconds }),
    ...(latestEnd !== undefined && { [LATEST_END]: latestEnd }),
  }
}
