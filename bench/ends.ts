import { parseArgs } from 'node:util'
import { Client } from 'undici'
import { endsByProvider } from './ends-by-provider.ts'
import { endsOfKeys } from './ends-of-keys.ts'
import { type BenchGateway, operate, startGateway } from './gateway.ts'
import { onScene, type Scene } from './process.ts'
import { startRedis } from './redis.ts'
import { fixed, note, printTable, quantile, whole } from './statistics.ts'
import { lateUses } from './used-while-ended.ts'

export const ENDS_HELP = `ends      how soon the end of an own session is known to the other worker
            --rounds 300                sessions that are ended on each side
            --of sessions               or keys: every end of a key, also at a second gateway on Redis
                                        or provider: a logout at an OpenID provider, to the last closed WebSocket`

/** How many are ended where it is not said. */
const SESSIONS = 300
const KEYS = 30
const LOGOUTS = 50
/** Connections on which a session is used while it ends; two workers share them. */
const CONNECTIONS = 8

const SIDES = {
  business: { path: '/api/v1/b/x', own: '/api/v1/b/session/exit-token' },
  consumer: { path: '/api/v1/c/x', own: '/api/v1/c/session/exit-token' },
} as const

export async function ends(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { rounds: { type: 'string' }, of: { type: 'string', default: 'sessions' } },
  })
  if (values.of === 'keys') return endsOfKeys(Number(values.rounds ?? KEYS))
  if (values.of === 'provider') return endsByProvider(Number(values.rounds ?? LOGOUTS))
  const count = Number(values.rounds ?? SESSIONS)
  const rows: string[][] = []
  for (const store of ['embedded', 'redis'] as const) {
    await onScene(async scene => {
      const redis = store === 'redis' ? await startRedis(scene, 'redis-ends') : null
      if (store === 'redis' && redis === null) return note('redis-server is missing: Redis is left out')
      rows.push(...(await measure(scene, store, redis?.url, count)))
    })
  }
  printTable(['store, side', 'ended', 'used after the answer', 'last use after the answer, p99', 'worst'], rows)
}

async function measure(scene: Scene, store: string, redis: string | undefined, rounds: number): Promise<string[][]> {
  const gateway = await startGateway(scene, `gateway-ends-${store}`, {
    redis,
    core: null,
    settings: {
      workers: 2,
      own_sessions: { business: true, consumer: true },
      upstreams: [{ name: 'echo', match: '/api', target: 'builtin:echo' }],
    },
  })
  const clients = Array.from({ length: CONNECTIONS }, () => new Client(gateway.url))
  const asking = new Client(gateway.url)
  const rows: string[][] = []
  for (const side of ['business', 'consumer'] as const) {
    const late: number[] = []
    for (let i = 0; i < rounds; i++) late.push(...(await endOne(gateway, side, `${i}`, clients, asking)))
    const sorted = late.toSorted((a, b) => a - b)
    const worst = (part: number): string => `${fixed(sorted.length === 0 ? 0 : quantile(sorted, part), 1)} ms`
    rows.push([`${store}, ${side}`, whole(rounds), whole(late.length), worst(0.99), worst(1)])
  }
  await Promise.all([...clients, asking].map(client => client.close()))
  return rows
}

/** Ends one of two sessions of a user by the other one, while it is used. */
async function endOne(
  gateway: BenchGateway,
  side: keyof typeof SIDES,
  user: string,
  clients: readonly Client[],
  asking: Client,
): Promise<number[]> {
  const login = async () => (await operate(gateway, `${side}/login`, { user_id: `u${user}` })).token!
  const [own, ended] = [await login(), await login()]
  const { path, own: exit } = SIDES[side]
  const handle: string = JSON.parse(Buffer.from(ended.split('.')[1]!, 'base64url').toString()).jti
  return lateUses({
    clients,
    async use(client) {
      const { body } = await client.request({ method: 'GET', path, headers: { authorization: `Bearer ${ended}` } })
      return ((await body.json()) as { code?: number }).code !== 401
    },
    async end() {
      const headers = { authorization: `Bearer ${own}`, 'content-type': 'application/json' }
      const { body } = await asking.request({
        method: 'POST',
        path: exit,
        headers,
        body: JSON.stringify({ token: handle }),
      })
      const { success } = (await body.json()) as { success: boolean }
      if (!success) throw new Error('the session was not ended')
    },
  })
}
