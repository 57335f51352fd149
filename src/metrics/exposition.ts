import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client'

/** The metrics of one process, as they travel between processes. */
export type Snapshot = MetricObjectWithValues<MetricValue<string>>[]

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** One text for all processes: counters are added; gauges are joined as each metric defines. */
export const textOf = (snapshots: readonly Snapshot[]): Promise<string> => joined(snapshots).metrics()

/**
 * The counters of processes that have ended. Without them sums would fall when a process is replaced, and Prometheus
 * reads that as a restart from zero.
 */
export async function remainsOf(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const counted = snapshots.map(metrics => metrics.filter(({ type }) => isCount(type)))
  return (await joined(counted).getMetricsAsJSON()) as Snapshot
}

/** The type names of prom-client's JSON, which its type declarations do not match. */
const isCount = (type: unknown): boolean => type === 'counter' || type === 'histogram'

const joined = (snapshots: readonly Snapshot[]) => AggregatorRegistry.aggregate(snapshots as unknown as object[])
