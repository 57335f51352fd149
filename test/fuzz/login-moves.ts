import { fc } from '../support/random.ts'

/* What users, guessers and administrators do while logins are under way, generated. */

export const USERS = 3
/** No sum of them is a lifetime, in milliseconds. */
export const LEAPS = [1009, 31_013, 31_013, 127_031, 310_019, 3_700_101]
export const HOSTILE = [
  '',
  '\u0000',
  '中'.repeat(40),
  '../ticket',
  '000000000',
  '{}',
  '１２３４５６',
  '12 34',
  'A'.repeat(16),
]

/** Of a code. */
const kind = fc.constantFrom(
  ...(['right', 'right', 'next', 'previous', 'old', 'used', 'wrong', 'wrong'] as const),
  ...(['foreign', 'recovery', 'recovery', 'used recovery', 'hostile'] as const),
)

const some = <const T extends string>(weight: number, ...verbs: readonly T[]) => ({
  weight: weight * verbs.length,
  arbitrary: fc.constantFrom(...verbs),
})
/** `advance` does rightly what a ticket is for. */
const verb = fc.oneof(
  some(5, 'advance'),
  some(3, 'login', 'enter'),
  some(1, 'setUp', 'password', 'wait', 'alter', 'rush', 'guess'),
)

export const loginStep = fc.record({
  verb,
  user: fc.nat(USERS - 1),
  /** Which of the tickets that were issued last, of those that have not been used, or of all. */
  ticket: fc.constantFrom(0, 0, 0, 0, 1, 2, 5),
  any: fc.constantFrom(false, false, false, false, false, true),
  kind,
  leap: fc.constantFrom(...LEAPS),
  change: fc.constantFrom('password', 'roles', 'status', 'factor', 'must-change', 'disable', 'enable', 'nickname'),
  password: fc.constantFrom('new', 'new', 'same', 'short', 'name', 'hostile', 'wrong'),
  pick: fc.nat(99),
  rights: fc.record({ isChief: fc.boolean(), mustChange: fc.boolean() }),
})
export type Move = typeof loginStep extends fc.Arbitrary<infer S> ? S : never
