import { Counter, Gauge, Registry } from 'prom-client'
import type { SessionEvent } from '../event/event.ts'
import type { LoginType } from '../session.ts'
import { type AccountsSource, countRechecks, readAccounts } from './accounts.ts'
import type { Snapshot } from './exposition.ts'
import { countJournal, type JournalCounter } from './journal.ts'
import { showProcess } from './process.ts'
import { type AnsweredRequest, countRequests } from './requests.ts'
import { countStore, readStore, type StoreCounter, type StoreSource } from './store.ts'
import { readUpstreams, type UpstreamSource } from './upstreams.ts'

export interface Metrics {
  answered(request: AnsweredRequest): void
  /** Counts a request of either listener that was refused for this reason. */
  refused(reason: string): void
  happened(event: SessionEvent): void
  stored: StoreCounter
  journal: JournalCounter
  /** Counts a question about the account of a session in use, by its result. */
  rechecked(side: LoginType, result: string): void
  /** Reads the state of the account sources whenever metrics are requested. */
  readAccounts(source: AccountsSource): void
  /** Counts a connection of the public listener that was closed for this reason. */
  closed(reason: string): void
  /** Reads the store's numbers whenever metrics are requested. */
  readStore(source: StoreSource): void
  /** Reads the upstreams' numbers whenever metrics are requested. */
  readUpstreams(source: UpstreamSource): void
  /** Reads the end of the public listener's certificate, in milliseconds since 1970; `null` without one. */
  readCertificate(notAfter: () => number | null): void
  /** All metrics, with the present values of what they read. */
  snapshot(): Promise<Snapshot>
}

/** The metrics of this process for Prometheus; config/README.md lists the names. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  showProcess(registry)
  const registers = [registry]
  const requests = countRequests()
  const stored = countStore(registers)
  const events = new Counter({
    name: 'dualgate_session_events_total',
    help: 'What happened to sessions, login ids and accounts',
    labelNames: ['event', 'side'],
    registers,
  })
  const logins = new Counter({
    name: 'dualgate_logins_total',
    help: 'Logins by result: ok, or the reason of the refusal',
    labelNames: ['side', 'result'],
    registers,
  })
  const unreplicated = new Counter({
    name: 'dualgate_store_unreplicated_total',
    help: 'Sessions ended, login ids disabled or untied, of which it is not proven that replicas have it',
    registers,
  })
  const rechecked = countRechecks(registers)
  const closed = new Counter({
    name: 'dualgate_connections_closed_total',
    help: 'Connections of clients that were ended because there were too many, or because they were too slow',
    labelNames: ['reason'],
    registers,
  })

  return {
    answered: requests.answered,
    refused: requests.refused,
    stored,
    rechecked,
    journal: countJournal(registers),
    readAccounts: source => readAccounts(registers, source),
    closed: reason => closed.inc({ reason }),
    happened({ event, type, reason, replicated }) {
      events.inc({ event, side: type })
      if (replicated === false) unreplicated.inc()
      if (event === 'login') logins.inc({ side: type, result: 'ok' })
      else if (event === 'login-failed') logins.inc({ side: type, result: reason ?? 'unknown' })
    },
    readStore: source => readStore(registers, source),
    readUpstreams: source => readUpstreams(registers, source),
    readCertificate: notAfter => readCertificate(registers, notAfter),
    snapshot: async () => [...(await registry.getMetricsAsJSON()), ...requests.snapshot()],
  }
}

/** The label keeps the metric absent without a certificate: a 0 would be one that has expired. */
function readCertificate(registers: Registry[], notAfter: () => number | null): void {
  new Gauge({
    name: 'dualgate_certificate_not_after_seconds',
    help: 'When the certificate in use expires, in seconds since 1970',
    labelNames: ['listener'],
    aggregator: 'min',
    registers,
    collect() {
      const end = notAfter()
      if (end !== null) this.set({ listener: 'public' }, end / 1000)
    },
  })
}
