import type { Snapshot } from '../../metrics/exposition.ts'
import type { Meter } from '../../metrics/meter.ts'
import { LOGIN_TYPES, type LoginType } from '../../session/sides.ts'

/** An answered request. Every label value comes from the configuration or from a fixed list, so labels are bounded. */
export interface AnsweredRequest {
  /** The rule of the gate that decided, or `exception`; 0 if no rule matched. */
  rule: number | 'exception'
  /** The side of its session; `none` without one. */
  side: LoginType | 'none'
  /** The name of the upstream; `gateway` for the gateway's own routes. */
  upstream: string
  status: number
  seconds: number
}

export interface RequestCounter {
  answered(request: AnsweredRequest): void
  /** Counts a request of either listener that was refused for this reason. */
  refused(reason: string): void
}

/** Upper bounds of the histogram's buckets in seconds; slower requests are in none of them. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

interface Value {
  labels: Record<string, string>
  value: number
}

/** What is counted of one upstream. */
interface UpstreamCounts {
  /** Requests by `keyOf`. */
  answered: Map<number, Value>
  /** Requests by their first bucket, with one more entry for those in no bucket. */
  buckets: number[]
  /** Seconds of all of them. */
  sum: number
}

/** Counts every request: numbers in plain objects, converted into metrics when metrics are requested. */
export function countRequests(meter: Meter): RequestCounter {
  const upstreams = new Map<string, UpstreamCounts>()
  const refusals = new Map<string, number>()
  meter.include(() => [
    counter(
      'dualgate_requests_total',
      'Requests by rule of the gate, side of the session, upstream and class of the status',
      Array.from(upstreams.values(), ({ answered }) => Array.from(answered.values(), value => ({ ...value }))).flat(),
    ),
    counter(
      'dualgate_refusals_total',
      'Requests that the gateway refused, by reason',
      Array.from(refusals, ([reason, value]) => ({ labels: { reason }, value })),
    ),
    {
      ...described('dualgate_request_duration_seconds', 'From the head of a request to the end of its answer'),
      type: 'histogram' as never,
      values: Array.from(upstreams, ([upstream, counts]) => histogramValues(upstream, counts)).flat(),
    },
  ])

  return {
    answered(request) {
      const { upstream, seconds } = request
      let counts = upstreams.get(upstream)
      if (counts === undefined) {
        counts = { answered: new Map(), buckets: new Array<number>(BUCKETS.length + 1).fill(0), sum: 0 }
        upstreams.set(upstream, counts)
      }
      count(counts.answered, request)
      let bucket = 0
      while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++
      counts.buckets[bucket]!++
      counts.sum += seconds
    },
    refused: reason => refusals.set(reason, (refusals.get(reason) ?? 0) + 1),
  }
}

function count(values: Map<number, Value>, { rule, side, upstream, status }: AnsweredRequest): void {
  const statusClass = Math.floor(status / 100)
  const key = keyOf(rule, side, statusClass)
  const known = values.get(key)
  if (known !== undefined) known.value++
  else values.set(key, { labels: { rule: `${rule}`, side, upstream, status: `${statusClass}xx` }, value: 1 })
}

/** One number for the labels of a request: to make and find a text costs five times as much. */
function keyOf(rule: AnsweredRequest['rule'], side: AnsweredRequest['side'], statusClass: number): number {
  const sideNumber = side === 'none' ? 0 : LOGIN_TYPES.indexOf(side) + 1
  return ((rule === 'exception' ? 0 : rule + 1) * 10 + sideNumber) * 10 + statusClass
}

/** The field names of prom-client's JSON, which its type declarations do not match. */
const described = (name: string, help: string) => ({ name, help, aggregator: 'sum' as const, collect: () => undefined })

const counter = (name: string, help: string, values: Value[]): Snapshot[number] => ({
  ...described(name, help),
  type: 'counter' as never,
  values,
})

function histogramValues(upstream: string, { buckets, sum }: UpstreamCounts): (Value & { metricName: string })[] {
  const name = 'dualgate_request_duration_seconds'
  const values: (Value & { metricName: string })[] = []
  let total = 0
  for (const [i, count] of buckets.entries()) {
    total += count
    const le = i < BUCKETS.length ? String(BUCKETS[i]) : '+Inf'
    values.push({ metricName: `${name}_bucket`, labels: { le, upstream }, value: total })
  }
  values.push({ metricName: `${name}_sum`, labels: { upstream }, value: sum })
  values.push({ metricName: `${name}_count`, labels: { upstream }, value: total })
  return values
}
