import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/refusal.ts'
import type { Extra } from '../session/record.ts'
import { isYoung } from '../token/jwt.ts'
import { latestEndIn, lifetimeIn, renewedEndIn, withRenewedEnd } from './lifetime.ts'
import type { Session } from './live.ts'
import { createTokensLimit, type TokenLimits, type TokensLimitOptions } from './tokens-limit.ts'

/** The optional policies of one side; times in milliseconds. */
export interface SessionPolicy extends TokenLimits {
  auto_renew: 'off' | number
  idle_timeout: 'off' | number
}

export interface PolicyOptions extends TokensLimitOptions {
  policy: SessionPolicy
  /** Lifetime in seconds of a session whose login sets none. */
  expireSeconds: number
}

/** The end of an idle session moves in steps of this part of its idle time: not every request writes to the store. */
const IDLE_STEPS = 10
/** Sessions whose last renewal is remembered; a forgotten one is renewed one time more often. */
const MAX_REMEMBERED = 100_000

/**
 * The optional policies of a side. Several gateways may act at once, with the same result: the oldest tokens are the same
 * for all of them, and one renewal more changes nothing.
 */
export function createPolicy({ type, store, clock, policy, ...options }: PolicyOptions) {
  const { auto_renew: renewEvery, idle_timeout: idle } = policy
  const interval = shortest(renewEvery, idle === 'off' ? 'off' : idle / IDLE_STEPS)
  const renewed = new Map<string, number>()

  const { lifetimeOf, expiryOf, whileUsed } = createExpiry(policy, clock, options.expireSeconds)

  return {
    lifetimeOf,
    /** Notes the end that a renewal sets, where the use of a session moves ends. `false` when it has ended. */
    noteRenewal: async ({ token, record }: Pick<Session, 'token' | 'record'>, end: number): Promise<boolean> =>
      interval === 'off' || store.replaceRecord(type, record.user_id, token, extra => withRenewedEnd(extra, end)),

    /** When a session will end that is renewed now until then, if it is not used. */
    renewedExpiry: whileUsed,

    /** When a session that begins now will end if it is not used. */
    firstExpiry: (extra: Extra): number => expiryOf(clock.now(), extra),

    /** A user has one more token: the oldest beyond the limit end. */
    entered: createTokensLimit({ type, store, clock, policy, ...options }),

    /**
     * A session was used: its end may move. The request does not wait for it. Answers for how many seconds `auto_renew` lets the
     * session live from now on; `null` where that does not change.
     */
    used({ token, claims, record }: Session): number | null {
      if (interval === 'off') return null
      const now = clock.elapsed()
      const last = renewed.get(token)
      if (last === undefined ? isYoung(claims, interval, clock.now()) : now - last < interval) return null
      if (renewed.size >= MAX_REMEMBERED) renewed.clear()
      renewed.set(token, now)
      const endOf = (extra: Extra): number => expiryOf(claims.iat * 1000, extra)
      if (endOf(record.extra) <= clock.now()) return null
      // By what is stored then: a requested renewal may come meanwhile. A failing store is reported to the requests that need it; this
      // request was answered.
      store.renew(type, record.user_id, token, endOf).catch(fault => {
        renewed.delete(token)
        if (!(fault instanceof Refusal)) throw fault
      })
      return renewEvery === 'off' ? null : lifetimeOf(record.extra)
    },
  }
}

/** When sessions end that are used now. */
function createExpiry({ auto_renew: renews, idle_timeout: idle }: SessionPolicy, clock: Clock, expireSeconds: number) {
  /** How long a session that begins or is renewed now lives, in seconds, unless a renewal is later. */
  function lifetimeOf(extra: Extra): number {
    const left = Math.max(0, Math.floor((latestEndIn(extra) - clock.now()) / 1000))
    return Math.min(lifetimeIn(extra) ?? expireSeconds, left)
  }

  /** When a session ends that began at this time and is used now. `extra`: its own, which may hold a lifetime. */
  function expiryOf(begun: number, extra: Extra): number {
    const now = clock.now()
    const lifetime = (lifetimeIn(extra) ?? expireSeconds) * 1000
    const renewedEnd = renewedEndIn(extra)
    const full = renews === 'off' ? (renewedEnd ?? begun + lifetime) : Math.max(now + lifetime, renewedEnd ?? 0)
    return whileUsed(Math.min(full, latestEndIn(extra)))
  }

  /** When a session ends whose lifetime ends then, if it is not used from now on. */
  const whileUsed = (end: number): number => (idle === 'off' ? end : Math.min(end, clock.now() + idle))

  return { lifetimeOf, expiryOf, whileUsed }
}

export type Policy = ReturnType<typeof createPolicy>

function shortest(a: 'off' | number, b: 'off' | number): 'off' | number {
  if (a === 'off') return b
  return b === 'off' ? a : Math.min(a, b)
}
