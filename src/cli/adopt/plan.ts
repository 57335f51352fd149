import { createTimestampFormat } from '../../base/timestamp.ts'
import { faultOfForm, weaknessOfSigningKey } from '../../settings/secrets.ts'
import { isSm2PrivateKey } from '../../settings/sm2-key.ts'
import type { Survey } from '../../store/redis/adoption-survey.ts'
import type { Database } from './database.ts'
import {
  algorithmOf,
  isSignedBy,
  offsetOf,
  offsetOfZone,
  prefixOf,
  type ReadSample,
  readSamples,
  samplesOf,
  zoneOf,
} from './records.ts'
import type { Service } from './service.ts'

/** What the gateway is to be configured with, and what of the service will not work with it. */
export interface Plan {
  profile: 1 | 2
  prefix: string
  timezone: string
  captchaKey: string
  rightsSource: 'record' | 'accounts'
  listenPort: number
  /** Where the service listens, with scheme and port. */
  target: string
  redisUrl: string
  /** `weak`: it can be guessed, and the operator has to accept that. */
  secret: { value: string; weak: boolean } | null
  sm2: string | null
  jwt: Record<string, string>
  database: Database | null
  problems: string[]
}

/** Says what will not work, and what to do about it. */
type Say = (problem: string) => void

/** Where compatible services listen unless their settings say otherwise. */
const USUAL_PORT = 8000
const PUBLIC_PORTS = [8080, 18080]

export function planOf(survey: Survey, service: Service | null, redisUrl: string, now: number): Plan {
  const problems: string[] = []
  const say: Say = problem => void problems.push(problem)
  const prefix = prefixOf(survey)
  const samples = readSamples(survey, prefix)
  if (survey.families.size === 0) say('there are no sessions: is this the right Redis, and the right database number?')
  if (survey.families.size > 1) say(`sessions have several prefixes: only those below ${prefix} are used`)
  sayOfTokens(samples, say)
  const port = service?.port ?? USUAL_PORT
  if (service?.port === undefined)
    say(`where it listens is not known: correct the target in upstreams, now port ${port}`)
  return {
    profile: service?.profile ?? 1,
    prefix,
    timezone: timezoneOf(samples, service?.timezone, now, say),
    captchaKey: captchaKeyOf(survey, prefix),
    rightsSource: samples.some(({ record }) => record !== null && 'roles' in record.extra) ? 'record' : 'accounts',
    listenPort: PUBLIC_PORTS.find(free => free !== port)!,
    target: `http://${service?.host ?? '127.0.0.1'}:${port}`,
    redisUrl,
    secret: secretOf(survey, prefix, service, say),
    sm2: sm2Of(service, say),
    jwt: { ...service?.jwt, ...algorithm(samples) },
    database: databaseOf(service, say),
    problems,
  }
}

function algorithm(samples: readonly ReadSample[]): Record<string, string> {
  const used = algorithmOf(samples)
  return used === null || used === 'HS256' ? {} : { JWT__ALGORITHM: used }
}

function sayOfTokens(samples: readonly ReadSample[], say: Say): void {
  const count = (is: (sample: ReadSample) => boolean): number => samples.filter(is).length
  const of = `of ${samples.length} sessions read`
  const opaque = count(({ jwt }) => jwt === null)
  if (opaque > 0)
    say(`${opaque} ${of} have tokens that are not JWTs: the gateway refuses them, and their users sign in again`)
  const bare = count(({ jwt }) => jwt !== null && !jwt.hasClaims)
  if (bare > 0) say(`${bare} ${of} have tokens without the claims jti and iat: the gateway refuses them`)
  const illegible = count(({ record }) => record === null)
  if (illegible > 0)
    say(`${illegible} ${of} have records that the gateway cannot read: JSON with user_id, type, created_at and extra`)
  const timestamps = createTimestampFormat('UTC')
  const timeless = count(({ record }) => record !== null && timestamps.read(record.created_at) === null)
  if (timeless > 0)
    say(
      `${timeless} ${of} have a created_at that the gateway cannot read: of several sessions of a user they end first`,
    )
}

/** The zone in which records without an offset are to be read. */
function timezoneOf(samples: readonly ReadSample[], named: string | undefined, now: number, say: Say): string {
  const offset = offsetOf(samples)
  const ofName = named === undefined ? null : offsetOfZone(named, now)
  if (named !== undefined && ofName === null) say(`its time zone ${named} is unknown`)
  if (offset === null) return ofName === null ? 'UTC' : named!
  if (ofName === offset) return named!
  const zone = zoneOf(offset)
  if (ofName !== null)
    say(
      `its records are ${offset / 3600} hours ahead of UTC, and its time zone ${named} is not: ${zone ?? 'UTC'} is used`,
    )
  else if (zone === null)
    say(`its records are ${offset / 3600} hours ahead of UTC: set timezone to the zone with this offset`)
  return zone ?? 'UTC'
}

const captchaKeyOf = ({ captchaPrefixes }: Survey, prefix: string): string =>
  captchaPrefixes.has('') && !captchaPrefixes.has(prefix) ? '{type}:captcha:{id}' : '{prefix}:{type}:captcha:{id}'

function secretOf(survey: Survey, prefix: string, service: Service | null, say: Say): Plan['secret'] {
  const { secret } = service ?? {}
  if (secret === undefined) {
    say('its JWT secret is not known: set JWT__SECRET_KEY in .env to the same, or its sessions are not accepted')
    return null
  }
  const { name, value } = secret
  const samples = samplesOf(survey, prefix)
  const fitting = samples.filter(({ token }) => isSignedBy(token, value)).length
  if (fitting < samples.length)
    say(`${name} does not fit ${samples.length - fitting} of ${samples.length} sessions read: they are not accepted`)
  const fault = faultOfForm(value)
  if (fault !== null) {
    say(`${name} ${fault}; .env has no secret: set the same new one there and in the service, which ends all sessions`)
    return null
  }
  const weakness = weaknessOfSigningKey(value)
  if (weakness !== null)
    say(`${name} ${weakness}; to move with it, remove the "#" of JWT__ACCEPT_WEAK_SECRET in .env, and replace it later`)
  return { value, weak: weakness !== null }
}

function sm2Of(service: Service | null, say: Say): string | null {
  const { sm2 } = service ?? {}
  // Some libraries write a private key as a signed number, with a byte of zeros before it.
  const key = sm2?.value.replace(/^00(?=.{64}$)/, '')
  if (key !== undefined && isSm2PrivateKey(key)) return key
  const what = sm2 === undefined ? 'its SM2 key is not known' : `${sm2.name} is not 64 hex digits`
  say(`${what}: .env has a new one, and pages that keep the old public key cannot sign in at the gateway`)
  return null
}

function databaseOf(service: Service | null, say: Say): Database | null {
  const { database } = service ?? {}
  if (database === undefined) {
    say('its database is not known: write the accounts into config/gateway.yaml, or administrators cannot sign in')
    return null
  }
  if ('fault' in database) say(`${database.fault}: write the accounts into config/gateway.yaml`)
  return database
}
