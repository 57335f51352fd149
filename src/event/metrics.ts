import type { Meter } from '../metrics/meter.ts'
import type { Publish } from './event.ts'

/** Counts events, and logins by their result. */
export function countEvents(meter: Meter): Publish {
  const events = meter.counter({
    name: 'dualgate_session_events_total',
    help: 'What happened to sessions, login ids and accounts',
    labelNames: ['event', 'side'],
  })
  const logins = meter.counter({
    name: 'dualgate_logins_total',
    help: 'Logins by result: ok, or the reason of the refusal',
    labelNames: ['side', 'result'],
  })
  const unreplicated = meter.counter({
    name: 'dualgate_store_unreplicated_total',
    help: 'Sessions ended, login ids disabled or untied, of which it is not proven that replicas have it',
  })
  return ({ event, type, reason, replicated }) => {
    events.inc({ event, side: type })
    if (replicated === false) unreplicated.inc()
    if (event === 'login') logins.inc({ side: type, result: 'ok' })
    else if (event === 'login-failed') logins.inc({ side: type, result: reason ?? 'unknown' })
  }
}
