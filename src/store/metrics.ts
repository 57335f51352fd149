import type { Meter } from '../metrics/meter.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { Tally } from './online.ts'
import type { Store } from './store.ts'

/** Publishes who is online, and the counters that the store keeps for this process. */
export function publishStore(meter: Meter, store: Pick<Store, 'online' | 'counts'>): void {
  publishOnline(meter, store)
  publishCaches(meter, store)
  meter.counter({
    name: 'dualgate_store_write_failures_total',
    help: 'Changes that the file of the embedded store did not take, as on a full disk',
    collect() {
      this.reset()
      this.inc(store.counts().failedWrites ?? 0)
    },
  })
}

/** All processes read the same store, so the highest value is used. */
function publishOnline(meter: Meter, { online }: Pick<Store, 'online'>): void {
  // One query for both, so that their values match.
  const underWay = new Map<LoginType, Promise<Tally | null>>()
  const ask = (side: LoginType): Promise<Tally | null> => {
    const asked =
      underWay.get(side) ??
      online
        .tally(side)
        .catch(() => null)
        .finally(() => underWay.delete(side))
    underWay.set(side, asked)
    return asked
  }
  const look = (name: string, help: string, read: (found: Tally) => number): void => {
    meter.gauge({
      name,
      help,
      labelNames: ['side'],
      aggregator: 'max',
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

function publishCaches(meter: Meter, store: Pick<Store, 'counts'>): void {
  for (const [name, help] of Object.entries(CACHE_COUNTS) as [keyof typeof CACHE_COUNTS, string][]) {
    meter.counter({
      name: `dualgate_session_cache_${name}_total`,
      help,
      labelNames: ['side'],
      collect() {
        this.reset()
        for (const [side, cache] of Object.entries(store.counts().caches)) this.inc({ side }, cache[name])
      },
    })
  }
  meter.gauge({
    name: 'dualgate_session_cache_entries',
    help: 'Sessions that the processes remember',
    labelNames: ['side'],
    collect() {
      for (const [side, cache] of Object.entries(store.counts().caches)) this.set({ side }, cache.entries)
    },
  })
}
