import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { WebSocketSettings } from '../../config/schema/upstreams.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { Refusal } from '../../refusal.ts'
import type { Session } from '../../side/side.ts'
import type { SessionWatch } from '../../store/session-watch.ts'
import type { HttpTarget } from '../../upstream/targets.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { UpstreamRequest } from '../../upstream/wire/receiver.ts'
import { countAnswered } from '../routes/metrics.ts'
import { createAccessLog } from '../server/access-log.ts'
import { upgradeOf } from '../server/upgrade.ts'
import { CLOSE, type CloseCode } from './frames.ts'
import { refuseForeignOrigin, refuseMalformed } from './handshake.ts'
import { Opening } from './opening.ts'
import { Tunnel } from './tunnel.ts'

/** Looks within the idle time: a quiet one is closed at most this part of it later. */
const LOOKS_PER_IDLE_TIME = 4

export interface WebSocketsOptions {
  watch: SessionWatch
  /** Lower-case name of the header that carries the token. */
  tokenHeader: string
  clock: Clock
  log: FastifyBaseLogger
  /** Where the opening and the end of each are told; `null` for nowhere. */
  accessLog: Logger | null
  metrics: Metrics
}

/** A handshake that has passed the gate, and the request that the upstream is to get. */
export interface Asked {
  request: FastifyRequest
  reply: FastifyReply
  upstream: Upstream
  target: HttpTarget | null
  outgoing: UpstreamRequest
}

export type WebSockets = ReturnType<typeof createWebSockets>

/** The WebSockets of a gateway: from their handshake, through the time in which they are open, to their end. */
export function createWebSockets(options: WebSocketsOptions) {
  const { accessLog, metrics } = options
  // A 101 is logged and counted like every answered request; Fastify never sees that response finish.
  const told = [countAnswered(metrics), ...(accessLog === null ? [] : [createAccessLog(accessLog)])]
  const rooms = new Map<Upstream, Room>()
  let isClosing = false
  let open = 0

  const roomOf = (upstream: Upstream, settings: WebSocketSettings): Room => {
    const room = rooms.get(upstream) ?? new Room(settings)
    rooms.set(upstream, room)
    return room
  }

  /** Takes a handshake to its upstream. Refusals are thrown or sent. */
  function take(asked: Asked): void {
    const { request, reply, upstream, target, outgoing } = asked
    const { raw, session } = request
    const upgrade = upgradeOf(raw)
    if (upstream.webSocket === null || target === null || upgrade === null) throw new Refusal('NOT_FOUND')
    refuseMalformed(raw, upgrade, options.tokenHeader)
    refuseForeignOrigin(raw, request.host, upstream.webSocket.origins)
    // The client has left meanwhile, and with it what could be said of it.
    if (upgrade.socket.destroyed) return
    if (isClosing) throw new Refusal('BUSY')
    const room = roomOf(upstream, upstream.webSocket)
    const leave = room.enter(session)
    new Opening({
      request,
      reply,
      upstream,
      target,
      outgoing,
      log: options.log,
      onOpen: (socket, head) => {
        for (const tell of told) tell(request, reply, () => undefined)
        const line = lineOf(request)
        const tunnel = follow({ client: upgrade.socket, upstream: socket, room, session, line, leave })
        tunnel.start(upgrade.head, head)
        if (isClosing) tunnel.close(CLOSE.goingAway)
      },
      onFailed: leave,
    }).start()
  }

  /** Holds on to no more than it needs: requests are large, and these live long. */
  function follow({ client, upstream, room, session, line, leave }: Opened): Tunnel {
    const { watch, clock } = options
    const since = clock.now()
    let unwatch: (() => void) | null = null
    const tunnel = new Tunnel({
      client,
      upstream,
      maxMessage: room.settings.max_message,
      onClosed(code) {
        open--
        unwatch?.()
        room.tunnels.delete(tunnel)
        leave()
        accessLog?.info({ ...line, code: code ?? undefined, ms: clock.now() - since }, 'websocket closed')
      },
    })
    open++
    room.add(tunnel)
    if (session !== null) {
      const { type, user_id: userId } = session.record
      unwatch = watch.watch({ type, token: session.token, userId }, why =>
        tunnel.close(why === 'ended' ? CLOSE.sessionEnded : CLOSE.tryAgainLater),
      )
    }
    return tunnel
  }

  return {
    take,
    get open() {
      return open
    },
    /** Lets none in any more, and asks those that are open to come again elsewhere. */
    close(): void {
      isClosing = true
      for (const room of rooms.values()) room.closeAll(CLOSE.goingAway)
    },
  }
}

interface Opened {
  client: Socket
  upstream: Socket
  room: Room
  session: Session | null
  line: Line
  leave(): void
}

type Line = Record<string, unknown>

/** What the log says of a WebSocket, beside what became of it. */
const lineOf = ({ id, target, session, ip }: FastifyRequest): Line => ({
  trace_id: id,
  path: target.path,
  side: session?.record.type,
  login_id: session?.record.user_id,
  jti: session?.claims.jti,
  ip,
})

/** The WebSockets of one upstream, and the limits that hold for them. */
class Room {
  readonly settings: WebSocketSettings
  readonly tunnels = new Set<Tunnel>()
  /** Open ones and handshakes under way, together and of each user. */
  #all = 0
  readonly #ofUser = new Map<string, number>()
  #looking: NodeJS.Timeout | null = null

  constructor(settings: WebSocketSettings) {
    this.settings = settings
  }

  /** Counts one more and answers how to take that back, once. */
  enter(session: Session | null): () => void {
    const { max_connections, max_per_user } = this.settings
    const user = session === null ? null : `${session.record.type} ${session.record.user_id}`
    if (this.#all >= max_connections) throw new Refusal('BUSY')
    const ofUser = user === null ? 0 : (this.#ofUser.get(user) ?? 0)
    if (ofUser >= max_per_user) throw new Refusal('TOO_MANY_SOCKETS')
    this.#all++
    if (user !== null) this.#ofUser.set(user, ofUser + 1)
    let hasLeft = false
    return () => {
      if (!hasLeft) this.#leave(user)
      hasLeft = true
    }
  }

  #leave(user: string | null): void {
    this.#all--
    if (user === null) return
    const left = (this.#ofUser.get(user) ?? 1) - 1
    if (left === 0) this.#ofUser.delete(user)
    else this.#ofUser.set(user, left)
  }

  add(tunnel: Tunnel): void {
    this.tunnels.add(tunnel)
    this.#looking ??= setInterval(() => this.#look(), this.settings.idle_timeout / LOOKS_PER_IDLE_TIME).unref()
  }

  #look(): void {
    for (const tunnel of this.tunnels) if (tunnel.countQuiet() >= LOOKS_PER_IDLE_TIME) tunnel.close(CLOSE.goingAway)
    if (this.tunnels.size > 0 || this.#looking === null) return
    clearInterval(this.#looking)
    this.#looking = null
  }

  closeAll(code: CloseCode): void {
    for (const tunnel of this.tunnels) tunnel.close(code)
  }
}
