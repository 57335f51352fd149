import cluster from 'node:cluster'
import type { Settings } from '../config/schema/settings.ts'
import type { Urls } from './message.ts'

interface Pair {
  public: number
  internal: number
}

/**
 * The ports that workers are told to listen on. Those of the configuration: told 0, all workers get the one port that
 * the system chose for the first of them, for as long as one of them lives. When all have crashed, those that come
 * after them are told the port that it was.
 */
export class Ports {
  #told: Pair
  #chosen: Pair | null = null

  constructor({ listen, internal }: Settings) {
    this.#told = { public: listen.port, internal: internal.port }
  }

  /** Keeps what the system chose. */
  settle(urls: Urls): void {
    this.#chosen = { public: portOf(urls.public), internal: portOf(urls.internal) }
  }

  /** The settings as the next worker gets them. */
  for(settings: Settings): Settings {
    if (this.#chosen !== null && Object.keys(cluster.workers ?? {}).length === 0) this.#told = this.#chosen
    const { listen, internal } = settings
    return {
      ...settings,
      listen: { ...listen, port: this.#told.public },
      internal: { ...internal, port: this.#told.internal },
    }
  }
}

/** Of a Unix socket it is 0, which nobody looks at. */
const portOf = (url: string): number => (url.startsWith('unix:') ? 0 : Number(new URL(url).port || defaultOf(url)))

/** What a URL leaves out. */
const defaultOf = (url: string): number => (url.startsWith('https:') ? 443 : 80)
