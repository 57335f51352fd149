import type { Clock } from '../base/clock.ts'
import { createSharedRuns } from '../base/shared-runs.ts'
import type { Origin } from '../event/event.ts'
import type { EndReason } from '../session/end-reason.ts'
import type { SessionRecord } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { Ages } from '../store/age.ts'
import type { EndNote, SessionStore } from '../store/store.ts'
import { asToken } from '../token/bearer.ts'
import type { Jwt } from '../token/jwt.ts'
import { Limit } from './oldest-tokens.ts'
import type { Confirmed } from './replicated-events.ts'

export interface TokenLimits {
  /** 0: as many as there are logins. */
  max_tokens_per_user: number
  /** The limit holds for each device type by itself. */
  per_device: boolean
}

export interface TokensLimitOptions {
  type: LoginType
  jwt: Jwt
  store: SessionStore
  ages: Ages
  clock: Clock
  policy: TokenLimits
  confirmed: Confirmed
  noteOf(reason: EndReason): EndNote | undefined
}

/**
 * Ends the oldest tokens of a user who has more than `max_tokens_per_user`, at the end of a login from `origin`. Counting them
 * first is cheap, and mostly enough. Of logins at once only some read all tokens; what they end bears the origin of one of them.
 */
export function createTokensLimit({ type, jwt, store, ages, clock, policy, confirmed, noteOf }: TokensLimitOptions) {
  const { max_tokens_per_user: most, per_device: isPerDevice } = policy
  const endOldest = createSharedRuns<Origin>(async (userId, origin) => {
    const surplus = await tokensBeyond(userId)
    // The others may have ended meanwhile, at the request of the oldest: then nothing is beyond the limit.
    if (await isWithin(userId)) return
    for (const tokens of surplus) await replace(userId, tokens, origin)
  })

  const isWithin = async (userId: string): Promise<boolean> => (await store.count(type, userId)) <= most

  /** The tokens of each device type beyond the limit, oldest first. */
  async function tokensBeyond(userId: string): Promise<string[][]> {
    const limits = new Map<string, Limit>()
    for await (const batch of store.batches(type, userId)) {
      // For each batch: a walk can take long, and a login during it is not one of before the clock was set back.
      const now = clock.now()
      for (const stored of batch) {
        const device = isPerDevice ? deviceOf(stored.record) : ''
        const limit = limits.get(device) ?? new Limit(most)
        limits.set(device, limit)
        limit.add({ token: stored.token, age: ages.ageOf(stored, now) })
      }
    }
    return Array.from(limits.values(), limit => limit.surplus())
  }

  async function replace(userId: string, tokens: readonly string[], origin: Origin): Promise<void> {
    const ended = await store.removeSome(type, userId, tokens, noteOf('replaced'))
    const events = ended.map(token => {
      const text = asToken(token)
      const jti = (text === null ? null : jwt.read(text))?.jti ?? ''
      return { event: 'replaced' as const, login_id: userId, jti, ...origin }
    })
    await confirmed(...events)
  }

  return async (userId: string, origin: Origin): Promise<void> => {
    if (most > 0 && !(await isWithin(userId))) await endOldest(userId, origin)
  }
}

/** The device type of a session, as its record says. Sessions without one are a type of their own. */
function deviceOf({ extra }: SessionRecord): string {
  const device = Object.hasOwn(extra, 'device_type') ? extra.device_type : undefined
  return typeof device === 'string' ? device : ''
}
