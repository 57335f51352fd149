import { Cluster } from 'ioredis'
import { systemClock } from '../../base/clock.ts'
import { createLog } from '../../base/log/log.ts'
import type { RedisClient } from './connection/client.ts'
import { connect } from './connection/connections.ts'
import { isClear, remedyOf, summaryOf } from './connection/fault.ts'
import { isLoading } from './connection/loading.ts'
import type { RedisSettings } from './connection/options.ts'
import { missingRight } from './connection/rights.ts'
import { answerOf } from './connection/silence.ts'
import { transportFault } from './connection/transport.ts'
import { configurationWarnings } from './connection/warnings.ts'

/** What a Redis answers to a gateway that would use it. */
export type RedisProbe = { fault: string } | { fault: null; version: string; warnings: string[] }

/** Connects with the settings of a gateway, reads one key, and changes nothing. Every step ends within the timeout. */
export async function probeRedis(settings: RedisSettings, prefix: string, timeout: number): Promise<RedisProbe> {
  const faults: string[] = []
  const log = createLog('error', { write: line => void faults.push((JSON.parse(line) as { fault: string }).fault) })
  const connections = await connect(settings, timeout, log)
  const client = connections.store
  try {
    if (client.status !== 'ready')
      return { fault: await unreached(settings, timeout, faults[0] ?? (await whyUnready(client))) }
    const absentKey = `${prefix}:probe`
    await answerOf(client, client.get(absentKey))
    const node = client instanceof Cluster ? client.nodes('master')[0] : client
    const info = node === undefined ? '' : await answerOf(node, node.info()).catch(() => '')
    if (/^role:slave/m.test(info)) return { fault: 'it is a replica, which refuses to be written; name its master' }
    if (node === client && /^redis_mode:cluster/m.test(info)) return { fault: remedyFor('MOVED') }
    const lack = await missingRight(client, absentKey)
    if (lack !== null) return { fault: remedyFor(lack) }
    const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of unknown version'
    return { fault: null, version, warnings: await configurationWarnings(client, systemClock) }
  } catch (fault) {
    return { fault: await unreached(settings, timeout, faults[0] ?? summaryOf(fault)) }
  } finally {
    await connections.close()
  }
}

/** Where the fault does not show what to do, the server is asked whether it serves TLS. */
async function unreached(settings: RedisSettings, timeout: number, fault: string): Promise<string> {
  return remedyFor(isClear(fault) ? fault : ((await transportFault(settings, timeout)) ?? fault))
}

const remedyFor = (fault: string): string => `${fault}: ${remedyOf(fault)}`

async function whyUnready(client: RedisClient): Promise<string> {
  if (client instanceof Cluster || client.status !== 'connect') return 'no answer'
  return (await answerOf(client, isLoading(client))) ? 'LOADING' : 'no answer'
}
