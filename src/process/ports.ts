import type { Settings } from '../settings/schema/settings.ts'
import type { Urls } from './orders.ts'
import type { WorkerProcess } from './worker-process.ts'

interface Pair {
  public: number
  internal: number
}

/**
 * The ports that workers listen on: those of the configuration. For port 0 the system chooses one for the first worker, and
 * the workers that node:cluster starts for port 0 share it, as long as one of them lives. When all have crashed, their
 * successors listen at its number.
 */
export class Ports {
  readonly #configured: Pair
  #chosen: Pair | null = null
  /** What each worker was ordered to listen on. */
  readonly #ordered = new WeakMap<WorkerProcess, Pair>()
  readonly #listening = new Set<WorkerProcess>()

  constructor({ listen, internal }: Settings) {
    this.#configured = { public: listen.port, internal: internal.port }
  }

  /** Stores that a worker listens at these URLs. Throws if the ones before it listened at other ports. */
  accept(worker: WorkerProcess, urls: Urls): void {
    const ports = { public: portOf(urls.public), internal: portOf(urls.internal) }
    this.#chosen ??= ports
    for (const listener of ['public', 'internal'] as const)
      if (ports[listener] !== this.#chosen[listener])
        throw new Error(`a worker listens at ${urls[listener]} instead of port ${this.#chosen[listener]}`)
    this.#listening.add(worker)
    void worker.ended.then(() => this.#listening.delete(worker))
  }

  /** The settings for a worker, with the ports that those which listen now were ordered. */
  for(worker: WorkerProcess, settings: Settings): Settings {
    const other = [...this.#listening].find(({ holdsSockets }) => holdsSockets)
    const ports = other === undefined ? (this.#chosen ?? this.#configured) : this.#ordered.get(other)!
    this.#ordered.set(worker, ports)
    const { listen, internal } = settings
    return {
      ...settings,
      listen: { ...listen, port: ports.public },
      internal: { ...internal, port: ports.internal },
    }
  }
}

/** For a Unix socket it is 0, which is not used. */
const portOf = (url: string): number => (url.startsWith('unix:') ? 0 : Number(new URL(url).port || defaultOf(url)))

/** The default ports, which a URL omits. */
const defaultOf = (url: string): number => (url.startsWith('https:') ? 443 : 80)
