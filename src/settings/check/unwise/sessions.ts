import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DAY } from '../../../base/clock.ts'
import { LOGIN_TYPES } from '../../../session/sides.ts'
import type { DecodedSettings } from '../../schema/settings.ts'
import { IDENTITY_KEY, SECRETS } from '../../secrets.ts'
import { policyOf } from '../../session-policy.ts'
import { isOpenRedis, isUnencrypted } from '../networks.ts'
import { indexesOf, type Rule, SECOND } from './rule.ts'

const YEAR_SECONDS = 365 * 24 * 3600

/** How sessions live, where they are kept, and who learns of them. */
export const SESSIONS: readonly Rule<DecodedSettings>[] = [
  {
    setting: ['data'],
    finds: ({ data }) =>
      [...Object.values(SECRETS), IDENTITY_KEY].some(({ file }) => isReadableByOthers(join(data, file))),
    message: 'has secrets that other users of this machine can read: chmod 600 its files',
  },
  {
    setting: ['identity', 'key_file'],
    finds: ({ identity: { key_file } }) => key_file !== undefined && isReadableByOthers(key_file),
    message: 'can be read by other users of this machine: who has it signs as the gateway; chmod 600 the file',
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
    message: 'is below 10000: a busy day removes the entries of the day before',
  },
  {
    setting: ['journal', 'max_entries'],
    finds: ({ store, journal }) => store.kind === 'redis' && journal !== 'off' && journal.max_entries > 10_000_000,
    message: 'is above 10 million: these entries can take more than 5 GB of the memory of Redis',
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

/** A file that cannot be examined is reported when it is read. */
function isReadableByOthers(file: string): boolean {
  try {
    return (statSync(file).mode & 0o077) !== 0
  } catch {
    return false
  }
}
