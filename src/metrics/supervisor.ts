import { Counter, Gauge, Registry } from 'prom-client'
import type { Snapshot } from './exposition.ts'

export interface SupervisorMetrics {
  crashed(): void
  snapshot(workers: number): Promise<Snapshot>
}

/** The metrics of the primary process, which supervises the workers. */
export function createSupervisorMetrics(): SupervisorMetrics {
  const registry = new Registry()
  const registers = [registry]
  const workers = new Gauge({ name: 'dualgate_workers', help: 'Worker processes, draining ones included', registers })
  const crashes = new Counter({ name: 'dualgate_worker_crashes_total', help: 'Workers that crashed', registers })
  return {
    crashed: () => crashes.inc(),
    snapshot(count) {
      workers.set(count)
      return registry.getMetricsAsJSON()
    },
  }
}
