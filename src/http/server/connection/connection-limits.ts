import type { Server } from 'node:http'
import type { Logger } from '../../../base/log/log.ts'
import type { Meter } from '../../../metrics/meter.ts'
import { limitPerAddress } from './per-address.ts'

/** The reason why a connection was closed: too many connections, or too slow. */
export type ClosingReason = 'too_many' | 'too_many_of_address' | 'slow_body' | 'slow_reader'

/** Counts the connections that the gateway closed, by their reasons. */
export function countClosed(meter: Meter): (reason: ClosingReason) => void {
  const closed = meter.counter({
    name: 'dualgate_connections_closed_total',
    help: 'Connections of clients that were ended because there were too many, or because they were too slow',
    labelNames: ['reason'],
  })
  return reason => closed.inc({ reason })
}

/** The shortest time between log lines about closed connections, in milliseconds. */
const REPORT_INTERVAL = 10_000

interface ConnectionLimits {
  total: number
  perAddress: number
  trustedProxies: readonly string[]
  log: Logger
  onClosed(reason: ClosingReason): void
}

/** Closes connections beyond the limit of a worker, and beyond that of one client address. */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const { total, perAddress, trustedProxies, log, onClosed } = limits
  server.maxConnections = total
  const reportTotal = createReport(log, { max_connections: total }, 'there are too many')
  server.on('drop', () => {
    onClosed('too_many')
    reportTotal()
  })
  const reportAddress = createReport(
    log,
    { max_connections_per_address: perAddress },
    'its client address has too many',
  )
  limitPerAddress(server, {
    limit: perAddress,
    trustedProxies,
    onClosed(address) {
      onClosed('too_many_of_address')
      reportAddress({ address })
    },
  })
}

/** Logs the first closed connection, and later their number. */
function createReport(log: Logger, settings: Record<string, number>, why: string) {
  let closed = 0
  return (details: Record<string, string> = {}): void => {
    if (closed++ > 0) return
    log.warn({ ...settings, ...details }, `a connection was closed: ${why}`)
    setTimeout(() => {
      if (closed > 1) log.warn({ ...settings, closed }, `connections were closed: ${why}`)
      closed = 0
    }, REPORT_INTERVAL).unref()
  }
}
