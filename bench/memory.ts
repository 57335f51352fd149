import { logIn, startGateway } from './gateway.ts'
import { residentBytes, type Scene } from './process.ts'
import { saturating } from './rounds.ts'
import { note } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

const SESSIONS = 1000
const CONNECTIONS = 64
const ROUNDS = 5
const SECONDS = 2

/** Node's own size of the young generation on 64-bit machines, in MiB. */
const NODE_DEFAULT = ['--max-semi-space-size=16']

/** Resident bytes of a worker after a load, one figure for each start. */
export interface WorkerMemory {
  ours: number[]
  nodeDefault: number[]
}

/** Two gateways with one worker, the second one with Node's default heap, get the same load in turn. */
export async function workerMemory(scene: Scene, starts: number): Promise<WorkerMemory> {
  const upstream = await startUpstream(scene, false)
  const memory: WorkerMemory = { ours: [], nodeDefault: [] }
  for (let start = 1; start <= starts; start++) {
    note(`memory, start ${start} of ${starts}`)
    await scene.part(async part => {
      const gateways = {
        ours: await startGateway(part, 'ours', { upstream }),
        nodeDefault: await startGateway(part, 'node-default', { upstream, nodeOptions: NODE_DEFAULT }),
      }
      const sends = await Promise.all(
        Object.values(gateways).map(async gateway => {
          const tokens = await logIn(gateway, SESSIONS)
          return saturating(part, { url: gateway.url + pathOf('/api/v1/c', 0.1), tokens, connections: CONNECTIONS })
        }),
      )
      for (let round = 0; round < ROUNDS; round++) for (const send of sends) await send(SECONDS)
      memory.ours.push(residentBytes(gateways.ours.pid))
      memory.nodeDefault.push(residentBytes(gateways.nodeDefault.pid))
    })
  }
  return memory
}
