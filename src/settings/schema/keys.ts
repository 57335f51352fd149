import { Count, LongDuration, Off, Section, Switch, Variant } from '../notation/notation.ts'

/* Keys: credentials of programs, made by users and administrators. */

const KeysOfSide = (shipped: 'off' | object, whose: string) =>
  ({
    anyOf: [
      Off,
      Variant(
        {
          users: Switch(true, 'Users make keys of their own; off: administrators alone, for service accounts.'),
          max_per_user: Count(20, 'Keys of one user; those that another one has replaced do not count.', 1, 1000),
          max_age: LongDuration('365d', 'The longest lifetime of a key: 1d or more.'),
          overlap: LongDuration('24h', 'How long a key lives on when another one replaces it.'),
        },
        whose,
      ),
    ],
    default: shipped,
    description: whose,
  }) as const

export const Keys = Section(
  {
    business: KeysOfSide({}, 'Keys of users of the B side, or off.'),
    consumer: KeysOfSide(
      'off',
      'Keys of users of the C side, whose login the gateway serves (login.consumer), or off.',
    ),
  },
  'Keys with which programs call backends: each belongs to an account, and allows no more than it.',
)
