import { parseArgs } from 'node:util'
import { type BenchGateway, logIn, startGateway } from './gateway.ts'
import { onScene, residentBytes, type Scene } from './process.ts'
import { reloadTimes, startTimes } from './start-times.ts'
import { fixed, printTable, spreadOf, whole } from './statistics.ts'
import { download, holdConnections, upload } from './transfers.ts'
import { startUpstream } from './upstream.ts'
import { closedByReload, idleWebSockets, kickoutToClose } from './websockets.ts'

export const RESOURCES_HELP = `resources memory of idle connections, WebSockets and large bodies, the time from a kickout to closed WebSockets,
            from a start to the first answer, from a reload to that of a new route, and how a reload closes WebSockets
            --connections 10000 --websockets 2000 --drained 10000 --mib 1024 --starts 5`

const MIB = 2 ** 20
/** MiB through the gateway before memory is measured, because buffers that are kept are not growth. */
const WARM_UP = 128
const SAMPLE_INTERVAL = 20

export async function resources(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      connections: { type: 'string', default: '10000' },
      websockets: { type: 'string', default: '2000' },
      drained: { type: 'string', default: '10000' },
      mib: { type: 'string', default: '1024' },
      starts: { type: 'string', default: '5' },
    },
  })
  const rows: string[][] = []
  await onScene(async scene => {
    const gateway = await startGateway(scene, 'gateway', { upstream: await startUpstream(scene, true) })
    const [token] = await logIn(gateway, 1)
    rows.push(await idleConnections(gateway, token!, Number(values.connections)))
    rows.push(await idleWebSockets(scene, Number(values.websockets)))
    for (const store of ['embedded', 'redis'] as const) {
      const row = await kickoutToClose(scene, store, Number(values.websockets))
      if (row !== null) rows.push(row)
    }
    rows.push(await largeBody('up', gateway, token!, Number(values.mib)))
    rows.push(await largeBody('down', gateway, token!, Number(values.mib)))
  })
  await onScene(async scene => {
    rows.push(...(await starts(scene, Number(values.starts))))
    rows.push(await reloads(scene, Number(values.starts)))
  })
  await onScene(async scene => {
    rows.push(await closedByReload(scene, Number(values.drained)))
  })
  printTable(['what', 'measured'], rows)
}

/** Connections that send one request and stay open. */
async function idleConnections(gateway: BenchGateway, token: string, count: number): Promise<string[]> {
  const before = residentBytes(gateway.pid)
  const sockets = await holdConnections(gateway.url, token, count)
  await rest()
  const held = sockets.filter(socket => !socket.destroyed).length
  const each = (residentBytes(gateway.pid) - before) / held
  for (const socket of sockets) socket.destroy()
  return [`${whole(held)} idle keep-alive connections`, `${fixed(each / 1024, 1)} KiB each`]
}

async function largeBody(way: 'up' | 'down', gateway: BenchGateway, token: string, mib: number): Promise<string[]> {
  const pass = way === 'up' ? upload : download
  await pass(gateway.url, token, WARM_UP)
  await rest()
  const before = residentBytes(gateway.pid)
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, residentBytes(gateway.pid))
  }, SAMPLE_INTERVAL)
  const began = performance.now()
  await pass(gateway.url, token, mib)
  const seconds = (performance.now() - began) / 1000
  clearInterval(sampling)
  const grown = fixed((most - before) / MIB, 1)
  return [`${mib} MiB ${way}`, `at most ${grown} MiB more resident, ${whole(mib / seconds)} MiB/s`]
}

/** A prepared gateway beside a minimal Fastify. */
async function starts(scene: Scene, count: number): Promise<string[][]> {
  const { minimal, alone, workers } = await startTimes(scene, count)
  const row = (what: string, elapsed: readonly number[]): string[] => {
    const { median, least, most } = spreadOf(elapsed)
    return [`start to first answer, ${what}`, `${whole(median)} ms (${whole(least)} – ${whole(most)})`]
  }
  return [
    row('a minimal Fastify', minimal),
    row('embedded store', alone),
    row('embedded store, supervisor and two workers', workers),
  ]
}

async function reloads(scene: Scene, count: number): Promise<string[]> {
  const { median, least, most } = spreadOf((await reloadTimes(scene, count)).first)
  return ['SIGHUP to the first answer of a new route', `${whole(median)} ms (${whole(least)} – ${whole(most)})`]
}

/** Two seconds without requests, so that garbage is collected before the measurement. */
const rest = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 2000))
