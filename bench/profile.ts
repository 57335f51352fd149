import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type GatewayOptions, knows, logIn, startGateway } from './gateway.ts'
import { gatewayWithKeys } from './keys.ts'
import { load } from './load.ts'
import { onScene, type Scene } from './process.ts'
import { startRedis } from './redis.ts'
import { fixed, printTable } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

/** Users, or programs, whose requests are profiled. */
const CLIENTS = 1000

export const PROFILE_HELP = `profile   where the time of a request goes, by Node's own profiler
            --store embedded|redis|tracking|keys   --seconds 8 --lines 40`

export async function profile(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      store: { type: 'string', default: 'embedded' },
      seconds: { type: 'string', default: '8' },
      lines: { type: 'string', default: '40' },
    },
  })
  await onScene(scene => run(scene, values.store, Number(values.seconds), Number(values.lines)))
}

async function run(scene: Scene, store: string, seconds: number, lines: number): Promise<void> {
  const folder = join(scene.folder, 'profile')
  const { keys, ...options } = await storeOptions(scene, store)
  const gateway = await startGateway(scene, 'gateway', {
    ...options,
    upstream: await startUpstream(scene, false),
    nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${folder}`],
  })
  const tokens = keys ?? (await logIn(gateway, CLIENTS))
  const asked = { url: gateway.url + pathOf('/api/v1/c', 0.1), tokens, connections: 64, seconds }
  await load(scene.folder, asked)
  const { rate } = await load(scene.folder, asked)
  await gateway.end()
  const all = readdirSync(folder).map(file => selfTimes(join(folder, file), seconds * 1e6))
  // The supervisor writes a profile too, an idle one.
  const busiest = all.toSorted((a, b) => b.busy - a.busy)[0]!
  console.log(`${store}: ${fixed(rate, 0)} requests/s under the profiler; microseconds of a request by function:\n`)
  const rows = [...busiest.byFunction].toSorted(([, a], [, b]) => b - a).slice(0, lines)
  const requests = rate * seconds
  printTable(
    ['function', 'µs', '%'],
    rows.map(([name, time]) => [name, fixed(time / requests, 2), fixed((time * 100) / busiest.busy, 1)]),
  )
}

/** A gateway with a store by its name, and the keys of its programs where it has them. */
export async function storeOptions(
  scene: Scene,
  store: string,
): Promise<GatewayOptions & { keys?: readonly string[] }> {
  if (store === 'embedded') return {}
  if (store === 'keys') return gatewayWithKeys(scene, CLIENTS)
  const redis = (await startRedis(scene))?.url
  const cache = store === 'tracking' ? 'tracking' : 'off'
  return { redis, settings: knows('session_cache') ? { session_cache: { business: cache, consumer: cache } } : {} }
}

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** Self time of each function and the total time that was not idle, in the last microseconds of the profile. */
function selfTimes(file: string, last: number): { byFunction: Map<string, number>; busy: number } {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const byFunction = new Map<string, number>()
  let left = timeDeltas.reduce((sum, delta) => sum + delta, 0)
  let busy = 0
  for (const [i, sample] of samples.entries()) {
    const name = names.get(sample)!
    left -= timeDeltas[i]!
    if (name === '(idle)' || left > last) continue
    busy += timeDeltas[i]!
    byFunction.set(name, (byFunction.get(name) ?? 0) + timeDeltas[i]!)
  }
  return { byFunction, busy }
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName
  const place = url.replace(/^file:\/\//, '').replace(/^.*\/(node_modules|dist)\//, '')
  return `${functionName || '(anonymous)'} ${place}:${lineNumber + 1}`
}
