import type { Test } from 'tap'
import type { Extra, SessionRecord } from '../../src/session/record.ts'
import type { LoginType } from '../../src/session/sides.ts'
import type { StoreUnderTest } from './contract.ts'

export const MINUTE = 60_000
/** Longer than a test takes on a busy machine, in milliseconds: what lives for so long does not end by itself. */
export const LONG = 10 * MINUTE
/** What a store may be off by: some keep their own clock, or whole seconds. */
export const SLACK = 1000

let issued = 0
/** A token as long as a real one, never the same twice. */
export const freshToken = (): string => `eyJhbGciOiJIUzI1NiJ9.${String(issued++).padStart(64, 'x')}.${'s'.repeat(43)}`

export const record = (type: LoginType, userId: string, extra: Extra = {}): SessionRecord => ({
  user_id: userId,
  type,
  created_at: '2025-01-31 12:00:00',
  extra,
})

/** Logs a user in for `lifetime` milliseconds and answers the token. */
export async function login(
  { store, clock }: Pick<StoreUnderTest, 'store' | 'clock'>,
  type: LoginType,
  userId: string,
  lifetime: number,
): Promise<string> {
  const token = freshToken()
  const admission = await store.sessions.add(type, token, record(type, userId), clock.now() + lifetime)
  if (!admission.admitted) throw new Error(`${userId} was not admitted`)
  return token
}

export const isLive = async ({ store }: StoreUnderTest, type: LoginType, token: string): Promise<boolean> =>
  (await store.sessions.find(type, token)) !== null

export const tokensOf = async ({ store }: StoreUnderTest, type: LoginType, userId: string): Promise<string[]> =>
  (await store.sessions.tokens(type, userId)).map(({ token }) => token)

/** A timestamp of the store lies `ms` milliseconds ahead, give or take the slack, and less what has passed since the test began. */
export function ahead(
  t: Test,
  { clock, began }: StoreUnderTest,
  timestamp: number | null,
  ms: number,
  message: string,
): void {
  const now = clock.now()
  const left = (timestamp ?? Number.NaN) - now
  const passed = began === null ? 0 : now - began
  t.ok(left <= ms + SLACK && left >= ms - SLACK - passed, `${message}: ${left} ms ahead, expected ${ms}`)
}
