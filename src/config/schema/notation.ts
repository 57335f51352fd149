import Type, { type TSchema, type TSchemaOptions } from 'typebox'

/*
 * How values are written in the configuration. Two annotations go beyond JSON Schema: `x-form` says in words what a
 * text must look like, for fault messages; `x-secret` keeps a value out of them. `x-path` marks paths.
 */

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A length of time, written `500ms`, `30s`, `5m`, `2h`, `30d`; arrives as milliseconds. */
export const Duration = (fallback: string, description: string) =>
  Type.Codec(
    Type.String({
      pattern: '^[1-9][0-9]{0,6}(ms|s|m|h|d)$',
      default: fallback,
      description,
      'x-form': 'a duration such as 500ms, 30s, 5m, 2h or 30d',
    }),
  )
    .Decode(text => {
      const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) as unknown as [string, string, keyof typeof UNITS]
      return Number(count) * UNITS[unit]
    })
    .Encode(milliseconds => `${milliseconds}ms`)

const SIZES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const

/** A number of bytes, written `512B`, `64KiB`, `10MiB`, `2GiB`. */
export const Size = (description: string, fallback?: string) =>
  Type.Codec(
    Type.String({
      pattern: '^[1-9][0-9]{0,6}(B|KiB|MiB|GiB)$',
      description,
      ...(fallback !== undefined && { default: fallback }),
      'x-form': 'a size such as 512B, 64KiB, 10MiB or 2GiB',
    }),
  )
    .Decode(text => {
      const [, count, unit] = /^(\d+)(\w+)$/.exec(text) as unknown as [string, string, keyof typeof SIZES]
      return Number(count) * SIZES[unit]
    })
    .Encode(bytes => `${bytes}B`)

/** A path: relative to the file that holds it; with `x-path: 'cwd'`, or from the environment, to the working directory. */
export const Path = (options: TSchemaOptions) =>
  Type.String({ minLength: 1, 'x-path': 'file', 'x-form': 'a path', ...options })

/** A text that no message, log line or listing shows. */
export const Secret = (options: TSchemaOptions) => Type.String({ minLength: 1, 'x-secret': true, ...options })

/** A switch: `on`/`off` or `true`/`false`. */
export const Switch = (fallback: boolean | undefined, description: string) =>
  Type.Codec(
    Type.Union([Type.Boolean(), Type.Literal('on'), Type.Literal('off')], {
      description,
      'x-form': 'on or off',
      ...(fallback === undefined ? {} : { default: fallback }),
    }),
  )
    .Decode(value => value === true || value === 'on')
    .Encode(value => value)

/** `off`, written `off` or `false`, beside something with settings of its own. */
export const Off = Type.Codec(Type.Union([Type.Literal('off'), Type.Literal(false)], { 'x-form': 'off' }))
  .Decode((): 'off' => 'off')
  .Encode(() => 'off' as const)

/** A group of settings that is always there. */
export const Section = <P extends Record<string, TSchema>>(properties: P, description: string) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description })

/** A group of settings that is there only when it is written. */
export const Variant = <P extends Record<string, TSchema>>(properties: P, description: string) =>
  Type.Object(properties, { additionalProperties: false, description })

export const Port = (fallback: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: fallback, description })

export const Count = (fallback: number, description: string, minimum = 1) =>
  Type.Integer({ minimum, maximum: 1_000_000_000, default: fallback, description })
