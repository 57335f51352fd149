import { Refusal } from '../base/refusal.ts'
import type { HttpTarget } from './targets.ts'
import type { Upstream } from './upstream.ts'
import { BodyNotRead, isTimeout } from './wire/connection-faults.ts'
import { TargetBusy } from './wire/connections.ts'
import type { Receiver, UpstreamRequest } from './wire/receiver.ts'
import { UnwritableRequest } from './wire/write-request-head.ts'

/** The idempotent methods of RFC 9110 9.2.2 that are forwarded. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** The client closed its connection before its request or its response was complete. */
export class ClientLeft extends Error {
  constructor() {
    super('the client left')
    this.name = 'ClientLeft'
  }
}

/** The session of the request ended, and the response with it. */
export class SessionEnded extends Error {
  constructor() {
    super('the session ended')
    this.name = 'SessionEnded'
  }
}

/** Tracks the target of a request, its result there, and the next target to try. */
export class Attempts {
  target: HttpTarget
  readonly #upstream: Upstream
  readonly #outgoing: UpstreamRequest
  /** By which the upstream chooses its targets. */
  readonly #key: string | null
  #era = 0
  #retriesLeft: number
  #tried: HttpTarget[] | null = null

  constructor(upstream: Upstream, target: HttpTarget, outgoing: UpstreamRequest, key: string | null) {
    this.#upstream = upstream
    this.target = target
    this.#outgoing = outgoing
    this.#key = key
    this.#retriesLeft = upstream.retries
  }

  /** The request is being sent to the target. */
  begin(): void {
    this.#era = this.target.health.era
  }

  dispatch(receiver: Receiver): void {
    this.begin()
    this.target.dispatch(this.#outgoing, receiver)
  }

  /** The target answered completely. */
  succeeded(): void {
    this.target.succeeded(this.#era)
  }

  /** The request failed, which may not be the target's fault. */
  failed(error: Error): void {
    if (!isOurs(error)) this.target.failed(this.#era, error)
  }

  /**
   * Continues with another target; returns whether there is one. A request that was never written to a connection
   * cannot be executed twice. A written one may be retried as often as the upstream's settings allow, if it is
   * idempotent and has no body.
   */
  moveOn(error: Error, wasSent: boolean): boolean {
    if (error instanceof UnwritableRequest || error instanceof ClientLeft || error instanceof Refusal) return false
    if (wasSent && !this.#mayRepeat()) return false
    this.#tried ??= []
    this.#tried.push(this.target)
    const next = this.#upstream.another(this.#tried, this.#key) ?? (wasSent ? this.#upstream.next(this.#key) : null)
    if (next === null) return false
    this.target = next
    // `host` stands first; where it is the client's, it is the same for all targets.
    if (this.#upstream.host === 'target') this.#outgoing.headers[1] = next.authority
    return true
  }

  /** What failed, with the names of the upstream and of its present target. */
  faultOf(error: Error): Error {
    return new Error(`upstream ${this.#upstream.name} at ${this.target.url}`, { cause: error })
  }

  #mayRepeat(): boolean {
    const { method, body } = this.#outgoing
    return body === null && IDEMPOTENT.has(method) && this.#retriesLeft-- > 0
  }
}

/** What the client learns of an error before there is an answer; `fault` says more of it to the log. */
export function refusalOf(error: Error, fault: Error): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof TargetBusy) return new Refusal('UPSTREAM_BUSY', { cause: fault, retryAfter: 1 })
  return new Refusal(isTimeout(error) ? 'UPSTREAM_TIMEOUT' : 'BAD_GATEWAY', { cause: fault })
}

/** Reasons that end a request without a failure of the target. By those of bodies, one client could have all targets ejected. */
const isOurs = (error: Error): boolean =>
  error instanceof BodyNotRead ||
  error instanceof ClientLeft ||
  error instanceof SessionEnded ||
  error instanceof Refusal ||
  error instanceof TargetBusy ||
  error instanceof UnwritableRequest
