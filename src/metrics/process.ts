import { collectDefaultMetrics, Registry } from 'prom-client'
import { packageVersion } from '../base/package-version.ts'
import { Meter } from './meter.ts'

/** How often the delay of the event loop is measured, in milliseconds. */
const LOOP_PRECISION = 20

const START = 'process_start_time_seconds'

/** Node's own names that end like a counter's; the metrics without this end have the same numbers by kind. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** The meter of a gateway, with the metrics of Node, and which program runs since when. */
export function createProcessMeter(): Meter {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION })
  // What Node's own metric says is left out where several processes give one answer.
  for (const name of [...MISNAMED, START]) registry.removeSingleMetric(name)
  const meter = new Meter(registry)
  publishStart(meter)
  meter
    .gauge({
      name: 'dualgate_build_info',
      help: 'Always 1; its labels are the versions of the gateway and of Node',
      labelNames: ['version', 'node'],
      aggregator: 'max',
    })
    .set({ version: packageVersion(), node: process.versions.node }, 1)
  return meter
}

/** Of several processes the first counts, which supervises the others. */
export function publishStart(meter: Meter): void {
  const help = 'Start time of the gateway in seconds since 1970'
  meter.gauge({ name: START, help, aggregator: 'min' }).set(performance.timeOrigin / 1000)
}
