import { Counter, Gauge, Registry } from 'prom-client'
import type { Clock } from '../base/clock.ts'
import type { Snapshot } from './exposition.ts'
import { showStart } from './process.ts'

export interface SupervisorMetrics {
  crashed(): void
  /** Records whether a reload applied the configuration. */
  reloaded(isApplied: boolean): void
  snapshot(workers: number): Promise<Snapshot>
}

/** The metrics of the primary process, which supervises the workers. */
export function createSupervisorMetrics(clock: Clock): SupervisorMetrics {
  const registry = new Registry()
  const registers = [registry]
  showStart(registers)
  const workers = new Gauge({ name: 'dualgate_workers', help: 'Worker processes, draining ones included', registers })
  const crashes = new Counter({ name: 'dualgate_worker_crashes_total', help: 'Workers that crashed', registers })
  const successful = new Gauge({
    name: 'dualgate_config_last_reload_successful',
    help: '1 when the last reload, or the start, applied the configuration',
    registers,
  })
  const successAt = new Gauge({
    name: 'dualgate_config_last_reload_success_timestamp_seconds',
    help: 'When a reload, or the start, applied a configuration for the last time, in seconds since 1970',
    registers,
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
      return registry.getMetricsAsJSON()
    },
  }
}
