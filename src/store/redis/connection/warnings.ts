import { Cluster, type Redis } from 'ioredis'
import type { RedisClient } from './client.ts'
import { answerOf } from './silence.ts'

/** Warnings about the configuration of Redis; in a Cluster every master is checked. */
export async function redisWarnings(client: RedisClient): Promise<string[]> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  const warnings = await Promise.all(nodes.map(nodeWarnings))
  return [...new Set(warnings.flat())]
}

async function nodeWarnings(node: Redis): Promise<string[]> {
  // This user may lack the right to each of these commands; then there is no warning.
  const [server, persistence, policy] = await Promise.all([
    answerOf(node, node.info('server')).catch(() => ''),
    answerOf(node, node.info('persistence')).catch(() => ''),
    answerOf(node, node.config('GET', 'maxmemory-policy')).catch(() => []),
  ])
  return [versionWarning(server), evictionWarning(policy as string[]), persistenceWarning(persistence)].flat()
}

function versionWarning(server: string): string[] {
  const version = /redis_version:(\d+)\.(\d+)/.exec(server)
  if (version === null) return []
  const [major, minor] = [Number(version[1]), Number(version[2])]
  const isTooOld = major > 0 && (major < 6 || (major === 6 && minor < 2))
  return isTooOld ? [`Redis ${major}.${minor} is too old: 6.2 or newer is needed`] : []
}

function evictionWarning([, policy]: string[]): string[] {
  if (policy === undefined || policy === 'noeviction') return []
  return [`Redis evicts keys (maxmemory-policy ${policy}): sessions and disable records may vanish; use noeviction`]
}

function persistenceWarning(persistence: string): string[] {
  if (!/^aof_enabled:0/m.test(persistence)) return []
  return [
    'Redis writes no append-only file: after a crash it has the sessions of its last snapshot, ended ones too; ' +
      'set appendonly yes',
  ]
}
