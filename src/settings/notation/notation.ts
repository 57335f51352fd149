import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { DAY } from '../../base/clock.ts'

/*
 * How the configuration is described: in JSON Schema, of which TypeScript makes the types. What has a default need not be
 * written. Six annotations go beyond JSON Schema:
 *
 *   x-form    says in words what a value looks like, for messages;
 *   x-secret  keeps a value out of messages;
 *   x-url     marks a URL: a text that `URL` can read;
 *   x-path    marks a path, and says what a relative one is relative to: the file that holds it, or the working directory;
 *   x-longest is the longest duration, in milliseconds;
 *   x-reads   says how what is written becomes the value that the gateway uses: see `READINGS`.
 */

/** Settings as the gateway gets them: defaults filled in, durations in milliseconds, sizes in bytes, switches as booleans. */
export type Decoded<S extends JSONSchema> = FromSchema<
  S,
  {
    deserialize: [
      { pattern: { 'x-reads': 'duration' | 'size' }; output: number },
      { pattern: { 'x-reads': 'switch' }; output: boolean },
      { pattern: { 'x-reads': 'off' }; output: 'off' },
      { pattern: { 'x-reads': 'on, off or bare' }; output: 'on' | 'off' | 'bare' },
    ]
  }
>

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY }
const BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** A number with its unit, in the smallest unit. */
function measure(value: unknown, units: Readonly<Record<string, number>>): number {
  const [, count = '', unit = ''] = /^(\d+)(\w+)$/.exec(String(value)) ?? []
  return Number(count) * units[unit]!
}

/** YAML has words for truth of its own; a setting has `on` and `off`. */
const wordOf = (value: unknown): unknown => (typeof value === 'boolean' ? (value ? 'on' : 'off') : value)

/** How what is written becomes the value that the gateway uses. */
export const READINGS = {
  duration: (value: unknown): number => measure(value, MILLISECONDS),
  size: (value: unknown): unknown => measure(value, BYTES),
  switch: (value: unknown): unknown => wordOf(value) === 'on',
  off: wordOf,
  'on, off or bare': wordOf,
} as const

/** Timers of Node measure at most 2^31-1 ms, and fire at once if a time is longer: 24 days, in milliseconds. */
const LONGEST_TIMER = 24 * MILLISECONDS.d!

/** A length of time that a timer may measure, written `500ms`, `30s`, `5m`, `2h`, `20d`; arrives as milliseconds. */
export const Duration = (fallback: string, description: string) =>
  ({
    ...LongDuration(fallback, description),
    'x-form': 'a duration such as 500ms, 30s, 5m or 2h, 24d at most',
    'x-longest': LONGEST_TIMER,
  }) as const

/** A length of time that is only compared with timestamps, and never given to a timer. */
export const LongDuration = (fallback: string, description: string) =>
  ({
    type: 'string',
    pattern: '^[1-9][0-9]{0,6}(ms|s|m|h|d)$',
    default: fallback,
    description,
    'x-form': 'a duration such as 500ms, 30s, 5m, 2h or 30d',
    'x-reads': 'duration',
  }) as const

/** A number of bytes, written `512B`, `64KiB`, `10MiB`, `2GiB`; absent unless it is written. */
export const Size = (description: string) =>
  ({
    type: 'string',
    pattern: '^[1-9][0-9]{0,6}(B|KiB|MiB|GiB)$',
    description,
    'x-form': 'a size such as 512B, 64KiB, 10MiB or 2GiB',
    'x-reads': 'size',
  }) as const

/** A path: relative to the file that holds it; with `cwd`, or from the environment, to the working directory. */
export const Path = <const O extends object>(options: O, base: 'file' | 'cwd' = 'file') =>
  ({ type: 'string', minLength: 1, 'x-path': base, 'x-form': 'a path', ...options }) as const

/** A URL; its pattern says which. Port and host are such as a URL can have (WHATWG URL, 4.4). */
export const Url = <const O extends { pattern: string; 'x-form': string }>(options: O) =>
  ({ type: 'string', 'x-url': true, ...options }) as const

/** A text that no message, log line or listing shows. */
export const Secret = <const O extends object>(options: O) =>
  ({ type: 'string', 'x-secret': true, ...options }) as const

/** A switch: `on`/`off` or `true`/`false`; absent unless it is written. */
export const OptionalSwitch = (description: string) =>
  ({ enum: [true, false, 'on', 'off'], description, 'x-form': 'on or off', 'x-reads': 'switch' }) as const

export const Switch = (fallback: boolean, description: string) =>
  ({ ...OptionalSwitch(description), default: fallback }) as const

/** `off`, written `off` or `false`, beside something with settings of its own. */
export const Off = { enum: ['off', false], 'x-form': 'off', 'x-reads': 'off' } as const

/** A group of settings that is always there: each of them has a default, or is optional. */
export const Section = <const P extends object>(properties: P, description: string) =>
  ({ type: 'object', additionalProperties: false, default: {}, description, properties }) as const

/** A group of settings that is there only when it is written; then `required` are written, too. */
export const Variant = <const P extends object, const R extends keyof P & string = never>(
  properties: P,
  description: string,
  required: readonly R[] = [],
) => ({ type: 'object', additionalProperties: false, description, properties, required }) as const

export const Port = (fallback: number, description: string) =>
  ({ type: 'integer', minimum: 0, maximum: 65535, default: fallback, description }) as const

export const OptionalCount = (description: string, minimum = 1, maximum = 1_000_000_000) =>
  ({ type: 'integer', minimum, maximum, description }) as const

export const Count = (fallback: number, description: string, minimum = 1, maximum = 1_000_000_000) =>
  ({ ...OptionalCount(description, minimum, maximum), default: fallback }) as const
