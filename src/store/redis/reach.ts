import { Cluster } from 'ioredis'
import { createLog } from '../../log.ts'
import { connect } from './connection/connections.ts'
import { summaryOf } from './connection/fault.ts'
import type { RedisSettings } from './connection/options.ts'
import { redisWarnings } from './connection/warnings.ts'

/** What a Redis answers to a gateway that would use it. */
export type RedisReach = { fault: string } | { fault: null; version: string; warnings: string[] }

/** Connects with the settings of a gateway, reads one key, and changes nothing. Every step ends within the timeout. */
export async function reachRedis(settings: RedisSettings, prefix: string, timeout: number): Promise<RedisReach> {
  const faults: string[] = []
  const log = createLog('error', { write: line => void faults.push((JSON.parse(line) as { fault: string }).fault) })
  const connections = await connect(settings, timeout, log)
  const client = connections.store
  try {
    if (client.status !== 'ready') return { fault: remedyFor(faults[0] ?? 'no answer') }
    await client.get(`${prefix}:probe`)
    const node = client instanceof Cluster ? client.nodes('master')[0] : client
    const info = (await node?.info().catch(() => '')) ?? ''
    if (/^role:slave/m.test(info)) return { fault: 'it is a replica, which refuses to be written; name its master' }
    const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of unknown version'
    return { fault: null, version, warnings: await redisWarnings(client) }
  } catch (fault) {
    return { fault: remedyFor(faults[0] ?? summaryOf(fault)) }
  } finally {
    await connections.close()
  }
}

/** What to do about a fault of a connection or a command, by its kind. */
const REMEDIES: readonly (readonly [kind: RegExp, remedy: string])[] = [
  [/ECONNREFUSED/, 'no program listens there; start Redis, or correct the address'],
  [/ENOTFOUND|EAI_AGAIN/, 'the name is not known; correct the address'],
  [/^(WRONGPASS|NOAUTH|ERR)/, 'it refuses this user or password; correct them'],
  [/^NOPERM/, 'this user may not read the keys below store.prefix; allow it ~<prefix>:* in the ACL'],
]

function remedyFor(fault: string): string {
  const remedy = REMEDIES.find(([kind]) => kind.test(fault))?.[1]
  return `${fault}: ${remedy ?? 'is it a Redis, does it need TLS (rediss://), and does a firewall stand between?'}`
}

/** Where a Redis is, without user and password. */
export function placeOf({ url, sentinels, name, cluster }: RedisSettings): string {
  if (url !== undefined) {
    if (!URL.canParse(url)) return 'an invalid address'
    const { hostname, port, pathname } = new URL(url)
    return `${hostname}:${port || 6379}, database ${pathname.slice(1) || 0}`
  }
  const nodes = (sentinels ?? cluster ?? []).map(({ host, port }) => `${host}:${port}`).join(', ')
  return sentinels === undefined ? `Cluster of ${nodes}` : `master ${name}, by the Sentinels ${nodes}`
}
