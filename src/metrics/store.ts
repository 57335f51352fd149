import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { LOGIN_TYPES, type LoginType } from '../session.ts'
import { STORE_VERBS, type StoreVerb } from '../store/measured.ts'
import type { Tally } from '../store/online.ts'
import type { StoreCounts } from '../store/store.ts'

/** What is read from the store when metrics are requested. */
export interface StoreSource {
  tally(type: LoginType): Promise<Tally>
  /** The store's counters of this process. */
  counts(): StoreCounts
}

/** Seconds. */
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

export type StoreCounter = (verb: StoreVerb, seconds: number, failed: boolean) => void

export function countStore(registers: Registry[]): StoreCounter {
  const durations = new Histogram({
    name: 'dualgate_store_duration_seconds',
    help: 'How long the store took to answer, where it did not answer at once',
    labelNames: ['verb'],
    buckets: STORE_BUCKETS,
    registers,
  })
  const errors = new Counter({
    name: 'dualgate_store_errors_total',
    help: 'Operations that the store could not do',
    labelNames: ['verb'],
    registers,
  })
  // A counter that begins with its first failure would hide it from an alert, which needs a rise.
  for (const verb of STORE_VERBS) errors.inc({ verb }, 0)
  return (verb, seconds, failed) => {
    durations.observe({ verb }, seconds)
    if (failed) errors.inc({ verb })
  }
}

export function readStore(registers: Registry[], source: StoreSource): void {
  readOnline(registers, source)
  readCaches(registers, source)
  new Counter({
    name: 'dualgate_store_write_failures_total',
    help: 'Changes that the file of the embedded store did not take, as on a full disk',
    registers,
    collect() {
      this.reset()
      this.inc(source.counts().failedWrites ?? 0)
    },
  })
}

/** All processes read the same store, so the highest value is used. */
function readOnline(registers: Registry[], { tally }: StoreSource): void {
  // One query for both, so that their values match.
  const underWay = new Map<LoginType, Promise<Tally | null>>()
  const ask = (side: LoginType): Promise<Tally | null> => {
    const asked =
      underWay.get(side) ??
      tally(side)
        .catch(() => null)
        .finally(() => underWay.delete(side))
    underWay.set(side, asked)
    return asked
  }
  const look = (name: string, help: string, read: (found: Tally) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['side'],
      aggregator: 'max',
      registers,
      async collect() {
        for (const side of LOGIN_TYPES) {
          // If the store fails, the metric is absent: a gap in the curve instead of a wrong number.
          const found = await ask(side)
          if (found === null) this.remove({ side })
          else this.set({ side }, read(found))
        }
      },
    })
  }
  look('dualgate_online_users', 'Users with a live session', ({ users }) => users)
  look('dualgate_live_tokens', 'Live tokens', ({ tokens }) => tokens)
}

const CACHE_COUNTS = {
  hits: 'Sessions found in the memory of the process',
  misses: 'Sessions read from the store although this side is remembered',
  evictions: 'Sessions removed from the memory because they changed, or to make room',
} as const

function readCaches(registers: Registry[], { counts }: StoreSource): void {
  for (const [name, help] of Object.entries(CACHE_COUNTS) as [keyof typeof CACHE_COUNTS, string][]) {
    new Counter({
      name: `dualgate_session_cache_${name}_total`,
      help,
      labelNames: ['side'],
      registers,
      collect() {
        this.reset()
        for (const [side, cache] of Object.entries(counts().caches)) this.inc({ side }, cache[name])
      },
    })
  }
  new Gauge({
    name: 'dualgate_session_cache_entries',
    help: 'Sessions that the processes remember',
    labelNames: ['side'],
    registers,
    collect() {
      for (const [side, cache] of Object.entries(counts().caches)) this.set({ side }, cache.entries)
    },
  })
}
