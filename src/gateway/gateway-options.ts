import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log/log.ts'
import type { Closing } from '../http/server/listeners.ts'
import type { Helpers } from '../login/helpers/helpers.ts'
import type { Snapshot } from '../metrics/exposition.ts'
import type { SideName } from '../session/sides.ts'
import type { Certificate } from '../settings/tls.ts'
import type { Operations } from '../side/operations.ts'
import type { Sharing } from '../store/acknowledged-changes.ts'

export interface GatewayOptions {
  clock?: Clock
  /** How many processes serve with these settings, this one included; 1 when it is not given. */
  workers?: number
  /** Where every line goes; standard output when it is not given. */
  log?: Logger
  /** The certificate of the public listener; read from the files of `listen.tls` when it is not given. */
  certificate?: Certificate | null
  /** What `/metrics` answers, where there are several processes; the metrics of this process when it is not given. */
  gatherMetrics?: () => Promise<string>
  /** The processes that compute for logins, for a program with several gateways; the gateway has its own when they are not given. */
  helpers?: Helpers
  /** Whether other processes of this gateway have served before this one. */
  isSuccessor?: boolean
  /** Reaches the other processes of this gateway, where there are several. */
  sharing?: Sharing
}

export interface Gateway {
  /** The operations of each side, for a program that embeds the gateway. */
  readonly sides: Readonly<Record<SideName, Operations>>
  /**
   * Waits for an answer of the store, for `limit` milliseconds at most; returns whether there was one. Without it, the first
   * requests could meet a connection that is not checked yet.
   */
  reachStore(limit: number): Promise<boolean>
  /** Opens both listeners; returns their URLs. */
  listen(): Promise<{ public: string; internal: string }>
  /** Presents another certificate to new connections, where the public listener speaks HTTPS. */
  renewCertificate(certificate: Certificate): void
  /** The metrics of this process. */
  metrics(): Promise<Snapshot>
  /** Stops accepting connections, lets running requests finish, then closes the store; returns whether they did finish. */
  close(closing?: Closing): Promise<boolean>
}
