import cluster from 'node:cluster'
import { rmSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { type Certificate, readCertificate } from '../config/certificate.ts'
import type { Settings } from '../config/schema.ts'
import type { Logger } from '../log.ts'
import { createDrain } from './drain.ts'
import { createEnvelopes, type Envelopes } from './envelope.ts'
import { listen } from './listener.ts'
import { createServer, renewCertificate } from './server.ts'

/** What the internal listener takes of a body, in bytes: an `extra` may be long. */
const INTERNAL_BODY_LIMIT = 32_768

export interface ListenersOptions {
  log: Logger
  /** The certificate of the public listener; read from the files of `listen.tls` when it is not given. */
  certificate: Certificate | null | undefined
  hasWebSockets: boolean
}

export interface Closing {
  /** For how long, in milliseconds, an idle connection may still bring a request that was on its way; 0 when not given. */
  grace?: number
  /** Whether others accept at the same addresses meanwhile: then the internal listener stops accepting at once too. */
  handover?: boolean
}

interface Listener {
  app: FastifyInstance
  envelopes: Envelopes
}

/** The two servers of a gateway, before anything is served on them. */
export class Listeners {
  readonly edge: Listener
  readonly internal: Listener
  readonly #settings: Settings
  readonly #drainEdge
  readonly #drainInternal

  constructor(settings: Settings, { log, certificate, hasWebSockets }: ListenersOptions) {
    const { listen, locale, errors, trusted_proxies: trustedProxies } = settings
    const envelopes = createEnvelopes(locale, errors.http_status)
    // Services behind the gateway are no page: they read real statuses.
    const native = createEnvelopes(locale, 'native')
    this.#settings = settings
    this.edge = {
      envelopes,
      app: createServer({
        log,
        envelopes,
        trustedProxies,
        timeouts: listen.timeouts,
        maxConnections: listen.max_connections,
        certificate: certificate ?? (listen.tls === undefined ? null : readCertificate(listen.tls)),
        hasWebSockets,
      }),
    }
    this.internal = {
      envelopes: native,
      app: createServer({ log, envelopes: native, trustedProxies: [], bodyLimit: INTERNAL_BODY_LIMIT }),
    }
    this.#drainEdge = createDrain(this.edge.app.server)
    this.#drainInternal = createDrain(this.internal.app.server)
  }

  /** Opens both, the internal one last: whoever finds the gateway ready finds the public one open. Answers their URLs. */
  async open(): Promise<{ public: string; internal: string }> {
    const { listen: outside, internal: inside } = this.#settings
    return {
      public: await listen(this.edge.app, outside),
      internal: await listen(this.internal.app, inside.socket === undefined ? inside : { path: freed(inside.socket) }),
    }
  }

  renewCertificate(certificate: Certificate): void {
    renewCertificate(this.edge.app, certificate)
  }

  /** Lets the requests under way finish; until then they can have the operations of the internal listener. */
  async close({ grace = 0, handover = false }: Closing): Promise<void> {
    const handedOver = handover ? this.#drainInternal(grace) : null
    await this.#drainEdge(grace)
    await this.edge.app.close()
    await (handedOver ?? this.#drainInternal(0))
    await this.internal.app.close()
  }
}

/** The path of a Unix socket at which nothing is left of an earlier process. A worker shares it; its primary cleared it. */
function freed(path: string): string {
  if (cluster.isPrimary) rmSync(path, { force: true })
  return path
}
