import cluster from 'node:cluster'
import type { FastifyInstance } from 'fastify'
import type { Settings } from '../../settings/schema/settings.ts'
import type { Certificate } from '../../settings/tls.ts'
import { createDrain, type Drain } from './drain.ts'
import { listen } from './listener.ts'
import { removeDeadSocket } from './private-socket.ts'
import { renewCertificate } from './server.ts'

export interface Closing {
  /** For how long, in milliseconds, an idle connection may still bring a request that was on its way; 0 when not given. */
  grace?: number
  /** Whether others accept at the same addresses meanwhile: then the internal listener stops accepting at once too. */
  handover?: boolean
  /** Not given: requests take as long as they take, and WebSockets are closed at once. */
  drain?: Settings['drain']
  /** Called when the listeners that stop at once accept no connections any more. */
  onStopped?: () => void
}

/** The two servers of a gateway, from their opening to their end. */
export class Listeners {
  readonly #settings: Pick<Settings, 'listen' | 'internal'>
  readonly #edge: FastifyInstance
  readonly #internal: FastifyInstance
  readonly #drainEdge: Drain
  readonly #drainInternal: Drain
  /** The opening of both: what has not listened yet cannot be closed. */
  #opening: Promise<unknown> | null = null
  #isClosing = false

  constructor(settings: Pick<Settings, 'listen' | 'internal'>, edge: FastifyInstance, internal: FastifyInstance) {
    this.#settings = settings
    this.#edge = edge
    this.#internal = internal
    this.#drainEdge = createDrain(edge.server)
    this.#drainInternal = createDrain(internal.server)
  }

  /** Opens both, the internal one last: when the gateway is ready, the public one is open. Returns their URLs. */
  open(): Promise<{ public: string; internal: string }> {
    const opening = this.#open()
    this.#opening = Promise.allSettled([this.#opening, opening])
    return opening
  }

  async #open(): Promise<{ public: string; internal: string }> {
    this.refuseClosed()
    const { listen: outside, internal: inside } = this.#settings
    const { socket } = inside
    const publicUrl = await listen(this.#edge, outside)
    // A worker shares the socket, and its primary has freed the path.
    if (socket !== undefined && cluster.isPrimary) await removeDeadSocket(socket)
    return {
      public: publicUrl,
      internal: await listen(this.#internal, socket === undefined ? inside : { path: socket }),
    }
  }

  /** What was closed does not listen. */
  refuseClosed(): void {
    if (this.#isClosing) throw new Error('the gateway was closed before it listened')
  }

  renewCertificate(certificate: Certificate): void {
    renewCertificate(this.#edge, certificate)
  }

  /**
   * Lets requests in progress finish; until then the internal listener still serves operations. Returns whether the public
   * ones did.
   */
  async close({ grace = 0, handover = false, drain, onStopped }: Closing): Promise<boolean> {
    this.#isClosing = true
    await this.#opening
    const limit = drain?.requests ?? null
    const handedOver = handover ? this.#drainInternal(grace, limit) : null
    const drained = this.#drainEdge(grace, limit)
    onStopped?.()
    const inTime = await drained
    await this.#edge.close()
    await (handedOver ?? this.#drainInternal(0, limit))
    await this.#internal.close()
    return inTime
  }
}
