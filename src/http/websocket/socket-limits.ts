import { Refusal } from '../../base/refusal.ts'
import type { WebSocketSettings } from '../../settings/schema/upstreams.ts'
import type { Session } from '../../side/side.ts'
import { CLOSE } from './frames.ts'
import type { Tunnel } from './tunnel.ts'

/** Checks within the idle time: an idle WebSocket is closed at most this part of it later. */
const CHECKS_PER_IDLE_TIME = 4

/** The WebSockets of one upstream, and the limits that its settings set for them. */
export class SocketLimits {
  readonly settings: WebSocketSettings
  readonly #tunnels = new Set<Tunnel>()
  /** Open WebSockets and handshakes under way, in total and of each user. */
  #total = 0
  readonly #ofUser = new Map<string, number>()
  #checking: NodeJS.Timeout | null = null

  constructor(settings: WebSocketSettings) {
    this.settings = settings
  }

  /** Counts one more handshake; returns how to stop counting it. Refuses with `BUSY` or `TOO_MANY_SOCKETS` at a limit. */
  enter(session: Session | null): () => void {
    const { max_connections, max_per_user } = this.settings
    const user = session === null ? null : `${session.record.type} ${session.record.user_id}`
    if (this.#total >= max_connections) throw new Refusal('BUSY')
    const ofUser = user === null ? 0 : (this.#ofUser.get(user) ?? 0)
    if (ofUser >= max_per_user) throw new Refusal('TOO_MANY_SOCKETS')
    this.#total++
    if (user !== null) this.#ofUser.set(user, ofUser + 1)
    let hasLeft = false
    return () => {
      if (!hasLeft) this.#leave(user)
      hasLeft = true
    }
  }

  #leave(user: string | null): void {
    this.#total--
    if (user === null) return
    const left = (this.#ofUser.get(user) ?? 1) - 1
    if (left === 0) this.#ofUser.delete(user)
    else this.#ofUser.set(user, left)
  }

  add(tunnel: Tunnel): void {
    this.#tunnels.add(tunnel)
    this.#checking ??= setInterval(() => this.#check(), this.settings.idle_timeout / CHECKS_PER_IDLE_TIME).unref()
  }

  delete(tunnel: Tunnel): void {
    this.#tunnels.delete(tunnel)
  }

  #check(): void {
    for (const tunnel of this.#tunnels) if (tunnel.countQuiet() >= CHECKS_PER_IDLE_TIME) tunnel.close(CLOSE.goingAway)
    if (this.#tunnels.size > 0 || this.#checking === null) return
    clearInterval(this.#checking)
    this.#checking = null
  }

  tunnels(): Tunnel[] {
    return [...this.#tunnels]
  }
}
