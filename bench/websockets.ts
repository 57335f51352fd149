import { connect, type Socket } from 'node:net'
import { type BenchGateway, type GatewayOptions, logIn, operate, reload, startGateway } from './gateway.ts'
import { residentBytes, type Scene } from './process.ts'
import { startRedis } from './redis.ts'
import { fixed, note, quantile, whole } from './statistics.ts'
import { startUpstream } from './upstream.ts'

const PER_USER = 20
/** Handshakes in progress at the same time. */
const AT_ONCE = 100

/** Memory of idle WebSockets: one gateway process with both connections of each. */
export async function idleWebSockets(scene: Scene, count: number): Promise<string[]> {
  const gateway = await startWithWebSockets(scene, 'gateway-websockets', { settings: { workers: 1 } })
  const [warmUp, ...tokens] = await logIn(gateway, 1 + Math.ceil(count / PER_USER))
  const before = await openWebSockets(gateway, [warmUp!], PER_USER)
  await rest()
  const bytes = residentBytes(gateway.pid)
  const sockets = await openWebSockets(gateway, tokens, count)
  await rest()
  const held = sockets.filter(({ socket }) => !socket.destroyed).length
  const each = (residentBytes(gateway.pid) - bytes) / held
  for (const { socket } of [...before, ...sockets]) socket.destroy()
  return [`${whole(held)} idle WebSockets`, `${fixed(each / 1024, 1)} KiB each`]
}

/**
 * Milliseconds from the sending of a kickout to the close frame of each WebSocket of its user, on two workers, one
 * user after another; `null` without the store's server.
 */
export async function kickoutToClose(
  scene: Scene,
  store: 'embedded' | 'redis',
  count: number,
): Promise<string[] | null> {
  const redis = store === 'redis' ? await startRedis(scene, 'redis-websockets') : null
  if (store === 'redis' && redis === null) return null
  const settings = { workers: 2 }
  const gateway = await startWithWebSockets(scene, `gateway-kickout-${store}`, { settings, redis: redis?.url })
  const users = Math.ceil(count / PER_USER)
  const sockets = await openWebSockets(gateway, await logIn(gateway, users), count)
  const elapsed: number[] = []
  for (let i = 0; i < users; i++) {
    const ofUser = sockets.filter(({ user }) => user === i)
    const began = performance.now()
    const closed = Promise.all(ofUser.map(({ ended }) => ended))
    await operate(gateway, 'consumer/kickout', { user_id: `${1900000000 + i}` })
    for (const end of await closed) elapsed.push(end - began)
  }
  const sorted = elapsed.toSorted((a, b) => a - b)
  const [median, p99, worst] = [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1) ?? Number.NaN]
  const name = store === 'embedded' ? 'embedded store' : 'Redis'
  return [
    `kickout to closed WebSocket, ${whole(elapsed.length)} on 2 workers, ${name}`,
    `${fixed(median, 1)} ms, p99 ${fixed(p99, 1)} ms, worst ${fixed(worst, 1)} ms`,
  ]
}

/** Seconds over which a reload closes the WebSockets. */
const DRAIN = 30

/** How a reload of two workers closes WebSockets: the largest part of them in one second, and how many before the reload. */
export async function closedByReload(scene: Scene, count: number): Promise<string[]> {
  const settings = { workers: 2, drain: { websockets: `${DRAIN}s` } }
  const gateway = await startWithWebSockets(scene, 'gateway-drain', {
    settings,
    listen: { max_connections: 2 * count, max_connections_per_address: 2 * count },
  })
  const sockets = await openWebSockets(gateway, await logIn(gateway, Math.ceil(count / PER_USER)), count)
  const early = sockets.filter(({ socket }) => socket.destroyed).length
  note(`closing them over ${DRAIN} s`)
  await reload(gateway)
  const ends = (await Promise.all(sockets.map(({ ended }) => ended))).toSorted((a, b) => a - b)
  let most = 0
  for (let first = 0, last = 0; last < ends.length; last++) {
    while (ends[last]! - ends[first]! >= 1000) first++
    most = Math.max(most, last - first + 1)
  }
  const seconds = (ends.at(-1)! - ends[0]!) / 1000
  return [
    `a reload closes ${whole(count)} WebSockets over ${DRAIN} s, 2 workers`,
    `at most ${fixed((100 * most) / count, 1)} % in a second, the last after ${fixed(seconds, 1)} s, ${early} before it`,
  ]
}

async function startWithWebSockets(scene: Scene, name: string, options: GatewayOptions): Promise<BenchGateway> {
  const target = await startUpstream(scene, true)
  const live = {
    name: 'live',
    match: '/api/v1',
    target,
    websocket: { max_connections: 100_000, max_per_user: 10 * PER_USER },
  }
  return startGateway(scene, name, { ...options, settings: { ...options.settings, upstreams: [live] } })
}

interface Opened {
  user: number
  socket: Socket
  /** Resolves with the time of its close frame. */
  ended: Promise<number>
}

export async function openWebSockets(
  gateway: BenchGateway,
  tokens: readonly string[],
  count: number,
  path = '/api/v1/c/live',
): Promise<Opened[]> {
  note(`opening ${whole(count)} WebSockets`)
  const opened: Opened[] = []
  while (opened.length < count) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - opened.length) }, (_, i) => {
      const user = (opened.length + i) % tokens.length
      return open(gateway, user, `${path}?token=${tokens[user]}`)
    })
    opened.push(...(await Promise.all(some)))
  }
  return opened
}

function open({ url }: BenchGateway, user: number, target: string): Promise<Opened> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const ended = new Promise<number>(resolve => {
    // The first bytes are the answer to the handshake; of what follows, the first are the close frame.
    socket.once('data', () => socket.once('data', () => resolve(performance.now())))
    socket.once('close', () => resolve(performance.now()))
  })
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('data', answer => {
      if (!answer.toString('latin1').startsWith('HTTP/1.1 101 ')) reject(new Error(`refused: ${answer}`))
      else resolve({ user, socket, ended })
    })
    const key = 'dGhlIHNhbXBsZSBub25jZQ=='
    const lines = ['Host: a', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    socket.write(`GET ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\nSec-WebSocket-Key: ${key}\r\n\r\n`)
  })
}

/** Two seconds without requests, so that garbage is collected before the measurement. */
const rest = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 2000))
