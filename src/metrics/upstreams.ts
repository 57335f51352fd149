import { Gauge, type Registry } from 'prom-client'
import type { UpstreamStatus } from '../upstream/table.ts'
import type { TargetStatus } from '../upstream/targets.ts'

/** What is read from the upstreams when metrics are requested. */
export interface UpstreamSource {
  /** The health of the upstream targets. */
  upstreams(): readonly UpstreamStatus[]
  /** The number of open WebSockets. */
  webSockets(): number
}

export function readUpstreams(registers: Registry[], { upstreams, webSockets }: UpstreamSource): void {
  const read = (
    name: string,
    help: string,
    aggregator: 'min' | 'max' | 'sum',
    numberOf: (status: TargetStatus) => number,
  ): void => {
    new Gauge({
      name,
      help,
      labelNames: ['upstream', 'target'],
      aggregator,
      registers,
      collect() {
        // A target may be gone: its name has other addresses.
        this.reset()
        for (const { name: upstream, targets } of upstreams()) {
          for (const status of targets) this.set({ upstream, target: status.target }, numberOf(status))
        }
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
  new Gauge({
    name: 'dualgate_websockets',
    help: 'WebSockets that are open',
    registers,
    collect() {
      this.set(webSockets())
    },
  })
}
