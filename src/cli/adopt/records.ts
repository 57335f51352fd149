import { createHmac } from 'node:crypto'
import { createTimestampFormat } from '../../base/timestamp.ts'
import { readRecord, type SessionRecord } from '../../session/record.ts'
import { LOGIN_TYPES } from '../../session/sides.ts'
import { isSection } from '../../settings/notation/written.ts'
import type { Survey, SurveyedSide } from '../../store/redis/adoption-survey.ts'

/* What sampled tokens and their records tell. Nothing here returns a token. */

export type Sample = SurveyedSide['samples'][number]

/** A session of the service, as far as it can be read. */
export interface ReadSample {
  record: SessionRecord | null
  /** `null` for a token that is not a JWT. */
  jwt: { alg: string; hasClaims: boolean; iat: number | null } | null
}

const DEFAULT_PREFIX = 'svc:auth'

/** The prefix with the most tokens. */
export function prefixOf({ families }: Survey): string {
  let found = DEFAULT_PREFIX
  let most = -1
  for (const [prefix, family] of families) {
    const tokens = LOGIN_TYPES.reduce((sum, type) => sum + family[type].tokens, 0)
    if (prefix === '' || tokens <= most) continue
    most = tokens
    found = prefix
  }
  return found
}

/** The samples below a prefix, of both sides. */
export const samplesOf = ({ families }: Survey, prefix: string): Sample[] =>
  LOGIN_TYPES.flatMap(type => families.get(prefix)?.[type].samples ?? [])

export function readSamples(survey: Survey, prefix: string): ReadSample[] {
  return LOGIN_TYPES.flatMap(type =>
    (survey.families.get(prefix)?.[type].samples ?? []).map(({ token, text }) => ({
      record: readRecord(text, type),
      jwt: readJwt(token),
    })),
  )
}

function readJwt(token: string): ReadSample['jwt'] {
  const [header = '', payload = '', signature] = token.split('.')
  if (signature === undefined) return null
  const { alg } = parsed(Buffer.from(header, 'base64url').toString())
  const { jti, iat } = parsed(Buffer.from(payload, 'base64url').toString())
  if (typeof alg !== 'string') return null
  const hasClaims = typeof jti === 'string' && typeof iat === 'number'
  return { alg, hasClaims, iat: typeof iat === 'number' ? iat : null }
}

export function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isSection(value) ? value : {}
  } catch {
    return {}
  }
}

const HASHES: Readonly<Record<string, string>> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }

/** Whether a token was signed with a secret, by any algorithm that the gateway can have. */
export function isSignedBy(token: string, secret: string): boolean {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const { alg } = parsed(Buffer.from(header, 'base64url').toString())
  const hash = typeof alg === 'string' ? HASHES[alg] : undefined
  if (hash === undefined) return false
  return createHmac(hash, secret).update(`${header}.${payload}`).digest('base64url') === signature
}

/** The algorithm of most tokens that the gateway can have, too; `null` without one. */
export function algorithmOf(samples: readonly ReadSample[]): string | null {
  const counts = new Map<string, number>()
  for (const { jwt } of samples)
    if (jwt !== null && jwt.alg in HASHES) counts.set(jwt.alg, (counts.get(jwt.alg) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null
}

const UTC = createTimestampFormat('UTC')
const HAS_OFFSET = /(?:Z|[+-]\d\d:?\d\d)$/
const QUARTER = 15 * 60

/**
 * How many seconds the `created_at` of the records is ahead of UTC, where they say no offset: their tokens know when they
 * were issued. `null` when the records do not tell.
 */
export function offsetOf(samples: readonly ReadSample[]): number | null {
  const offsets = samples
    .flatMap(({ record, jwt }) => {
      if (record === null || jwt === null || jwt.iat === null || HAS_OFFSET.test(record.created_at)) return []
      const created = UTC.read(record.created_at)
      return created === null ? [] : [Math.round((created / 1000 - jwt.iat) / QUARTER) * QUARTER]
    })
    .sort((a, b) => a - b)
  const middle = offsets[Math.floor(offsets.length / 2)]
  return middle === undefined || Math.abs(middle) > 14 * 3600 ? null : middle
}

/** The IANA zone with a fixed offset; `null` for one that is not whole hours. */
export function zoneOf(offset: number): string | null {
  if (offset % 3600 !== 0) return null
  // POSIX counts the hours to the west: Etc/GMT-8 is eight hours ahead of UTC.
  return offset === 0 ? 'UTC' : `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset) / 3600}`
}

/** Seconds that a zone is ahead of UTC at a timestamp; `null` for an unknown zone. */
export function offsetOfZone(timezone: string, timestamp: number): number | null {
  try {
    const written = createTimestampFormat(timezone).write(timestamp)
    return Math.round(((UTC.read(written) ?? 0) - timestamp) / 1000 / QUARTER) * QUARTER
  } catch {
    return null
  }
}
