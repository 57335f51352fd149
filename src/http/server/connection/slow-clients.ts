import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../../../base/refusal.ts'
import { acceptedBytes } from '../../../workarounds/node-accepted-bytes.ts'
import { ByteRate } from './byte-rate.ts'
import { type ClientConnection, failBody } from './connection.ts'

/** How often connections are checked at least, in milliseconds. */
const INTERVAL = 1000

/** How long the body of one of our own routes may take in all, in milliseconds; none has more than some KiB. */
const OWN_BODY_LIMIT = 10_000

/** How long the rest of a body is read whose request is answered already, in milliseconds. */
const DISCARD_LIMIT = 5_000

/** What holds instead of `limit` while others wait for what slow clients hold, in milliseconds. */
const PRESSED_LIMIT = 2_000

export interface SlowLimits {
  /** How long a client may send or accept nothing, and stay below `minRate` at first, in milliseconds. */
  limit: number
  /** Bytes per second that a client sends of a body or accepts of an answer at least, on average. */
  minRate: number
  /** Whether others wait for what slow clients hold: a connection to an upstream, or the end of the gateway. */
  isPressed(): boolean
  /** Receives every connection that was ended. */
  onSlow(what: 'slow_body' | 'slow_reader'): void
}

interface Watched {
  response: ServerResponse
  pace: ByteRate
  /** Whether an answer is waited for, not a body. */
  isAnswering: boolean
  /** Milliseconds since the request was first seen. */
  age: number
  /** Milliseconds since it was answered. */
  answered: number
}

/**
 * Ends what clients send or accept too slowly: one look per interval at the counters of each connection, where a timer for
 * each request would cost every request. A client with nothing to send or to accept is never slow: server-sent events and
 * long polls may stay silent. WebSockets have limits of their own.
 */
export class SlowClients {
  readonly #connections: ReadonlySet<ClientConnection>
  readonly #limits: SlowLimits
  readonly #watched = new WeakMap<ClientConnection, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(connections: ReadonlySet<ClientConnection>, limits: SlowLimits) {
    this.#connections = connections
    this.#limits = limits
  }

  start(): void {
    const interval = Math.min(INTERVAL, this.#limits.limit / 2)
    this.#timer = setInterval(() => this.check(interval), interval).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** `elapsed` milliseconds have passed since the last check. */
  check(elapsed: number): void {
    const { limit, isPressed } = this.#limits
    const allowed = isPressed() ? Math.min(limit, PRESSED_LIMIT) : limit
    for (const connection of this.#connections) {
      const { request, response } = connection
      if (request === null || response === null) continue
      if (request.complete && response.writableFinished) continue
      const watched = this.#watch(connection, response)
      watched.age += elapsed
      if (request.complete) this.#checkAnswer(connection.socket, watched, elapsed, allowed)
      else this.#checkBody(connection, request, watched, elapsed, allowed)
    }
  }

  #watch(connection: ClientConnection, response: ServerResponse): Watched {
    let watched = this.#watched.get(connection)
    if (watched?.response === response) return watched
    watched = { response, pace: new ByteRate(), isAnswering: false, age: 0, answered: 0 }
    watched.pace.restart(connection.socket.bytesRead)
    this.#watched.set(connection, watched)
    return watched
  }

  #checkBody(connection: ClientConnection, request: IncomingMessage, watched: Watched, elapsed: number, limit: number) {
    const { socket } = connection
    if (watched.response.writableFinished) {
      watched.answered += elapsed
      if (watched.answered >= DISCARD_LIMIT) socket.destroy()
      return
    }
    const { bytesRead } = socket
    // What holds the body back is the upstream's slowness, which has limits of its own.
    if (request.isPaused() || request.readableLength > 0) watched.pace.restart(bytesRead)
    else watched.pace.advance(bytesRead, elapsed)
    const isLate = !connection.isForwarded && watched.age >= OWN_BODY_LIMIT
    if (!isLate && !watched.pace.isSlow(limit, this.#limits.minRate)) return
    this.#limits.onSlow('slow_body')
    if (!failBody(request, new Refusal('REQUEST_TIMEOUT'))) socket.destroy()
  }

  #checkAnswer(socket: Socket, watched: Watched, elapsed: number, limit: number): void {
    const { pace } = watched
    const accepted = acceptedBytes(socket)
    if (socket.writableLength === 0 || !watched.isAnswering) {
      watched.isAnswering = true
      pace.restart(accepted)
      return
    }
    pace.advance(accepted, elapsed)
    if (!pace.isSlow(limit, this.#limits.minRate)) return
    this.#limits.onSlow('slow_reader')
    socket.destroy()
  }
}
