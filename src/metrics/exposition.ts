import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client'

/** The metrics of one process, as they travel between processes. */
export type Snapshot = MetricObjectWithValues<MetricValue<string>>[]

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** One text for all processes: what counts is added up, what is looked at is joined as each metric says. */
export const textOf = (snapshots: readonly Snapshot[]): Promise<string> => joined(snapshots).metrics()

/**
 * What remains of processes that have ended: what they counted. Without it sums would fall when a process is replaced,
 * which to Prometheus is a start from zero.
 */
export async function remainsOf(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const counted = snapshots.map(metrics => metrics.filter(({ type }) => isCount(type)))
  return (await joined(counted).getMetricsAsJSON()) as Snapshot
}

/** As prom-client names types in JSON, whatever its type declarations say. */
const isCount = (type: unknown): boolean => type === 'counter' || type === 'histogram'

const joined = (snapshots: readonly Snapshot[]) => AggregatorRegistry.aggregate(snapshots as unknown as object[])
