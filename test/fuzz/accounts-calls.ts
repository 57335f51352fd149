import { fc } from '../support/random.ts'
import { ALL_PERMISSIONS, ALL_ROLES, type Status } from './accounts-model.ts'

/* What is done with accounts, generated. */

/** Nicknames that mean something else to careless writers of YAML. */
const NICKNAMES = [
  'Ann',
  '安',
  'null',
  '~',
  '007',
  ' edges ',
  '- a: b',
  "it's",
  '"',
  '# no comment',
  '*hash',
  '{}',
  '|',
  '',
]
export const REFUSED = ['a\nb', 'a\u0000b', '\ud800']

const rights = {
  roles: fc.subarray(ALL_ROLES, { maxLength: 2 }),
  permissions: fc.subarray(ALL_PERMISSIONS, { maxLength: 2 }),
}
const status = fc.constantFrom<Status>('ACTIVE', 'ACTIVE', 'LOCKED', 'INACTIVE')
const fields = fc.record(
  { nickname: fc.constantFrom(...NICKNAMES, ...NICKNAMES, ...REFUSED), status, ...rights },
  { requiredKeys: [] },
)

const call = fc.record({
  way: fc.constantFrom('administrator', 'administrator', 'administrator', 'administrator', 'command line', 'editor'),
  kind: fc.constantFrom(
    ...(['edit', 'edit', 'edit', 'edit', 'add', 'remove', 'reset-password', 'reset-second-factor', 'factor'] as const),
  ),
  /** Whose session asks, among those that were begun. */
  actor: fc.nat(11),
  /** Which of the accounts, or one that does not exist. */
  target: fc.nat(8),
  name: fc.nat(40),
  fields,
  mustChange: fc.constantFrom(undefined, false, true),
  how: fc.constantFrom('in place' as const, 'renamed' as const),
  /** After how many turns of the event loop it begins. */
  delay: fc.nat(6),
})
export type Call = typeof call extends fc.Arbitrary<infer C> ? C : never

export const accountStep = fc.oneof(
  { weight: 5, arbitrary: fc.record({ calls: fc.array(call, { minLength: 1, maxLength: 1 }) }) },
  { weight: 3, arbitrary: fc.record({ calls: fc.array(call, { minLength: 2, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ session: fc.nat(7), isVersioned: fc.constantFrom(true, true, false) }) },
  { weight: 1, arbitrary: fc.record({ look: fc.nat(11) }) },
)
export type Move = typeof accountStep extends fc.Arbitrary<infer S> ? S : never
