import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { SessionEvent } from '../event/event.ts'
import { LOGIN_TYPES, type LoginType } from '../session.ts'
import type { StoreVerb } from '../store/measured.ts'
import type { Tally } from '../store/online.ts'
import type { StoreCounts } from '../store/store.ts'
import type { UpstreamStatus } from '../upstream/table.ts'
import type { TargetStatus } from '../upstream/targets.ts'
import type { Snapshot } from './exposition.ts'
import { type AnsweredRequest, countRequests } from './requests.ts'

/** Sources that are read only when metrics are requested. */
export interface Sources {
  tally(type: LoginType): Promise<Tally>
  /** The store's counters of this process. */
  counts(): StoreCounts
  /** The health of the upstream targets. */
  upstreams(): readonly UpstreamStatus[]
  /** The number of open WebSockets. */
  webSockets(): number
}

export interface Metrics {
  answered(request: AnsweredRequest): void
  happened(event: SessionEvent): void
  stored(verb: StoreVerb, seconds: number, failed: boolean): void
  /** Counts a connection of the public listener that was closed for this reason. */
  closed(reason: string): void
  /** All metrics, with the present values of the sources. */
  snapshot(): Promise<Snapshot>
}

/** Seconds. */
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

/** How often the delay of the event loop is measured, in milliseconds. */
const LOOP_PRECISION = 20

/** The metrics of this process for Prometheus; the README lists the names. */
export function createMetrics(sources: Sources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION })
  const registers = [registry]
  const requests = countRequests()
  const stored = countStore(registers)
  const events = new Counter({
    name: 'dualgate_session_events_total',
    help: 'What happened to sessions and login ids',
    labelNames: ['event', 'side'],
    registers,
  })
  const logins = new Counter({
    name: 'dualgate_logins_total',
    help: 'Logins by result: ok, or the reason of the refusal',
    labelNames: ['side', 'result'],
    registers,
  })
  const unreplicated = new Counter({
    name: 'dualgate_store_unreplicated_total',
    help: 'Sessions ended, login ids disabled or untied, of which it is not proven that replicas have it',
    registers,
  })
  const closed = new Counter({
    name: 'dualgate_connections_closed_total',
    help: 'Connections of clients that were ended because there were too many, or because they were too slow',
    labelNames: ['reason'],
    registers,
  })
  readOnline(registers, sources)
  readCaches(registers, sources)
  lookAtUpstreams(registers, sources)

  return {
    answered: requests.answered,
    stored,
    closed: reason => closed.inc({ reason }),
    happened({ event, type, reason, replicated }) {
      events.inc({ event, side: type })
      if (replicated === false) unreplicated.inc()
      if (event === 'login') logins.inc({ side: type, result: 'ok' })
      else if (event === 'login-failed') logins.inc({ side: type, result: reason ?? 'unknown' })
    },
    snapshot: async () => [...(await registry.getMetricsAsJSON()), ...requests.snapshot()],
  }
}

function countStore(registers: Registry[]): Metrics['stored'] {
  const durations = new Histogram({
    name: 'dualgate_store_duration_seconds',
    help: 'How long the store took to answer, where it did not answer at once',
    labelNames: ['verb'],
    buckets: STORE_BUCKETS,
    registers,
  })
  const errors = new Counter({
    name: 'dualgate_store_errors_total',
    help: 'Questions that the store could not answer',
    labelNames: ['verb'],
    registers,
  })
  return (verb, seconds, failed) => {
    durations.observe({ verb }, seconds)
    if (failed) errors.inc({ verb })
  }
}

/** All processes read the same store, so the highest value is used. */
function readOnline(registers: Registry[], { tally }: Sources): void {
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
  misses: 'Sessions asked of the store although they could have been remembered',
  evictions: 'Sessions forgotten because something became of them, or to make room',
} as const

function readCaches(registers: Registry[], { counts }: Sources): void {
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

function lookAtUpstreams(registers: Registry[], { upstreams, webSockets }: Sources): void {
  const look = (
    name: string,
    help: string,
    aggregator: 'min' | 'sum',
    read: (status: TargetStatus) => number,
  ): void => {
    new Gauge({
      name,
      help,
      labelNames: ['upstream', 'target'],
      aggregator,
      registers,
      collect() {
        for (const { name: upstream, targets } of upstreams()) {
          for (const status of targets) this.set({ upstream, target: status.target }, read(status))
        }
      },
    })
  }
  // The lowest value is used: if one process cannot use a target, operators should see it.
  look('dualgate_upstream_target_up', '1 when every worker sends requests to the target', 'min', ({ state }) =>
    state === 'up' ? 1 : 0,
  )
  look('dualgate_upstream_requests', 'Requests at a target, waiting ones included', 'sum', ({ open }) => open)
  look('dualgate_upstream_waiting', 'Requests that wait for a connection to a target', 'sum', ({ waiting }) => waiting)
  new Gauge({
    name: 'dualgate_websockets',
    help: 'WebSockets that are open',
    registers,
    collect() {
      this.set(webSockets())
    },
  })
}
