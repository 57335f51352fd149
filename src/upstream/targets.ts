import type { Clock } from '../base/clock.ts'
import type { ConnectionSettings } from '../settings/schema/targets.ts'
import type { UpstreamTls } from '../settings/tls.ts'
import { readAddress, type TargetAddress } from './target-address.ts'
import { type EjectionRules, TargetHealth, type TargetHealthChange, type TargetState } from './target-health.ts'
import { type Connect, createConnect } from './wire/connect.ts'
import { Connections } from './wire/connections.ts'
import type { Receiver, UpstreamRequest } from './wire/receiver.ts'

export interface TargetOptions {
  /** Time limits in milliseconds; `response`: until its head, from the end of the request. */
  timeouts: { connect: number; response: number }
  connections: ConnectionSettings
  /** `null` for none. */
  ejection: EjectionRules | null
  tls: UpstreamTls
  clock: Clock
  /** Called on every change of a target's health, with the reason. */
  report(target: HttpTarget, change: TargetHealthChange, cause: Error | null): void
}

/** The state of a target, as seen by this process. */
export interface TargetStatus {
  target: string
  state: TargetState
  /** Its share of the requests; 0 for no new requests. */
  weight: number
  /** Requests in progress, and those of them that wait for a connection. */
  open: number
  waiting: number
}

/** One server behind the gateway: its connections, and its health from the results of requests. */
export class HttpTarget {
  /** Its name in log lines and metrics. */
  readonly url: string
  readonly address: TargetAddress
  /** Its share of the requests among the targets; 0 for no new requests. */
  readonly weight: number
  /** Host and port, as in a `Host` header. */
  readonly authority: string
  readonly health: TargetHealth
  /**
   * Opens a separate connection to the target, verified like all others; for protocols other than request and response.
   */
  readonly connect: Connect
  readonly #options: TargetOptions
  readonly #connections: Connections

  constructor(url: string, options: TargetOptions, weight = 1, ip: string | null = null) {
    const address = readAddress(url, ip)
    const { timeouts, connections, ejection, tls } = options
    this.url = address.url
    this.address = address
    this.weight = weight
    this.authority = address.authority
    this.health = new TargetHealth(ejection)
    this.connect = createConnect(address, timeouts.connect, tls)
    this.#options = options
    this.#connections = new Connections({
      connect: this.connect,
      responseLimit: timeouts.response,
      settings: connections,
      growOld: address.isName,
    })
  }

  /** Never throws; if a request cannot be sent, the receiver gets the error. */
  dispatch(request: UpstreamRequest, receiver: Receiver): void {
    this.#connections.dispatch(request, receiver)
  }

  /** Removes a request that waits for a connection, if it does. */
  takeBack(receiver: Receiver): void {
    this.#connections.takeBack(receiver)
  }

  /** A request of this era was answered completely. */
  succeeded(era: number): void {
    // Nearly always there is no failure to reset.
    if (this.health.isUnblemished) return
    this.#report(this.health.succeeded(era, this.#options.clock.elapsed()), null)
  }

  /** A request of this era was not answered, or not completely, because the target failed. */
  failed(era: number, cause: Error): void {
    this.#report(this.health.failed(era, this.#options.clock.elapsed()), cause)
  }

  /** The result of the active checks. */
  checked(isHealthy: boolean, cause: Error | null): void {
    this.#report(this.health.checked(isHealthy), cause)
  }

  #report(change: TargetHealthChange | null, cause: Error | null): void {
    if (change !== null) this.#options.report(this, change, cause)
  }

  /** Requests in progress, including those that wait for a connection. */
  get open(): number {
    return this.#connections.open
  }

  /** Whether the target is healthy and has a connection for the next request. */
  get isReady(): boolean {
    return this.health.isUp && this.open < this.#options.connections.limit
  }

  /** Whether a request waits for a connection, or more than three quarters of them are in use. */
  get isCrowded(): boolean {
    const { open, waiting } = this.#connections
    return waiting > 0 || 4 * open > 3 * this.#options.connections.limit
  }

  /** Whether a slow request would leave half of the connections to other clients, and half of its client's share. */
  admitsSlow(client: string): boolean {
    return this.#connections.admitsSlow(client)
  }

  status(): TargetStatus {
    const { open, waiting } = this.#connections
    return {
      target: this.url,
      state: this.health.state(this.#options.clock.elapsed()),
      weight: this.weight,
      open,
      waiting,
    }
  }

  /** It gets no more requests: its connections close when they are idle. */
  retire(): void {
    this.#connections.retire()
  }

  /** Ends what is under way and gives up the connections. */
  close(): void {
    this.#connections.close()
  }
}
