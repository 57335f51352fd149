import type { Meter } from '../metrics/meter.ts'
import type { UpstreamTable } from './table.ts'
import type { TargetStatus } from './targets.ts'

/** Publishes the state of the targets. */
export function publishUpstreams(meter: Meter, { status }: Pick<UpstreamTable, 'status'>): void {
  const read = (
    name: string,
    help: string,
    aggregator: 'min' | 'max' | 'sum',
    numberOf: (status: TargetStatus) => number,
  ): void => {
    meter.gauge({
      name,
      help,
      labelNames: ['upstream', 'target'],
      aggregator,
      collect() {
        // A target may be gone: its name has other addresses.
        this.reset()
        for (const { name: upstream, targets } of status())
          for (const one of targets) this.set({ upstream, target: one.target }, numberOf(one))
      },
    })
  }
  // The lowest value is used: if one process cannot use a target, operators should see it.
  read('dualgate_upstream_target_up', '1 when every worker sends requests to the target', 'min', ({ state }) =>
    state === 'up' ? 1 : 0,
  )
  read('dualgate_upstream_target_weight', 'Share of the requests among the targets', 'max', ({ weight }) => weight)
  const inFlight = 'dualgate_upstream_requests_in_flight'
  read(inFlight, 'Requests at a target that are not answered yet, waiting ones included', 'sum', ({ open }) => open)
  const inQueue = 'dualgate_upstream_requests_waiting'
  read(inQueue, 'Requests that wait for a connection to a target', 'sum', ({ waiting }) => waiting)
}
