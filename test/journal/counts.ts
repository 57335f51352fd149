import type { Meter } from '../../src/metrics/meter.ts'

/** What recorders have counted. */
export async function countsOf(meter: Meter): Promise<{ written: number; lost: number; failures: number }> {
  const metrics = await meter.snapshot()
  const numberOf = (metric: string, result?: string): number =>
    metrics.find(({ name }) => name === metric)!.values.find(({ labels }) => labels.result === result)!.value
  return {
    written: numberOf('dualgate_journal_entries_total', 'written'),
    lost: numberOf('dualgate_journal_entries_total', 'lost'),
    failures: numberOf('dualgate_journal_failures_total'),
  }
}
