import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { type BenchGateway, logIn, startGateway } from './gateway.ts'
import { onScene, residentBytes, type Scene } from './process.ts'
import { fixed, note, printTable, spreadOf, whole } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'
import { idleWebSockets, kickoutToClose } from './websockets.ts'

export const RESOURCES_HELP = `resources memory of idle connections, WebSockets and large bodies, the time from a kickout to closed WebSockets,
            and from a start to the first answer
            --connections 10000 --websockets 2000 --mib 1024 --starts 5`

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
  rows.push(await onceStarted(Number(values.starts)))
  printTable(['what', 'measured'], rows)
}

/** Connections that send one request and stay open. */
async function idleConnections(gateway: BenchGateway, token: string, count: number): Promise<string[]> {
  note(`opening ${whole(count)} connections`)
  const before = residentBytes(gateway.pid)
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(200, count - sockets.length) }, () => askOnce(gateway, token))
    sockets.push(...(await Promise.all(some)))
  }
  await rest()
  const held = sockets.filter(socket => !socket.destroyed).length
  const each = (residentBytes(gateway.pid) - before) / held
  for (const socket of sockets) socket.destroy()
  return [`${whole(held)} idle keep-alive connections`, `${fixed(each / 1024, 1)} KiB each`]
}

function askOnce({ url }: BenchGateway, token: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname).once('error', reject)
    socket.once('data', () => resolve(socket.resume()))
    socket.write(`GET ${pathOf('/api/v1/c', 0.1)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })
}

async function largeBody(way: 'up' | 'down', gateway: BenchGateway, token: string, mib: number): Promise<string[]> {
  const pass = way === 'up' ? upload : download
  await pass(gateway, token, WARM_UP)
  await rest()
  const before = residentBytes(gateway.pid)
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, residentBytes(gateway.pid))
  }, SAMPLE_INTERVAL)
  const began = performance.now()
  await pass(gateway, token, mib)
  const seconds = (performance.now() - began) / 1000
  clearInterval(sampling)
  const grown = fixed((most - before) / MIB, 1)
  return [`${mib} MiB ${way}`, `at most ${grown} MiB more resident, ${whole(mib / seconds)} MiB/s`]
}

function* chunks(mib: number): Iterable<Buffer> {
  const chunk = Buffer.alloc(65_536, 'x')
  for (let sent = 0; sent < mib * MIB; sent += chunk.length) yield chunk
}

async function upload({ url }: BenchGateway, token: string, mib: number): Promise<void> {
  const asked = request(url + pathOf('/api/v1/c', 0.1), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-length': mib * MIB },
  })
  const answered = new Promise<void>((resolve, reject) => {
    asked.once('response', response => void response.resume().once('end', resolve)).once('error', reject)
  })
  await pipeline(Readable.from(chunks(mib)), asked)
  await answered
}

function download({ url }: BenchGateway, token: string, mib: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = request(`${url}/api/v1/c/stream/${mib}`, { headers }, response => {
      let received = 0
      response.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      response.once('end', () => (received === mib * MIB ? resolve() : reject(new Error(`${received} bytes came`))))
    })
    asked.once('error', reject).end()
  })
}

/** Milliseconds from the start of the process to the first answer of a new gateway. */
async function onceStarted(starts: number): Promise<string[]> {
  const elapsed: number[] = []
  for (let i = 0; i < starts; i++) {
    await onScene(async (scene: Scene) => {
      const began = performance.now()
      const { url } = await startGateway(scene, 'gateway', {})
      await (await fetch(`${url}/api/v1/public/b/sm2/public-key`)).text()
      elapsed.push(performance.now() - began)
    })
  }
  const { median, least, most } = spreadOf(elapsed)
  return ['start to first answer, embedded store', `${whole(median)} ms (${whole(least)} – ${whole(most)})`]
}

/** Two seconds without requests, so that garbage is collected before the measurement. */
const rest = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 2000))
