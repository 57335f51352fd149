import Type, { type StaticDecode, type TSchema } from 'typebox'
import { Duration, Off, Section, Switch, Variant } from './notation.ts'

const MaxTokens = (fallback: object) =>
  Type.Integer({
    minimum: 0,
    maximum: 10_000,
    ...fallback,
    description: 'Live tokens of one user; with one more login the oldest ends. 0: as many as there are logins.',
  })

const PER_DEVICE =
  'Whether max_tokens_per_user holds for each device_type by itself; sessions without one are a kind of their own.'

const OffOrDuration = (fallback: object, description: string) =>
  Type.Union([Off, Duration('5m', description)], {
    ...fallback,
    description,
    'x-form': 'off, or a duration such as 5m',
  })

const RENEW = 'A session in use gets its whole lifetime again, at most once in this time; or off.'
const IDLE = 'A session that is not used for this long ends, before its lifetime does; or off.'

const OneSide = (side: string): TSchema =>
  Type.Optional(
    Variant(
      {
        max_tokens_per_user: Type.Optional(MaxTokens({})),
        per_device: Type.Optional(Switch(undefined, PER_DEVICE)),
        auto_renew: Type.Optional(OffOrDuration({}, RENEW)),
        idle_timeout: Type.Optional(OffOrDuration({}, IDLE)),
      },
      `What is different on the ${side} side.`,
    ),
  )

export const Sessions = Section(
  {
    max_tokens_per_user: MaxTokens({ default: 1000 }),
    per_device: Switch(false, PER_DEVICE),
    auto_renew: OffOrDuration({ default: 'off' }, RENEW),
    idle_timeout: OffOrDuration({ default: 'off' }, IDLE),
    business: OneSide('B'),
    consumer: OneSide('C'),
  },
  'Policies of sessions.',
)

export type SessionsSettings = StaticDecode<typeof Sessions>
