import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startGateway } from './gateway.ts'
import { onScene, residentBytes, type Scene } from './process.ts'
import { heldBytes, type RedisPlace, startRedis, startRedisCluster } from './redis.ts'
import { seed } from './seed.ts'
import { askInTurn, Office } from './sessions-office.ts'
import { fixed, medianOf, note, printTable, quantile, whole } from './statistics.ts'
import { bytesOf } from './stored.ts'

export const SESSIONS_HELP = `sessions  session administration, login and kickout with few and with very many users online
            --users 1000,1000000        how many users are online; 1.2 tokens each
            --store redis,embedded      or cluster: three masters; about 2 KB of memory for each token
            --times 200                 how often each request is sent`

type StoreName = 'redis' | 'cluster' | 'embedded'

/**
 * Logins in progress at a time while seeding. The embedded store commits them together. With thousands, the file would have
 * larger blocks of free pages than a normal day leaves, and every later change would be slower.
 */
const TOGETHER: Readonly<Record<StoreName, number>> = { redis: 500, cluster: 500, embedded: 200 }

export async function sessions(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      users: { type: 'string', default: '1000,1000000' },
      store: { type: 'string', default: 'redis,embedded' },
      times: { type: 'string', default: '200' },
    },
  })
  const scales = values.users.split(',').map(Number)
  for (const store of values.store.split(',') as StoreName[]) {
    await onScene(scene => compare(scene, store, scales, Number(values.times)))
  }
}

/** A store with so many users online and its gateway. */
interface Populated {
  users: number
  tokens: number
  /** Bytes that a session takes, in Redis' memory or in the file. */
  perSession: number
  /** Those of them that the list of online users takes, in a Cluster: by how much the fullest server exceeds the emptiest. */
  perListed: number | null
  /** Memory of the gateway. */
  resident(): number
  office: Office
}

/** Both sizes are measured in turn, request by request, under the same conditions. */
async function compare(scene: Scene, store: StoreName, scales: readonly number[], times: number): Promise<void> {
  const populated: Populated[] = []
  for (const users of scales) populated.push(await populate(scene, store, users))
  const elapsed = await askInTurn(
    populated.map(({ office }) => office),
    times,
  )
  print(store, populated, elapsed)
  for (const { office } of populated) await office.close()
}

async function populate(scene: Scene, store: StoreName, users: number): Promise<Populated> {
  const redis = await placeOf(scene, store, users)
  const data = join(scene.folder, `seeded-${users}`)
  const empty = await bytesOf(redis, data)
  note(`${store}: seeding ${whole(users)} users`)
  const began = performance.now()
  const tokens = await seed({ redis, data, together: TOGETHER[store] }, users)
  note(`seeded in ${whole((performance.now() - began) / 1000)} s`)
  const perSession = ((await bytesOf(redis, data)) - empty) / tokens
  const perListed = typeof redis === 'object' ? (await excessOf(redis)) / tokens : null
  const gateway = await startGateway(scene, `gateway-${users}`, { redis, data })
  note(`a gateway started in ${whole(gateway.readyAfter)} ms`)
  const office = await Office.open(gateway, users)
  return { users, tokens, perSession, perListed, resident: () => residentBytes(gateway.pid), office }
}

/** All keys of the list lie on one server; the others are spread evenly. */
async function excessOf(redis: RedisPlace): Promise<number> {
  const held = await heldBytes(redis)
  return Math.max(...held) - Math.min(...held)
}

async function placeOf(scene: Scene, store: StoreName, users: number): Promise<RedisPlace | undefined> {
  if (store === 'embedded') return undefined
  if (store === 'cluster') return startRedisCluster(scene)
  const redis = await startRedis(scene, `redis-${users}`)
  if (redis === null) throw new Error('there is no redis-server on this machine')
  return redis.url
}

function print(store: StoreName, populated: readonly Populated[], elapsed: ReadonlyMap<string, number[][]>): void {
  console.log(`${store}: milliseconds through HTTP, median (99th percentile) of requests one after another:\n`)
  const rows = Array.from(elapsed, ([name, times]) => {
    const medians = times.map(medianOf)
    const last = times.map(one =>
      quantile(
        one.toSorted((a, b) => a - b),
        0.99,
      ),
    )
    const cells = medians.map((median, i) => `${fixed(median)} (${fixed(last[i]!, 1)})`)
    return [name, ...cells, fixed(medians.at(-1)! / medians[0]!)]
  })
  printTable(['what', ...populated.map(({ users }) => `${whole(users)} users`), 'ratio'], rows)
  const where = store === 'embedded' ? 'file' : 'memory of Redis'
  for (const { tokens, perSession, perListed, resident } of populated) {
    const memory = whole(resident() / 2 ** 20)
    const list = perListed === null ? '' : `, ${whole(perListed)} of them for the list, all at one server`
    console.log(
      `${whole(tokens)} tokens: ${whole(perSession)} bytes each (${where}${list}); gateway ${memory} MiB resident.`,
    )
  }
  console.log()
}
