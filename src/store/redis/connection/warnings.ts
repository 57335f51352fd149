import { Cluster, type Redis } from 'ioredis'
import type { Clock } from '../../../base/clock.ts'
import type { RedisClient } from './client.ts'
import { remedyOf } from './fault.ts'
import { missingRight } from './rights.ts'
import { answerOf } from './silence.ts'

/** Warnings about the rights of this user, and about the configuration of Redis. */
export async function redisWarnings(client: RedisClient, absentKey: string, clock: Clock): Promise<string[]> {
  const warnings = await Promise.all([rightWarning(client, absentKey), configurationWarnings(client, clock)])
  return warnings.flat()
}

/** Warnings about the configuration of Redis; in a Cluster every master is checked. */
export async function configurationWarnings(client: RedisClient, clock: Clock): Promise<string[]> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  const warnings = await Promise.all(nodes.map(node => nodeWarnings(node, clock)))
  return [...new Set(warnings.flat())]
}

async function rightWarning(client: RedisClient, absentKey: string): Promise<string[]> {
  const lack = await missingRight(client, absentKey)
  return lack === null ? [] : [`Redis answers ${lack}, ${REFUSED}: ${remedyOf(lack)}`]
}

async function nodeWarnings(node: Redis, clock: Clock): Promise<string[]> {
  // This user may lack the right to a command; then there is no warning.
  const [info, apart] = await Promise.all([
    answerOf(node, node.info()).catch(() => ''),
    secondsApart(node, clock).catch(() => 0),
  ])
  const found = [versionWarning, refusalWarnings, evictionWarning, persistenceWarning].map(warningIn => warningIn(info))
  return [...found.flat(), ...clockWarning(apart)]
}

/** Seconds by which the clock of Redis is ahead of that of the gateway; negative if it is behind. */
async function secondsApart(node: Redis, clock: Clock): Promise<number> {
  const asked = clock.now()
  const time = await answerOf(node, node.time())
  const answered = clock.now()
  const now = Number(time[0]) * 1000
  // It was read some time between question and answer.
  return Math.round((now - Math.min(Math.max(now, asked), answered)) / 1000)
}

/** NTP keeps clocks closer together by far, and nothing that Redis ends is so short that these seconds matter. */
const MOST_APART = 10

function clockWarning(apart: number): string[] {
  if (Math.abs(apart) <= MOST_APART) return []
  const [where, when] = apart > 0 ? ['ahead of', 'early'] : ['behind', 'late']
  return [
    `the clock of Redis is ${Math.abs(apart)} s ${where} that of the gateway, so sessions, keys and disables end as much ` +
      `too ${when}; set the clocks`,
  ]
}

function versionWarning(server: string): string[] {
  const version = /redis_version:(\d+)\.(\d+)/.exec(server)
  if (version === null) return []
  const [major, minor] = [Number(version[1]), Number(version[2])]
  const isTooOld = major > 0 && (major < 6 || (major === 6 && minor < 2))
  return isTooOld ? [`Redis ${major}.${minor} is too old: 6.2 or newer is needed`] : []
}

const REFUSED = 'so logins and ends of sessions are refused'

/** Why Redis refuses changes, while it answers questions. */
function refusalWarnings(info: string): string[] {
  const found: string[] = []
  if (/^role:slave/m.test(info)) found.push(`Redis is a replica, ${REFUSED}; name its master`)
  if (isFull(info))
    found.push('Redis has used its maxmemory, so logins and disables are refused; raise it, or remove other data')
  if (/^(rdb_last_bgsave|aof_last_write)_status:err/m.test(info))
    found.push(
      `Redis cannot write its snapshot or its append-only file, ${REFUSED} unless it is set to go on; check its disk`,
    )
  return found
}

/** A Redis that evicts keys makes room instead. */
function isFull(info: string): boolean {
  const bytes = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
  const most = bytes('maxmemory')
  const used = bytes('used_memory') - bytes('mem_not_counted_for_evict')
  return most > 0 && used >= most && policyIn(info) === 'noeviction'
}

const policyIn = (info: string): string => /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction'

function evictionWarning(info: string): string[] {
  const policy = policyIn(info)
  if (policy === 'noeviction') return []
  return [`Redis evicts keys (maxmemory-policy ${policy}): sessions and disable records may vanish; use noeviction`]
}

function persistenceWarning(persistence: string): string[] {
  if (!/^aof_enabled:0/m.test(persistence)) return []
  return [
    'Redis writes no append-only file: after a crash it has the sessions of its last snapshot, ended ones too; ' +
      'set appendonly yes',
  ]
}
