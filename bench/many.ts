import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import type { Store } from '../src/store/store.ts'
import { onScene, type Scene } from './process.ts'
import { startRedis } from './redis.ts'
import { fixed, note, printTable, quantile, whole } from './statistics.ts'
import { addSession, LIFETIME, openBeside, tokenOf } from './stored.ts'

export const MANY_HELP = `many      one user with very many sessions: how each operation delays other requests
            --sessions 50000            how many the user has
            --store redis,embedded`

const PATIENCE = 20_000
const TOGETHER = 200
/** Another user's session is looked up this often during an operation, in milliseconds. */
const LOOK_EVERY = 2
/** Commands that Redis logs as slow, in microseconds. */
const SLOW = 5000

export async function many(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      sessions: { type: 'string', default: '50000' },
      store: { type: 'string', default: 'redis,embedded' },
    },
  })
  for (const store of values.store.split(',')) {
    await onScene(scene => measure(scene, store, Number(values.sessions)))
  }
}

async function measure(scene: Scene, kind: string, sessions: number): Promise<void> {
  const redis = kind === 'redis' ? await startRedis(scene) : null
  if (kind === 'redis' && redis === null) throw new Error('there is no redis-server on this machine')
  const store = await openBeside(redis?.url, join(scene.folder, 'many'), PATIENCE)
  const slow = redis === null ? null : new Redis(redis.url, { protocol: 2 })
  await slow?.config('SET', 'slowlog-log-slower-than', SLOW)
  note(`${kind}: one user signs in ${whole(sessions)} times`)
  for (let n = 0; n < sessions; n += TOGETHER) {
    await Promise.all(Array.from({ length: TOGETHER }, (_, i) => addSession(store, 'many', tokenOf(n + i))))
  }
  await addSession(store, 'other', tokenOf(sessions))
  const rows: string[][] = []
  for (const [name, verb] of Object.entries(verbsOf(store, sessions))) {
    rows.push([name, ...(await observe(store, slow, tokenOf(sessions), verb))])
  }
  console.log(`${kind}: one user with ${whole(sessions)} sessions; milliseconds:\n`)
  printTable(['what', 'took', 'longest stall', "another user's look-up, median", '99th', 'slowest command'], rows)
  console.log()
  slow?.disconnect()
  await store.close()
}

function verbsOf(store: Store, count: number): Record<string, () => Promise<unknown>> {
  const { sessions, online } = store
  const tokens = Array.from({ length: 5000 }, (_, i) => tokenOf(i + 10))
  return {
    nothing: () => pause(1000),
    'overview, for the page': () => sessions.overview('CONSUMER', 'many'),
    'the newest 1000': () => sessions.tokens('CONSUMER', 'many', 1000),
    'all, batch by batch': async () => {
      for await (const _ of sessions.batches('CONSUMER', 'many'));
    },
    'one more login': () => addSession(store, 'many', tokenOf(count + 1)),
    'renewal of one': () => sessions.renew('CONSUMER', 'many', tokenOf(1), Date.now() + 2 * LIFETIME),
    'logout of one': () => sessions.remove('CONSUMER', 'many', tokenOf(0)),
    tally: () => online.tally('CONSUMER'),
    'end of the 5000 oldest': () => sessions.removeSome('CONSUMER', 'many', tokens),
    reindex: () => online.reindex('CONSUMER', () => undefined),
    kickout: () => sessions.removeAll('CONSUMER', 'many'),
  }
}

/** Runs one operation while another user's session is looked up repeatedly. */
async function observe(store: Store, slow: Redis | null, token: string, verb: () => Promise<unknown>) {
  await slow?.slowlog('RESET')
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const waited: number[] = []
  let over = false
  delay.enable()
  const began = performance.now()
  const done = verb().finally(() => {
    over = true
  })
  do {
    const asked = performance.now()
    if ((await store.sessions.find('CONSUMER', token)) === null) throw new Error('the other user is gone')
    waited.push(performance.now() - asked)
    await pause(LOOK_EVERY)
  } while (!over)
  await done
  const took = performance.now() - began
  delay.disable()
  const sorted = waited.toSorted((a, b) => a - b)
  const entries = (await slow?.slowlog('GET', '100')) as [number, number, number][] | undefined
  const slowest = Math.max(0, ...(entries ?? []).map(([, , microseconds]) => microseconds)) / 1000
  const command = entries === undefined ? '' : slowest === 0 ? `below ${SLOW / 1000}` : fixed(slowest, 1)
  return [
    whole(took),
    fixed(delay.max / 1e6, 1),
    fixed(quantile(sorted, 0.5), 2),
    fixed(quantile(sorted, 0.99), 1),
    command,
  ]
}
