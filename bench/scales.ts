import { join } from 'node:path'
import { raiseContenders } from './contenders.ts'
import { type BenchGateway, type GatewayOptions, logIn, startGateway } from './gateway.ts'
import { residentBytes, type Scene } from './process.ts'
import { ProcessorMeter } from './processor.ts'
import { heldBytes, startRedis, startRedisCluster } from './redis.ts'
import { type Lane, saturating, warmUp } from './rounds.ts'
import { LOGINS_PER_USER, type Ground as Seeded, seed } from './seed.ts'
import { Ground } from './stage.ts'
import { note, whole } from './statistics.ts'
import { holdConnections, passBodies } from './transfers.ts'
import { pathOf, startUpstream } from './upstream.ts'

/** The same requests to the gateway and to a bare http-proxy, for one size of the work. */
export interface Pair {
  size: number
  ours: Lane
  bare: Lane
  /** Milliseconds of the start of the gateway, and its memory, if it has only this size. */
  started?: number
  resident?: () => number
}

/** A size of the work that can grow. */
export interface Scale {
  title: string
  sizes: readonly number[]
  /** Creates what stays for all starts; the result starts new gateways. */
  open(scene: Scene, sizes: readonly number[]): Promise<(part: Scene) => Promise<Pair[]>>
}

const CONSUMER = '/api/v1/c'
const CONNECTIONS = 64
const SESSIONS = 1000
/** Tokens in use at most, spread over all sessions. */
const TOKENS = 20_000
/** Upstreams in use at most, spread over all: with more, rounds would measure how connections are opened. */
const REQUESTED = 50
const KIB = 1024
const UPSTREAMS = [1, 10, 100, 1000, 5000]
/** Requests to warm up each of the many gateways. */
const WARM_UP = 10_000

/** In the order of the table. */
export const SCALES: Readonly<Record<string, Scale>> = {
  embedded: {
    title: 'sessions, embedded store',
    sizes: [1e3, 1e4, 1e5, 1e6, 1e7],
    open: eachItsGateway(async (scene, size) => {
      const data = join(scene.folder, `seeded-${size}`)
      return { options: { data }, tokens: await seedSessions({ data, together: 200 }, size) }
    }),
  },
  redis: {
    title: 'sessions, Redis',
    sizes: [1e3, 1e4, 1e5, 1e6, 1e7],
    open: eachItsGateway(async (scene, size) => {
      const redis = (await startRedis(scene, `redis-${size}`))?.url
      if (redis === undefined) throw new Error('there is no redis-server on this machine')
      const data = join(scene.folder, `beside-redis-${size}`)
      return { options: { redis }, tokens: await seedSessions({ redis, data, together: 500 }, size) }
    }),
  },
  cluster: {
    title: 'sessions, Redis Cluster of three masters',
    sizes: [1e3, 1e6, 1e7],
    open: eachItsGateway(async (scene, size) => {
      const redis = await startRedisCluster(scene)
      const data = join(scene.folder, `beside-cluster-${size}`)
      const tokens = await seedSessions({ redis, data, together: 500, listed: false }, size)
      const held = await heldBytes(redis)
      note(`${whole(size)} sessions: ${held.map(bytes => `${whole(bytes / 2 ** 20)} MiB`).join(', ')} of the masters`)
      return { options: { redis }, tokens }
    }),
  },
  upstreams: {
    title: 'upstreams',
    sizes: UPSTREAMS,
    open: eachItsGateway(amongUpstreams(REQUESTED)),
  },
  'one-upstream': {
    title: 'upstreams, one of them requested',
    sizes: UPSTREAMS,
    open: eachItsGateway(amongUpstreams(1)),
  },
  connections: {
    title: 'idle connections',
    sizes: [1, 10, 100, 1000, 10_000, 20_000],
    open: eachItsGateway(async (_scene, size) => ({
      // An address may have as many connections as it likes, and none of them ends during the run.
      options: { listen: { timeouts: { keep_alive: '1h' } }, settings: { trusted_proxies: ['127.0.0.1'] } },
      async prepare(part, { url }, token) {
        const sockets = await holdConnections(url, token, size)
        part.keep({ end: () => sockets.forEach(socket => void socket.destroy()) })
      },
    })),
  },
  workers: {
    title: 'worker processes',
    sizes: [1, 2],
    open: eachItsGateway(async (_scene, workers) => ({ options: { settings: { workers } } })),
  },
  headers: {
    title: 'bytes of header fields',
    sizes: [100, 1000, 10_000],
    open: oneGateway(false, (scene, url, tokens, bytes) => {
      // Fields of 100 bytes each: name, colon, space, value, line end.
      const fields = Array.from({ length: bytes / 100 }, (_, i) => [`x-${String(i).padStart(3, '0')}`, 'x'.repeat(91)])
      const headers = Object.fromEntries(fields) as Record<string, string>
      return saturating(scene, { url: url + pathOf(CONSUMER, 0.1), tokens, connections: CONNECTIONS, headers })
    }),
  },
  down: {
    title: 'KiB of the response body',
    sizes: [1, 10, 100, 1024, 10_240, 102_400],
    open: oneGateway(true, (scene, url, tokens, kib) =>
      kib < KIB
        ? saturating(scene, { url: url + pathOf(CONSUMER, kib), tokens, connections: CONNECTIONS })
        : () => passBodies('down', url, tokens[0]!, kib / KIB),
    ),
  },
  up: {
    title: 'KiB of the request body',
    sizes: [1, 10, 100, 1024, 10_240, 102_400],
    open: oneGateway(true, (scene, url, tokens, kib) =>
      kib < KIB
        ? saturating(scene, { url: url + pathOf(CONSUMER, 0.1), tokens, connections: CONNECTIONS, body: kib * KIB })
        : () => passBodies('up', url, tokens[0]!, kib / KIB),
    ),
  },
}

/** Fills a store with so many sessions and returns tokens of sessions from all parts of it. */
async function seedSessions(ground: Seeded, sessions: number): Promise<string[]> {
  const every = Math.max(1, Math.floor(sessions / TOKENS))
  const tokens: string[] = []
  await seed(ground, Math.round(sessions / LOGINS_PER_USER), (token, login) => {
    if (login % every === 0) tokens.push(token)
  })
  return tokens
}

/** So many upstreams, with requests to some that are spread over all. */
function amongUpstreams(most: number) {
  return async (_scene: Scene, size: number, target: string): Promise<Sized> => {
    const upstreams = Array.from({ length: size }, (_, i) => ({ name: `u${i}`, match: `${CONSUMER}/u${i}`, target }))
    const requested = upstreams.filter((_, i) => i % Math.ceil(size / most) === 0)
    return { options: { settings: { upstreams } }, paths: requested.map(({ match }) => pathOf(match, 0.1)) }
  }
}

/** What a gateway of one size has that others have not. */
interface Sized {
  options?: GatewayOptions
  /** Of sessions that exist already. */
  tokens?: readonly string[]
  paths?: readonly string[]
  prepare?(part: Scene, gateway: BenchGateway, token: string): Promise<void>
}

/** A gateway for each size, and one bare http-proxy. */
function eachItsGateway(of: (scene: Scene, size: number, upstream: string) => Promise<Sized>): Scale['open'] {
  return async (scene, sizes) => {
    const upstream = await startUpstream(scene, false)
    const all: [size: number, sized: Sized][] = []
    for (const size of sizes) all.push([size, await of(scene, size, upstream)])
    return async part => {
      const bare = await startBare(part, upstream)
      const bareLane = { key: 'bare', send: smallRequests(part, bare.url, []), meter: bare.meter }
      const pairs: Pair[] = []
      for (const [size, sized] of all) pairs.push({ ...(await pairOf(part, size, upstream, sized)), bare: bareLane })
      return pairs
    }
  }
}

async function pairOf(
  part: Scene,
  size: number,
  upstream: string,
  { options = {}, tokens, paths, prepare }: Sized,
): Promise<Omit<Pair, 'bare'>> {
  const began = performance.now()
  const gateway = await startGateway(part, `gateway-${size}`, { upstream, ...options })
  const started = performance.now() - began
  const own = tokens ?? (await logIn(gateway, SESSIONS))
  await prepare?.(part, gateway, own[0]!)
  const send = smallRequests(part, gateway.url, own, paths)
  await warmUp(send, WARM_UP)
  const ours = { key: whole(size), send, meter: new ProcessorMeter([gateway.pid]) }
  return { size, ours, started, resident: () => residentBytes(gateway.pid) }
}

const smallRequests = (
  scene: Scene,
  url: string,
  tokens: readonly string[],
  paths: readonly string[] = [],
): Lane['send'] => saturating(scene, { url: url + pathOf(CONSUMER, 0.1), paths, tokens, connections: CONNECTIONS })

/** Warmed up already. */
async function startBare(part: Scene, upstream: string): Promise<{ url: string; meter: ProcessorMeter }> {
  const [bare] = await raiseContenders(part, new Ground(part, upstream), { only: ['bare'] })
  const { url, processes } = bare!
  await warmUp(smallRequests(part, url, []), WARM_UP)
  return { url, meter: new ProcessorMeter(processes.map(({ pid }) => pid)) }
}

/** One gateway and one bare http-proxy, which get requests of each size. */
function oneGateway(
  bodies: boolean,
  sender: (scene: Scene, url: string, tokens: readonly string[], size: number) => Lane['send'],
): Scale['open'] {
  return async (scene, sizes) => {
    const upstream = await startUpstream(scene, bodies)
    return async part => {
      const bare = await startBare(part, upstream)
      const gateway = await startGateway(part, 'gateway', { upstream })
      const tokens = await logIn(gateway, SESSIONS)
      await warmUp(smallRequests(part, gateway.url, tokens), WARM_UP)
      const meter = new ProcessorMeter([gateway.pid])
      return sizes.map(size => ({
        size,
        ours: { key: whole(size), send: sender(part, gateway.url, tokens, size), meter },
        bare: { key: `bare ${whole(size)}`, send: sender(part, bare.url, tokens, size), meter: bare.meter },
      }))
    }
  }
}
