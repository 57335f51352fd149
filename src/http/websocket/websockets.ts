import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { Refusal } from '../../base/refusal.ts'
import type { Meter } from '../../metrics/meter.ts'
import type { WebSocketSettings } from '../../settings/schema/upstreams.ts'
import type { Session } from '../../side/side.ts'
import type { SessionWatch } from '../../store/session-watch.ts'
import type { HttpTarget } from '../../upstream/targets.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { UpstreamRequest } from '../../upstream/wire/receiver.ts'
import { createObservation } from '../server/count-and-log.ts'
import type { RequestCounter } from '../server/request-metrics.ts'
import { upgradeOf } from '../server/upgrade.ts'
import { ForwardedHandshake } from './forwarded-handshake.ts'
import { CLOSE } from './frames.ts'
import { refuseForeignOrigin, refuseMalformed } from './handshake.ts'
import { SocketLimits } from './socket-limits.ts'
import { Tunnel } from './tunnel.ts'

/** Between two shares of the WebSockets that a closing gateway closes, in milliseconds. */
const CLOSING_INTERVAL = 50

export interface WebSocketsOptions {
  watch: SessionWatch
  /** Lower-case name of the header that carries the token. */
  tokenHeader: string
  clock: Clock
  log: FastifyBaseLogger
  /** Where the opening and the end of each are logged; `null` for nowhere. */
  accessLog: Logger | null
  counter: RequestCounter
}

/** Publishes how many are open; none where no upstream has any. */
export function publishWebSockets(meter: Meter, webSockets: WebSockets | null): void {
  meter.gauge({
    name: 'dualgate_websockets',
    help: 'WebSockets that are open',
    collect() {
      this.set(webSockets?.open ?? 0)
    },
  })
}

/** A handshake that has passed the gate, and the request that the upstream is to get. */
export interface Handshake {
  request: FastifyRequest
  reply: FastifyReply
  upstream: Upstream
  target: HttpTarget | null
  outgoing: UpstreamRequest
  /** By which the upstream chooses its targets. */
  key: string | null
}

/** The WebSockets of a gateway, from their handshake to their end. */
export class WebSockets {
  readonly #options: WebSocketsOptions
  /** Counts and logs a 101 like every answered request; Fastify never sees that response finish. */
  readonly #answered: (request: FastifyRequest, reply: FastifyReply) => void
  readonly #limits = new Map<Upstream, SocketLimits>()
  #isClosing = false
  #open = 0

  constructor(options: WebSocketsOptions) {
    const { counter, accessLog } = options
    this.#options = options
    this.#answered = createObservation({ requests: 'every', counter, accessLog }).answered
  }

  /** How many are open. */
  get open(): number {
    return this.#open
  }

  /** Forwards a handshake to its upstream. Refusals are thrown or sent. */
  accept(handshake: Handshake): void {
    const { request, reply, upstream, target, outgoing, key } = handshake
    const { raw, session } = request
    const upgrade = upgradeOf(raw)
    if (upstream.webSocket === null || target === null || upgrade === null) throw new Refusal('NOT_FOUND')
    refuseMalformed(raw, upgrade, this.#options.tokenHeader)
    refuseForeignOrigin(raw, request.host, upstream.webSocket.origins)
    // The client has left meanwhile: its address and its connection are gone, or will be.
    if (upgrade.socket.destroyed || upgrade.socket.readableEnded) {
      upgrade.socket.destroy()
      return
    }
    if (this.#isClosing) throw new Refusal('BUSY')
    const limits = this.#limitsOf(upstream, upstream.webSocket)
    const leave = limits.enter(session)
    new ForwardedHandshake({
      request,
      reply,
      upstream,
      target,
      outgoing,
      key,
      log: this.#options.log,
      onOpen: (socket, head) => {
        this.#answered(request, reply)
        const line = lineOf(request)
        const tunnel = this.#openTunnel({ client: upgrade.socket, upstream: socket, limits, session, line, leave })
        tunnel.start(upgrade.head, head)
        if (this.#isClosing) tunnel.close(CLOSE.goingAway)
      },
      onFailed: leave,
    }).start()
  }

  #limitsOf(upstream: Upstream, settings: WebSocketSettings): SocketLimits {
    const limits = this.#limits.get(upstream) ?? new SocketLimits(settings)
    this.#limits.set(upstream, limits)
    return limits
  }

  /** Keeps no reference to the request: requests are large, and WebSockets live long. */
  #openTunnel({ client, upstream, limits, session, line, leave }: Opened): Tunnel {
    const { clock, accessLog } = this.#options
    const since = clock.elapsed()
    let unwatch: (() => void) | null = null
    const tunnel = new Tunnel({
      client,
      upstream,
      maxMessage: limits.settings.max_message,
      onClosed: code => {
        this.#open--
        unwatch?.()
        limits.delete(tunnel)
        leave()
        accessLog?.info(
          { ...line, code: code ?? undefined, ms: Math.round(clock.elapsed() - since) },
          'websocket closed',
        )
      },
    })
    this.#open++
    limits.add(tunnel)
    if (session !== null) unwatch = this.#closeWithSession(tunnel, session)
    return tunnel
  }

  /** Closes a tunnel when its session ends; returns how to stop watching it. */
  #closeWithSession(tunnel: Tunnel, { token, record }: Session): () => void {
    return this.#options.watch.watch({ type: record.type, token, userId: record.user_id }, why =>
      tunnel.close(why === 'ended' ? CLOSE.sessionEnded : CLOSE.tryAgainLater),
    )
  }

  /**
   * Refuses new ones, and closes the open ones so that their clients connect again elsewhere: evenly over `time`
   * milliseconds, because thousands that connect again in the same second are an attack.
   */
  close(time: number): void {
    this.#isClosing = true
    const open = [...this.#limits.values()].flatMap(limits => limits.tunnels())
    const since = performance.now()
    let closed = 0
    const closeDue = (): void => {
      const share = time === 0 ? 1 : (performance.now() - since) / time
      // The first at once: a single WebSocket has nothing to wait for.
      for (const due = 1 + Math.floor(share * open.length); closed < Math.min(due, open.length); closed++) {
        open[closed]?.close(CLOSE.goingAway)
      }
      if (closed === open.length) clearInterval(timer)
    }
    const timer = setInterval(closeDue, CLOSING_INTERVAL)
    closeDue()
  }
}

interface Opened {
  client: Socket
  upstream: Socket
  limits: SocketLimits
  session: Session | null
  line: Line
  leave(): void
}

type Line = Record<string, unknown>

/** What the log says of a WebSocket, beside how it ended. */
const lineOf = ({ id, target, session, ip }: FastifyRequest): Line => ({
  trace_id: id,
  path: target.path,
  side: session?.record.type,
  login_id: session?.record.user_id,
  ...(session?.key === undefined ? { jti: session?.claims.jti } : { key: session.key.id }),
  ip,
})
