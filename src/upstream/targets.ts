import type { Clock } from '../clock.ts'
import type { ConnectionSettings } from '../config/schema/upstreams.ts'
import type { UpstreamTls } from '../config/tls.ts'
import { readAddress } from './address.ts'
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
  /** Told of every change in how a target stands, and why. */
  report(target: HttpTarget, change: TargetHealthChange, cause: Error | null): void
}

/** How a target is doing, as this process sees it. */
export interface TargetStatus {
  target: string
  state: TargetState
  /** Requests under way, and those of them that wait for a connection. */
  open: number
  waiting: number
}

/** One server behind the gateway: the connections to it, and what became of the requests on them. */
export class HttpTarget {
  readonly url: string
  /** Host and port, as in a `Host` header. */
  readonly authority: string
  readonly health: TargetHealth
  /** Opens a connection of its own to the target, verified as all are; for what is no request and response. */
  readonly connect: Connect
  readonly #options: TargetOptions
  readonly #connections: Connections

  constructor(url: string, options: TargetOptions) {
    const address = readAddress(url)
    const { timeouts, connections, ejection, tls } = options
    this.url = address.url
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

  /** Never throws; a request that cannot be sent is told to the receiver. */
  dispatch(request: UpstreamRequest, receiver: Receiver): void {
    this.#connections.dispatch(request, receiver)
  }

  /** Takes a request back that waits for a connection, if it does. */
  takeBack(receiver: Receiver): void {
    this.#connections.takeBack(receiver)
  }

  /** A request of this era was answered, wholly. */
  succeeded(era: number): void {
    // Nearly always there is nothing to be forgiven.
    if (this.health.isUnblemished) return
    this.#report(this.health.succeeded(era, this.#options.clock.now()), null)
  }

  /** A request of this era was not answered, or not wholly, by the target's fault. */
  failed(era: number, cause: Error): void {
    this.#report(this.health.failed(era, this.#options.clock.now()), cause)
  }

  /** What the active checks have come to. */
  checked(isHealthy: boolean, cause: Error | null): void {
    this.#report(this.health.checked(isHealthy), cause)
  }

  #report(change: TargetHealthChange | null, cause: Error | null): void {
    if (change !== null) this.#options.report(this, change, cause)
  }

  /** Requests that are under way or wait for a connection. */
  get open(): number {
    return this.#connections.open
  }

  /** Whether it gets its share of requests, and has a connection for the next. */
  get isReady(): boolean {
    return this.health.isUp && this.open < this.#options.connections.limit
  }

  /** Whether a request waits for a connection, or more than three quarters of them are in use. */
  get isCrowded(): boolean {
    const { open, waiting } = this.#connections
    return waiting > 0 || 4 * open > 3 * this.#options.connections.limit
  }

  /** Whether a request that may take long leaves half of the connections to others, and half of its client's share. */
  admitsSlow(client: string): boolean {
    return this.#connections.admitsSlow(client)
  }

  status(): TargetStatus {
    const { open, waiting } = this.#connections
    return { target: this.url, state: this.health.state(this.#options.clock.now()), open, waiting }
  }

  /** Ends what is under way and gives up the connections. */
  close(): void {
    this.#connections.close()
  }
}
