import { Count, LongDuration, Off, Section } from '../notation/notation.ts'

/** A longer minimum would leave bcrypt, which reads 72 bytes, no room for other alphabets. */
const LONGEST_MINIMUM = 64

/** What new passwords must fulfil: those that users choose themselves, and those that administrators set. */
export const Passwords = Section(
  {
    min_length: Count(10, 'Characters that a new password has at least.', 1, LONGEST_MINIMUM),
    classes: Count(0, 'How many of lower case, upper case, digits and other characters must occur in it.', 0, 4),
    common: {
      enum: ['refuse', 'allow'],
      default: 'refuse',
      description: 'Whether passwords that are known from published leaks are refused.',
    },
    max_age: {
      anyOf: [Off, LongDuration('90d', 'Age of a password at which the next login demands another one.')],
      default: 'off',
      description: 'Age of a password at which the next login demands another one, such as 90d; or off.',
      'x-form': 'off, or a duration such as 90d',
    },
  },
  'New passwords, on both sides.',
)
