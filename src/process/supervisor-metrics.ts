import type { Clock } from '../base/clock.ts'
import type { Snapshot } from '../metrics/exposition.ts'
import { Meter } from '../metrics/meter.ts'
import { publishStart } from '../metrics/process.ts'

export interface SupervisorMetrics {
  crashed(): void
  /** Records whether a reload applied the configuration. */
  reloaded(isApplied: boolean): void
  snapshot(workers: number): Promise<Snapshot>
}

/** The metrics of the primary process, which supervises the workers. */
export function createSupervisorMetrics(clock: Clock): SupervisorMetrics {
  const meter = new Meter()
  publishStart(meter)
  const workers = meter.gauge({ name: 'dualgate_workers', help: 'Worker processes, draining ones included' })
  const crashes = meter.counter({ name: 'dualgate_worker_crashes_total', help: 'Workers that crashed' })
  const successful = meter.gauge({
    name: 'dualgate_config_last_reload_successful',
    help: '1 when the last reload, or the start, applied the configuration',
  })
  const successAt = meter.gauge({
    name: 'dualgate_config_last_reload_success_timestamp_seconds',
    help: 'When a reload, or the start, applied a configuration for the last time, in seconds since 1970',
  })
  const reloaded = (isApplied: boolean): void => {
    successful.set(isApplied ? 1 : 0)
    if (isApplied) successAt.set(clock.now() / 1000)
  }
  reloaded(true)
  return {
    crashed: () => crashes.inc(),
    reloaded,
    snapshot(count) {
      workers.set(count)
      return meter.snapshot()
    },
  }
}
