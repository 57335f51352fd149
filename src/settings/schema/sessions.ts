import { type Decoded, LongDuration, Off, OptionalSwitch, Section, Switch, Variant } from '../notation/notation.ts'

/* What sessions may do, and how long they live. */

const MAX_TOKENS = {
  type: 'integer',
  minimum: 0,
  maximum: 10_000,
  description: 'Live tokens of one user; a further login ends the oldest. 0: no limit.',
} as const

const PER_DEVICE =
  'Whether max_tokens_per_user applies to each device_type separately; sessions without one are a kind of their own.'

const OffOrDuration = (description: string) =>
  ({ anyOf: [Off, LongDuration('5m', description)], description, 'x-form': 'off, or a duration such as 5m' }) as const

const RENEW = OffOrDuration('A session in use gets its whole lifetime again, at most once in this time; or off.')
const IDLE = OffOrDuration('A session that is unused for this long ends, before its lifetime does; or off.')

const TELL_END = OffOrDuration('How long the 401 of a session that was ended says why, in `data.ended`; or off.')

const OneSide = (side: string) =>
  Variant(
    {
      max_tokens_per_user: MAX_TOKENS,
      per_device: OptionalSwitch(PER_DEVICE),
      auto_renew: RENEW,
      idle_timeout: IDLE,
    },
    `What is different on the ${side} side.`,
  )

export const Sessions = Section(
  {
    max_tokens_per_user: { ...MAX_TOKENS, default: 1000 },
    per_device: Switch(false, PER_DEVICE),
    auto_renew: { ...RENEW, default: 'off' },
    idle_timeout: { ...IDLE, default: 'off' },
    tell_end: { ...TELL_END, default: 'off' },
    business: OneSide('B'),
    consumer: OneSide('C'),
  },
  'Policies of sessions.',
)

export type SessionsSettings = Decoded<typeof Sessions>
