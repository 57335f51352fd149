import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import type { SessionCacheSettings } from '../src/settings/schema/store.ts'
import type { Store } from '../src/store/store.ts'
import { onScene, type Scene } from './process.ts'
import { ProcessorMeter } from './processor.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import { fixed, medianOf, note, printTable, spreadOf, whole } from './statistics.ts'
import { addSession, openBeside, tokenOf } from './stored.ts'

export const FLEET_HELP = `fleet     very many workers with tracking caches on one Redis: what they cost it, and how soon all know an end
            --workers 1,10,100,400      how many at a time; each of the gateways has some
            --rounds 50                 sessions that every worker remembers, and whose end is timed
            --rate 50 --seconds 5       sessions that begin and end each second while Redis is measured`

const PATIENCE = 20_000
const MICROSECONDS = 1e6
/** Look-ups that are asked of Redis, and so many at a time. */
const READS = 5120
const TOGETHER = 16
const CACHE: SessionCacheSettings = { business: 'off', consumer: 'tracking', heartbeat: 1000, max_entries: 100_000 }

interface Extent {
  rounds: number
  rate: number
  seconds: number
}

export async function fleet(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      workers: { type: 'string', default: '1,10,100,400' },
      rounds: { type: 'string', default: '50' },
      rate: { type: 'string', default: '50' },
      seconds: { type: 'string', default: '5' },
    },
  })
  const extent = { rounds: Number(values.rounds), rate: Number(values.rate), seconds: Number(values.seconds) }
  const rows: string[][] = []
  for (const size of values.workers.split(',').map(Number)) {
    note(`${whole(size)} workers`)
    await onScene(async scene => {
      const redis = await startRedis(scene)
      if (redis === null) throw new Error('there is no redis-server on this machine')
      rows.push(await measure(scene, redis, size, extent))
    })
  }
  const costs = ['Redis at rest, µs/s each', 'look-up, µs', 'login, µs', 'end, µs', 'logins and ends/s of a core']
  const times = ['end acknowledged, ms', 'known to all, ms', 'worst']
  printTable(['workers', 'connections each', 'KiB each', ...costs, ...times], rows)
}

async function measure(scene: Scene, redis: BenchRedis, size: number, extent: Extent): Promise<string[]> {
  const client = new Redis(redis.url, { protocol: 2 })
  scene.keep({ end: () => client.disconnect() })
  const before = await sizesOf(client)
  const stores = await openStores(scene, redis, size)
  const after = await sizesOf(client)
  const meter = new ProcessorMeter([redis.pid])
  const resting = await rateOf(meter, () => pause(extent.seconds * 1000))
  const [store] = stores as [Store]
  const count = extent.rate * extent.seconds
  const read = await readCost(meter, resting, store)
  const login = await costOf(meter, resting, extent, n => begin(store, n))
  const end = await costOf(meter, resting, extent, n => store.sessions.remove('CONSUMER', userOf(n), tokenOf(n)))
  const times: { acknowledged: number; known: number }[] = []
  for (let round = 0; round < extent.rounds; round++) times.push(await timeEnd(stores, count + round))
  const known = spreadOf(times.map(one => one.known))
  return [
    whole(size),
    fixed((after.clients - before.clients) / size, 1),
    whole((after.bytes - before.bytes) / 1024 / size),
    whole(resting / size),
    fixed(read, 1),
    whole(login),
    whole(end),
    whole((2 * (MICROSECONDS - resting)) / (login + end)),
    fixed(medianOf(times.map(one => one.acknowledged))),
    fixed(known.median),
    fixed(known.most),
  ]
}

/** Stores as so many workers have them; each already remembers what it finds. */
async function openStores(scene: Scene, { url }: BenchRedis, size: number): Promise<Store[]> {
  const stores: Store[] = []
  for (let i = 0; i < size; i++) {
    const store = await openBeside(url, scene.folder, PATIENCE, { cache: CACHE })
    stores.push(scene.keep({ ...store, end: () => store.close() }))
  }
  await begin(stores[0]!, -1)
  for (const store of stores) {
    while (!isRemembered(store, -1)) {
      await store.sessions.find('CONSUMER', tokenOf(-1))
      await nextTurn()
    }
  }
  return stores
}

const sizesOf = async (client: Redis): Promise<{ clients: number; bytes: number }> => {
  const info = await client.info()
  const of = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)![1])
  return { clients: of('connected_clients'), bytes: of('used_memory') }
}

/** Microseconds of processor time a second during something. */
async function rateOf(meter: ProcessorMeter, work: () => Promise<unknown>): Promise<number> {
  const [before, began] = [meter.read(), performance.now()]
  await work()
  return (meter.read() - before) / (performance.now() - began)
}

/** Microseconds of Redis for one of many, which are evenly spread over the time, beside what it does at rest. */
async function costOf(
  meter: ProcessorMeter,
  resting: number,
  { rate, seconds }: Extent,
  one: (n: number) => Promise<unknown>,
): Promise<number> {
  const busy = await rateOf(meter, async () => {
    const began = performance.now()
    for (let n = 0; n < rate * seconds; n++) {
      await one(n)
      await pause(Math.max(0, began + ((n + 1) * 1000) / rate - performance.now()))
    }
  })
  return (busy - resting) / rate
}

/** Microseconds of Redis for one of many look-ups whose session no worker remembers. */
async function readCost(meter: ProcessorMeter, resting: number, { sessions }: Store): Promise<number> {
  const [before, began] = [meter.read(), performance.now()]
  for (let n = 0; n < READS; n += TOGETHER)
    await Promise.all(Array.from({ length: TOGETHER }, (_, i) => sessions.find('BUSINESS', tokenOf(n + i))))
  return ((meter.read() - before) / 1000 - (resting * (performance.now() - began)) / 1000) / READS
}

/** Milliseconds from the request to end a session to its answer, and to the last worker that no longer accepts the session. */
async function timeEnd(stores: readonly Store[], n: number): Promise<{ acknowledged: number; known: number }> {
  await begin(stores[0]!, n)
  for (const store of stores) await store.sessions.find('CONSUMER', tokenOf(n))
  const accepting = new Set(stores.filter(store => isRemembered(store, n)))
  if (accepting.size < stores.length) throw new Error(`${stores.length - accepting.size} workers remember no session`)
  const began = performance.now()
  let acknowledged = 0
  const ended = stores[0]!.sessions.remove('CONSUMER', userOf(n), tokenOf(n)).then(() => {
    acknowledged = performance.now() - began
  })
  while (accepting.size > 0) {
    await nextTurn()
    for (const store of accepting) if (!isRemembered(store, n)) accepting.delete(store)
  }
  const known = performance.now() - began
  await ended
  return { acknowledged, known }
}

/** Whether a worker accepts a session without a question to Redis. */
function isRemembered({ sessions }: Store, n: number): boolean {
  const found = sessions.find('CONSUMER', tokenOf(n))
  if (!(found instanceof Promise)) return found !== null
  found.catch(() => undefined)
  return false
}

const begin = (store: Store, n: number): Promise<unknown> => addSession(store, userOf(n), tokenOf(n))

const userOf = (n: number): string => `user${n}`
