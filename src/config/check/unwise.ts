import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { LOGIN_TYPES } from '../../session.ts'
import type { KeyPath, Written } from '../../yaml/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import type { UpstreamSettings } from '../schema/upstreams.ts'
import { SECRETS } from '../secrets.ts'
import { storesIn } from '../served.ts'
import { policyOf } from '../session-policy.ts'
import { targetsOf } from '../targets.ts'
import { isLoopback, isOpenRedis, isUnencrypted, isUnverifiedDatabase } from './networks.ts'

/*
 * Valid settings that give up a protection. `dualgate check`, each start and `/readyz` name them. `/readyz` needs no secret:
 * so a message contains no value of a setting.
 */

interface Unwise<T> {
  setting: KeyPath
  /** Whether the setting is unwise; of a list, which of its items are. */
  finds(settings: T, isProduction: boolean): boolean | number[]
  message: string
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE
const YEAR_SECONDS = 365 * 24 * 3600

const UNWISE: readonly Unwise<DecodedSettings>[] = [
  {
    setting: ['trusted_proxies'],
    finds: ({ listen, trusted_proxies }, isProduction) =>
      isProduction && listen.tls === undefined && trusted_proxies.length === 0 && !isLoopback(listen.host),
    message:
      'is empty, and there is no listen.tls: behind a proxy all clients share one address and its limits, and without a ' +
      'proxy tokens are sent unencrypted; name the proxy here, or set listen.tls',
  },
  {
    setting: ['trusted_proxies'],
    finds: ({ trusted_proxies }) => indexesOf(trusted_proxies, isTooWide),
    message: 'covers a large part of the internet: clients there choose their own address; name your proxies only',
  },
  {
    setting: ['listen', 'min_rate'],
    finds: ({ listen: { min_rate } }) => min_rate === 'off' || min_rate < 128,
    message: 'is too low to end slow requests: a few clients can hold every connection of an upstream',
  },
  {
    setting: ['internal', 'host'],
    finds: ({ internal }) => internal.socket === undefined && !isLoopback(internal.host),
    message: 'can be reached from other machines: allow only your own services and the monitoring to connect',
  },
  {
    setting: ['data'],
    finds: ({ data }) => Object.values(SECRETS).some(({ file }) => isReadableByOthers(join(data, file))),
    message: 'has secrets that other users of this machine can read: chmod 600 its files',
  },
  {
    setting: ['jwt', 'expire_seconds'],
    finds: ({ jwt, sessions }) => jwt.expire_seconds > YEAR_SECONDS && sessions.idle_timeout === 'off',
    message: 'is more than a year: a lost token works as long; shorten it, or set sessions.idle_timeout',
  },
  {
    setting: ['store', 'redis', 'url'],
    finds: ({ store }) => store.kind === 'redis' && isOpenRedis(store.redis?.url),
    message: 'has no password: every program that reaches this Redis can make sessions; set a password there and here',
  },
  {
    setting: ['store', 'redis', 'url'],
    finds: ({ store }) => store.kind === 'redis' && isUnencrypted(store.redis?.url, 'redis:'),
    message: 'sends tokens unencrypted over a public network; use rediss://',
  },
  {
    setting: ['store', 'timeout'],
    finds: ({ store }) => store.timeout > 10 * SECOND,
    message: 'is longer than 10 seconds: while the store fails, requests pile up for as long',
  },
  {
    setting: ['session_cache', 'heartbeat'],
    finds: ({ store, session_cache: { business, consumer, heartbeat } }) =>
      store.kind === 'redis' && [business, consumer].includes('tracking') && heartbeat > 10 * SECOND,
    message: 'is longer than 10 seconds: a worker that is cut off from Redis accepts ended sessions for as long',
  },
  {
    setting: ['login', 'rate_limit'],
    finds: ({ login }) => login.rate_limit === 'off',
    message: 'is off: a program can try captchas and passwords without limit',
  },
  {
    setting: ['login', 'lockout', 'failures'],
    finds: ({ login: { lockout } }) => lockout.failures > 100,
    message: 'allows more than 100 wrong passwords for one account within a window',
  },
  {
    setting: ['login', 'lockout', 'address_failures'],
    finds: ({ login: { lockout } }) => lockout.address_failures > 1000,
    message: 'allows more than 1000 failed logins from one address within a window',
  },
  {
    setting: ['passwords', 'min_length'],
    finds: ({ passwords }) => passwords.min_length < 8,
    message: 'is below 8: a program finds such passwords from stolen hashes',
  },
  {
    setting: ['passwords', 'common'],
    finds: ({ passwords }) => passwords.common === 'allow',
    message: 'allows passwords from published leaks, which programs try first',
  },
  {
    setting: ['passwords', 'max_age'],
    finds: ({ passwords }) => passwords.max_age !== 'off' && passwords.max_age < 30 * DAY,
    message: 'is less than 30 days: users who must change passwords so often choose worse ones',
  },
  {
    setting: ['login', 'second_factor', 'for'],
    finds: ({ accounts, login: { consumer, second_factor } }) =>
      second_factor.for === 'off' && [accounts, consumer].some(storesInSource),
    message: 'is off, and a source stores second factors: accounts that have one are protected by their password alone',
  },
  {
    setting: ['login', 'lockout', 'disable'],
    finds: ({ login: { lockout, second_factor } }) => second_factor.for !== 'off' && lockout.disable < MINUTE,
    message: 'is shorter than a minute: who knows a password can try thousands of codes of its second factor a day',
  },
  {
    setting: ['login', 'captcha', 'ttl'],
    finds: ({ login: { captcha } }) => captcha.ttl > 60 * MINUTE,
    message: 'is longer than an hour: captchas can be collected and solved in advance',
  },
  {
    setting: ['sessions', 'max_tokens_per_user'],
    finds: ({ sessions }) => LOGIN_TYPES.some(type => policyOf(sessions, type).max_tokens_per_user === 0),
    message: 'is 0 for a side: a program that logs in again and again fills the store',
  },
  {
    setting: ['sessions', 'auto_renew'],
    finds: ({ sessions }) =>
      LOGIN_TYPES.map(type => policyOf(sessions, type)).some(
        side => side.auto_renew !== 'off' && side.idle_timeout === 'off',
      ),
    message: 'works without idle_timeout on a side: a stolen token lives as long as it is used',
  },
  {
    setting: ['sessions', 'tell_end'],
    finds: ({ sessions: { tell_end } }) => tell_end !== 'off' && tell_end > 30 * DAY,
    message: 'is longer than 30 days: the store keeps a reason for every session that ended in this time',
  },
  {
    setting: ['journal'],
    finds: ({ journal }) => journal === 'off',
    message: 'is off: afterwards no administrator can find out who logged in, or who ended a session',
  },
  {
    setting: ['journal', 'max_entries'],
    finds: ({ journal }) => journal !== 'off' && journal.max_entries < 10_000,
    message: 'is below 10000: a client that guesses passwords soon removes every other entry',
  },
  {
    setting: ['journal', 'max_entries'],
    finds: ({ store, journal }) => store.kind === 'redis' && journal !== 'off' && journal.max_entries > 10_000_000,
    message: 'is above 10 million: these entries can take more than 5 GB of the memory of Redis',
  },
  {
    setting: ['gate', 'exceptions'],
    finds: ({ gate: { exceptions } }) =>
      indexesOf(exceptions, ({ path, needs }) => needs === 'none' && /^\/api\/v\d+\/\*$/.test(path)),
    message: 'opens every path of your backends to every client; name the paths',
  },
  {
    setting: ['gate', 'exceptions'],
    finds: ({ gate: { exceptions } }) =>
      indexesOf(exceptions, ({ methods, needs }) => needs === 'none' && methods.some(method => method !== 'GET')),
    message: 'lets every client change data without a session; let it need a session, or leave it to GET',
  },
  {
    setting: ['accounts', 'url'],
    finds: ({ accounts }) => accounts.kind === 'sql' && isUnverifiedDatabase(accounts.url),
    message: 'reads password hashes over a public network without verified TLS; add ?sslmode=require',
  },
  {
    setting: ['accounts', 'url'],
    finds: ({ accounts }) => accounts.kind === 'sql' && /^\w+:\/\/(root|postgres|sa)[:@]/.test(accounts.url),
    message: 'names the owner of the database: give the gateway a user that can only do what its statements do',
  },
  {
    setting: ['accounts', 'url'],
    finds: ({ accounts }) => accounts.kind === 'http' && isUnencrypted(accounts.url, 'http:'),
    message: 'gets password hashes unencrypted over a public network; use https://',
  },
  {
    setting: ['accounts', 'update_url'],
    finds: ({ accounts }) => accounts.kind === 'http' && isUnencrypted(accounts.update_url, 'http:'),
    message: 'gets password hashes unencrypted over a public network; use https://',
  },
  {
    setting: ['events', 'webhooks'],
    finds: ({ events }) => indexesOf(events.webhooks, ({ url }) => isUnencrypted(url, 'http:')),
    message: 'gets login ids and addresses unencrypted over a public network; use https://',
  },
  {
    setting: ['log', 'level'],
    finds: ({ log }) => ['warn', 'error', 'fatal', 'silent'].includes(log.level),
    message: 'leaves out logins, kickouts and refusals, which are lines of level info',
  },
]

const UNWISE_UPSTREAMS: readonly Unwise<UpstreamSettings>[] = [
  {
    setting: ['target'],
    finds: ({ target }, isProduction) => isProduction && target === 'builtin:echo',
    message: 'is the built-in upstream, which only shows requests; name your backend',
  },
  {
    setting: ['pass_authorization'],
    finds: ({ pass_authorization }) => pass_authorization !== 'off',
    message:
      'gives the backend the tokens of its users, with which it can act as them; off, unless it verifies them itself',
  },
  {
    setting: ['ejection'],
    finds: ({ ejection, health, targets = [] }) => ejection === 'off' && health === undefined && targets.length > 1,
    message: 'is off, and there are no health checks: a dead target continues to get its share of the requests',
  },
  {
    setting: [],
    finds: upstream => targetsOf(upstream).some(({ url }) => isUnencrypted(url, 'http:')),
    message: 'sends the identity of users unencrypted over a public network; use https:// targets',
  },
]

/** Warns of every unwise setting, where there are no faults. */
export function warnOfUnwise(settings: DecodedSettings, written: Written, isProduction: boolean): void {
  if (written.faults.length === 0) warn(UNWISE, settings, written, [], isProduction)
}

export function warnOfUnwiseUpstreams(
  upstreams: readonly UpstreamSettings[],
  written: Written,
  isProduction: boolean,
): void {
  if (written.faults.length > 0) return
  for (const [index, upstream] of upstreams.entries())
    warn(UNWISE_UPSTREAMS, upstream, written, ['upstreams', index], isProduction)
}

function warn<T>(
  rules: readonly Unwise<T>[],
  settings: T,
  written: Written,
  base: KeyPath,
  isProduction: boolean,
): void {
  for (const { setting, finds, message } of rules) {
    const found = finds(settings, isProduction)
    const path = [...base, ...setting]
    if (found === true) written.warn(path, message)
    else if (found !== false) for (const index of found) written.warn([...path, index], message)
  }
}

/** Whether a database or a backend stores second factors. Of those in a file, the start warns if there are any. */
const storesInSource = (source: DecodedSettings['accounts'] | DecodedSettings['login']['consumer']): boolean =>
  source !== 'off' && source.kind !== 'file' && storesIn(source, 'second_factor')

const indexesOf = <T>(list: readonly T[], isUnwise: (item: T) => boolean): number[] =>
  list.flatMap((item, index) => (isUnwise(item) ? [index] : []))

/** Ranges with more addresses than any operator has: shorter than /8 of IPv4, or /16 of IPv6. */
function isTooWide(range: string): boolean {
  const [address = '', bits] = range.split('/')
  return bits !== undefined && Number(bits) < (isIP(address) === 4 ? 8 : 16)
}

/** A file that cannot be examined is reported when it is read. */
function isReadableByOthers(file: string): boolean {
  try {
    return (statSync(file).mode & 0o077) !== 0
  } catch {
    return false
  }
}
