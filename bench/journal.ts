import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createTimestampFormat } from '../src/base/timestamp.ts'
import { createJournalPages, type JournalQuestion } from '../src/journal/page.ts'
import type { JournalEntry } from '../src/store/journal.ts'
import { createEntryId } from '../src/store/journal-id.ts'
import type { Store } from '../src/store/store.ts'
import { startGateway } from './gateway.ts'
import { signInFor } from './login.ts'
import type { LoginResult } from './login-client.ts'
import { onScene, type Scene } from './process.ts'
import { ProcessorMeter } from './processor.ts'
import { startRedis } from './redis.ts'
import { accountSettings } from './sign-in.ts'
import { fixed, medianOf, note, printTable, quantile, whole } from './statistics.ts'
import { openBeside } from './stored.ts'

export const JOURNAL_HELP = `journal   a page of a long journal by filter, and what the journal costs a login
            --entries 1000000           how many entries the journal has; 0: only the logins
            --store redis,embedded
            --rounds 5 --seconds 5      rounds of logins with and without a journal in turn; 0 rounds: only the pages
            --together 4                logins under way at a time`

const PATIENCE = 60_000
/** Entries that are stored together. */
const BATCH = 1000
const USERS = 50_000
/** Pages of each kind, and how many entries each has. */
const ASKED = 200
const SIZE = 20
const DAY = 86_400_000
/** As often as in a back office; the last is rare. */
const EVENTS = ['login', 'login', 'login', 'logout', 'logout', 'login-failed', 'replaced', 'kickout'] as const
const RARE = { event: 'password-reset', every: 10_000 } as const
/** A user with every tenth entry, such as a program. */
const BUSY = '1923410000000000001'

export async function journal(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      entries: { type: 'string', default: '1000000' },
      store: { type: 'string', default: 'redis,embedded' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      together: { type: 'string', default: '4' },
    },
  })
  const [entries, rounds, seconds, together] = [values.entries, values.rounds, values.seconds, values.together].map(
    Number,
  ) as [number, number, number, number]
  await onScene(async scene => {
    for (const kind of values.store.split(',')) {
      if (entries > 0) await measurePages(scene, kind, entries)
      if (rounds > 0) await measureLogins(scene, kind, { rounds, seconds, together })
    }
  })
}

const userOf = (n: number): string => String(1923410000000100000n + BigInt(n))

function entryAt(i: number, id: string): JournalEntry {
  const user = i % 10 === 0 ? BUSY : userOf((i * 7919) % USERS)
  return {
    id,
    event: i % RARE.every === 0 ? RARE.event : EVENTS[i % EVENTS.length]!,
    type: i % 5 === 0 ? 'BUSINESS' : 'CONSUMER',
    login_id: user,
    username: `user${user.slice(-6)}`,
    nickname: `User ${user.slice(-6)}`,
    by: user,
    address: `203.0.113.${i % 250}`,
    device_type: 'Chrome',
    device_id: 'WEB_PC',
    jti: `6Zb1xw0cS2mPq1c9${String(i).padStart(6, '0')}`,
    trace_id: i.toString(16).padStart(32, '0'),
  }
}

async function measurePages(scene: Scene, kind: string, entries: number): Promise<void> {
  const redis = await redisFor(scene, kind, 'pages')
  if (redis === null) return note('no redis-server here')
  const store = await openBeside(redis, join(scene.folder, 'journal'), PATIENCE)
  const began = performance.now()
  await fill(store, entries)
  note(`${kind}: ${whole(entries)} entries in ${whole((performance.now() - began) / 1000)} s`)
  const pages = createJournalPages({
    store: store.journal,
    recorder: { flush: async () => undefined },
    timestamps: createTimestampFormat('UTC'),
  })
  const queries: [name: string, query: Omit<JournalQuestion, 'size' | 'cursor'>][] = [
    ['none', {}],
    ['login id, of every tenth entry', { login_id: BUSY }],
    ['login id, of few entries', { login_id: userOf(17) }],
    ['event, of many entries', { event: 'login' }],
    ['event, of few entries', { event: RARE.event }],
    ['side', { type: 'BUSINESS' }],
    ['login id, side and event', { login_id: BUSY, type: 'BUSINESS', event: 'login' }],
  ]
  const rows: string[][] = []
  for (const [name, query] of queries) {
    const times: number[] = []
    let cursor: string | undefined
    for (let i = 0; i < ASKED; i++) {
      const start = performance.now()
      const { next } = await pages.page({ ...query, size: SIZE, cursor })
      times.push(performance.now() - start)
      cursor = next ?? undefined
    }
    const sorted = times.sort((a, b) => a - b)
    rows.push([name, fixed(quantile(sorted, 0.5)), fixed(quantile(sorted, 0.99))])
  }
  await store.close()
  console.log(`Pages of ${SIZE} of ${whole(entries)} entries, ${kind}, one after another, milliseconds:\n`)
  printTable(['filter', 'p50', 'p99'], rows)
}

/** The address of a new Redis, `undefined` for the embedded store, or `null` if this machine has no Redis. */
async function redisFor(scene: Scene, kind: string, use: string): Promise<string | undefined | null> {
  if (kind !== 'redis') return undefined
  const redis = await startRedis(scene, `redis-${use}`)
  return redis === null ? null : redis.url
}

async function fill({ journal: kept }: Store, entries: number): Promise<void> {
  const createId = createEntryId()
  const now = Date.now()
  for (let i = 0; i < entries; i += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, entries - i) }, (_, j) => {
      const time = Math.floor(now - ((entries - i - j) / entries) * 80 * DAY)
      return entryAt(i + j, createId(time))
    })
    await kept.append(some, now + 90 * DAY)
  }
}

interface Extent {
  rounds: number
  seconds: number
  together: number
}

/** The same logins at two gateways in turn, one with a journal and one without. */
async function measureLogins(scene: Scene, kind: string, { rounds, seconds, together }: Extent): Promise<void> {
  const redis = await redisFor(scene, kind, 'logins')
  if (redis === null) return note('no redis-server here')
  const settings = accountSettings(scene.folder)
  const gateways = {
    with: await startGateway(scene, `${kind}-with`, { redis, settings }),
    without: await startGateway(scene, `${kind}-without`, { redis, settings: { ...settings, journal: 'off' } }),
  }
  const found = { with: [] as (LoginResult & { cost: number })[], without: [] as (LoginResult & { cost: number })[] }
  for (let round = 0; round <= rounds; round++) {
    for (const name of ['with', 'without'] as const) {
      const meter = new ProcessorMeter([gateways[name].pid])
      const before = meter.read()
      const result = await signInFor(gateways[name], together, seconds)
      const cost = (meter.read() - before) / 1e6 / (result.rate * seconds)
      // The first round warms up.
      if (round > 0) found[name].push({ ...result, cost })
    }
    note(`${kind}, round ${round} of ${rounds}`)
  }
  const rows = (['without', 'with'] as const).map(name => [
    name,
    fixed(medianOf(found[name].map(({ rate }) => rate)), 1),
    fixed(medianOf(found[name].map(({ cost }) => cost)), 2),
    fixed(medianOf(found[name].map(({ p50 }) => p50)), 1),
    fixed(medianOf(found[name].map(({ p99 }) => p99)), 1),
  ])
  const ratio = (figure: (one: LoginResult & { cost: number }) => number): string =>
    fixed(medianOf(found.with.map((one, i) => figure(one) / figure(found.without[i]!))), 3)
  rows.push(['ratio', ratio(one => one.rate), ratio(one => one.cost), ratio(one => one.p50), ratio(one => one.p99)])
  console.log(`Logins, ${together} at a time, ${kind}, without and with a journal in turn:\n`)
  printTable(['journal', 'per second', 'processor ms each', 'p50 ms', 'p99 ms'], rows)
}
