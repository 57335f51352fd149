import Type, { type StaticDecode } from 'typebox'
import { Count, Duration, Off, Section } from './notation.ts'

const Mode = (fallback: 'off' | 'tracking', side: string) =>
  Type.Union([Off, Type.Literal('tracking')], {
    default: fallback,
    'x-form': 'off or tracking',
    description: `Whether sessions of the ${side} side are remembered in the process until Redis announces a change.`,
  })

export const SessionCache = Section(
  {
    business: Mode('off', 'B'),
    consumer: Mode('tracking', 'C'),
    heartbeat: Duration('1s', 'How long a session is believed after Redis was last heard.'),
    max_entries: Count(100_000, 'Sessions remembered per side and process; the oldest makes room.'),
  },
  'Sessions remembered in the process, for a store in Redis.',
)

export type SessionCacheSettings = StaticDecode<typeof SessionCache>
