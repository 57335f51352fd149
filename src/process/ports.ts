import cluster from 'node:cluster'
import type { Settings } from '../settings/schema/settings.ts'
import type { Urls } from './orders.ts'

interface Pair {
  public: number
  internal: number
}

/**
 * The ports that workers listen on: those of the configuration. For port 0 all workers get the port that the system
 * chose for the first of them, as long as one of them lives. When all have crashed, their successors get the same port.
 */
export class Ports {
  #ports: Pair
  #chosen: Pair | null = null

  constructor({ listen, internal }: Settings) {
    this.#ports = { public: listen.port, internal: internal.port }
  }

  /** Stores the port that the system chose. */
  settle(urls: Urls): void {
    this.#chosen = { public: portOf(urls.public), internal: portOf(urls.internal) }
  }

  /** The settings for the next worker. */
  for(settings: Settings): Settings {
    if (this.#chosen !== null && Object.keys(cluster.workers ?? {}).length === 0) this.#ports = this.#chosen
    const { listen, internal } = settings
    return {
      ...settings,
      listen: { ...listen, port: this.#ports.public },
      internal: { ...internal, port: this.#ports.internal },
    }
  }
}

/** For a Unix socket it is 0, which is not used. */
const portOf = (url: string): number => (url.startsWith('unix:') ? 0 : Number(new URL(url).port || defaultOf(url)))

/** The default ports, which a URL omits. */
const defaultOf = (url: string): number => (url.startsWith('https:') ? 443 : 80)
