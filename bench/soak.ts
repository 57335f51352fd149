import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { Client } from 'undici'
import type { Store } from '../src/store/store.ts'
import { type Load, startLoad } from '../test/process/load.ts'
import { type BenchGateway, logIn, operate, reload, startGateway } from './gateway.ts'
import { childrenOf, descriptors, onScene, residentBytes, type Scene } from './process.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import { ACCOUNTS, accountSettings, encryptFor, PASSWORD, signIn } from './sign-in.ts'
import { fixed, note, printTable, whole } from './statistics.ts'
import { bytesOf, openBeside } from './stored.ts'
import { startUpstream } from './upstream.ts'

export const SOAK_HELP = `soak      whether anything grows during a long run of requests, logins, kickouts and reloads
            --store embedded,redis --minutes 60 --rate 500
            --reloads 6                 all in the first half, so that workers become old in the second`

type StoreName = 'embedded' | 'redis'

/** Consumer sessions that exist at a time; each ends and is replaced after a pause. */
const SESSIONS = 500
const COMING = 10
const COMING_PAUSE = 200
const SIGN_IN_EVERY = 5_000
/** The permanent memory of the first requests is not growth, nor are keys that live for five minutes. */
const WARM_UP = 330_000
const REST = 30_000
const SAMPLES = 6
const MIB = 2 ** 20

export async function soak(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      store: { type: 'string', default: 'embedded,redis' },
      minutes: { type: 'string', default: '60' },
      rate: { type: 'string', default: '500' },
      reloads: { type: 'string', default: '6' },
    },
  })
  const extent = { milliseconds: Number(values.minutes) * 60_000, rate: Number(values.rate) }
  for (const store of values.store.split(',') as StoreName[]) {
    await onScene(scene => run(scene, store, extent, Number(values.reloads)))
  }
}

interface Extent {
  milliseconds: number
  rate: number
}

async function run(scene: Scene, kind: StoreName, { milliseconds, rate }: Extent, reloads: number): Promise<void> {
  const redis = kind === 'redis' ? await startRedis(scene) : null
  if (kind === 'redis' && redis === null) throw new Error('there is no redis-server on this machine')
  const settings = { workers: 2, ...accountSettings(scene.folder) }
  const upstream = await startUpstream(scene, false)
  const gateway = await startGateway(scene, `gateway-${kind}`, { upstream, redis: redis?.url, settings })
  const watched = { gateway, redis }
  const life = await Life.begin(scene, gateway, redis)
  const load = startLoad({ teardown: stop => void scene.keep({ end: stop }) }, gateway.url, {
    token: () => life.token(),
    path: '/api/v1/c/orders',
    clients: 32,
    rate,
    expected: '"id":7',
  })
  await wait(WARM_UP)

  const rows: string[][] = []
  const sample = async (when: string): Promise<void> => {
    rows.push([when, ...(await look(watched)), ...counts(load, life)])
    note(`${kind}: ${rows.at(-1)!.join(' · ')}`)
  }
  const began = performance.now()
  await sample('at the start')
  let reloaded = 0
  for (let i = 1; i <= SAMPLES; i++) {
    const until = began + (milliseconds * i) / SAMPLES
    for (; reloaded < (2 * reloads * i) / SAMPLES && reloaded < reloads; reloaded++) {
      await wait(milliseconds / 2 / reloads)
      await reload(gateway)
    }
    await wait(Math.max(0, until - performance.now()))
    await sample(`after ${fixed((milliseconds * i) / SAMPLES / 60_000, 0)} min`)
  }
  await load.stop()
  await life.stop()
  await wait(REST)
  await sample('at rest')
  print(kind, rows, [...load.outcome.failures, ...life.faults], { reloaded, rate })
}

/** Begins and ends sessions; each ended token is used once more. */
class Life {
  readonly faults: string[] = []
  logins = 0
  kickouts = 0
  readonly #live: { user: string; token: string }[] = []
  readonly #gateway: BenchGateway
  readonly #store: Store
  #stopped = false
  #turn = 0
  #users = SESSIONS
  #running: Promise<unknown> = Promise.resolve()

  private constructor(gateway: BenchGateway, store: Store) {
    this.#gateway = gateway
    this.#store = store
  }

  static async begin(scene: Scene, gateway: BenchGateway, redis: BenchRedis | null): Promise<Life> {
    const store = await openBeside(redis?.url, gateway.data, 20_000)
    const life = scene.keep(new Life(gateway, store))
    const tokens = await logIn(gateway, SESSIONS)
    life.#live.push(...tokens.map((token, i) => ({ user: `${1900000000 + i}`, token })))
    life.#running = Promise.all([life.#signIn(), ...Array.from({ length: COMING }, () => life.#comeAndGo())])
    return life
  }

  /** Of a session that lives on for the next seconds, in turn. */
  token(): string {
    return this.#live[this.#turn++ % this.#live.length]!.token
  }

  /** Resolves when everything in progress has ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async end(): Promise<void> {
    await this.stop()
    await this.#store.close()
  }

  async #comeAndGo(): Promise<void> {
    while (!this.#stopped) {
      await wait(COMING_PAUSE)
      await this.#noting(async () => {
        const user = `${1900000000 + this.#users++}`
        const { token } = await operate(this.#gateway, 'consumer/login', { user_id: user, extra: { nickname: user } })
        this.#live.push({ user, token: token! })
        this.logins++
        const { user: leaving, token: old } = this.#live.shift()!
        // Requests with this token may be in progress.
        await wait(1000)
        await operate(this.#gateway, 'consumer/kickout', { user_id: leaving })
        this.kickouts++
        await this.#expectRefusal(old)
      })
    }
  }

  async #signIn(): Promise<void> {
    const client = new Client(this.#gateway.url)
    const password = await encryptFor(client, PASSWORD)
    for (let i = 0; !this.#stopped; i++) {
      await wait(SIGN_IN_EVERY)
      await this.#noting(async () => {
        const { token } = await signIn(client, this.#store.captchas, ACCOUNTS[i % ACCOUNTS.length]!, password)
        if (token === null) throw new Error('a login was refused')
        this.logins++
        await operate(this.#gateway, 'business/logout', { token })
      })
    }
    await client.close()
  }

  async #expectRefusal(token: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await (await fetch(`${this.#gateway.url}/api/v1/c/orders`, { headers })).text()
    if (JSON.parse(answer).code !== 401) throw new Error(`the token of a kickout was answered with ${answer}`)
  }

  async #noting(step: () => Promise<void>): Promise<void> {
    await step().catch((fault: Error) => this.faults.push(`${fault.message} ${fault.cause ?? ''}`))
  }
}

/** Memory of the main process and of its workers in MiB, descriptors, what the store holds and its MiB. */
async function look({ gateway, redis }: { gateway: BenchGateway; redis: BenchRedis | null }): Promise<string[]> {
  const workers = childrenOf(gateway.pid).map(residentBytes)
  const sum = workers.reduce((all, one) => all + one, 0)
  return [
    fixed((residentBytes(gateway.pid) - sum) / MIB, 1),
    workers.map(bytes => fixed(bytes / MIB, 1)).join(' + '),
    whole(descriptors(gateway.pid)),
    redis === null ? '–' : await keysOf(redis),
    fixed((await bytesOf(redis?.url, gateway.data)) / MIB, 1),
  ]
}

async function keysOf({ url }: BenchRedis): Promise<string> {
  const client = new Redis(url, { protocol: 2 })
  const keys = await client.dbsize()
  client.disconnect()
  return whole(keys)
}

const counts = ({ outcome }: Load, life: Life): string[] => [
  whole(outcome.answered),
  whole(life.logins),
  whole(life.kickouts),
  whole(outcome.failures.length + life.faults.length),
]

function print(
  kind: StoreName,
  rows: readonly string[][],
  faults: readonly string[],
  { reloaded, rate }: { reloaded: number; rate: number },
): void {
  console.log(`${kind}: ${rate} requests/s, ${reloaded} reloads, two workers:\n`)
  const store = kind === 'embedded' ? ['keys', 'file, MiB'] : ['keys', 'Redis, MiB']
  const head = ['when', 'main process, MiB', 'workers, MiB', 'descriptors', ...store]
  printTable([...head, 'answered', 'logins', 'kickouts', 'failed'], rows)
  for (const fault of new Set(faults)) note(`failed: ${fault}`)
}
