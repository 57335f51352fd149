import { logIn, startGateway } from './gateway.ts'
import { residentBytes, type Scene } from './process.ts'
import { saturating } from './rounds.ts'
import { note } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

const SESSIONS = 1000
const CONNECTIONS = 64
const ROUNDS = 5
const SECONDS = 2

/** The young generation that Node 20 has by itself; Node 24 and 26 have twice as much. */
const SMALLER = ['--max-semi-space-size=16']

/** Resident bytes of a worker after a load, one figure for each start. */
export interface WorkerMemory {
  ours: number[]
  smaller: number[]
}

/** Two gateways with one worker, the first as Node starts it, the second with a young generation of 16 MiB, get the same load in turn. */
export async function workerMemory(scene: Scene, starts: number): Promise<WorkerMemory> {
  const upstream = await startUpstream(scene, false)
  const memory: WorkerMemory = { ours: [], smaller: [] }
  for (let start = 1; start <= starts; start++) {
    note(`memory, start ${start} of ${starts}`)
    await scene.part(async part => {
      const gateways = {
        ours: await startGateway(part, 'ours', { upstream }),
        smaller: await startGateway(part, 'smaller', { upstream, nodeOptions: SMALLER }),
      }
      const sends = await Promise.all(
        Object.values(gateways).map(async gateway => {
          const tokens = await logIn(gateway, SESSIONS)
          return saturating(part, { url: gateway.url + pathOf('/api/v1/c', 0.1), tokens, connections: CONNECTIONS })
        }),
      )
      for (let round = 0; round < ROUNDS; round++) for (const send of sends) await send(SECONDS)
      memory.ours.push(residentBytes(gateways.ours.pid))
      memory.smaller.push(residentBytes(gateways.smaller.pid))
    })
  }
  return memory
}
