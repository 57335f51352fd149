import { ADDRCONFIG } from 'node:dns'
import { lookup } from 'node:dns/promises'

/** The addresses of a name. Rejects, or finds none, where it has none. */
export type LookUp = (name: string) => Promise<readonly string[]>

/** As connections resolve names: by the system, with its hosts file and its search domains. */
export const systemLookUp: LookUp = async name => {
  const found = await lookup(name, { all: true, hints: ADDRCONFIG })
  return found.map(({ address }) => address)
}

export interface LookUpsOptions {
  name: string
  /** Between two look-ups, in milliseconds. */
  interval: number
  lookUp: LookUp
  /** Called after each look-up that found some, each once and in one order. */
  onFound(addresses: readonly string[]): void
  /** Called for the first of several look-ups in a row that fail; the addresses stay what they were. */
  onFailed(fault: Error): void
}

/** Looks the addresses of one name up again and again. */
export class LookUps {
  readonly #options: LookUpsOptions
  #isFailing = false
  #isStopped = false
  #next: NodeJS.Timeout | null = null

  constructor(options: LookUpsOptions) {
    this.#options = options
  }

  /** Resolves after the first look-up, whatever it finds. */
  async start(): Promise<void> {
    const { name, interval, lookUp, onFound } = this.#options
    try {
      const found = [...new Set(await lookUp(name))].sort()
      if (this.#isStopped) return
      if (found.length === 0) throw new Error('no address was found')
      this.#isFailing = false
      onFound(found)
    } catch (fault) {
      if (this.#isStopped) return
      this.#fail(fault as Error)
    }
    this.#next = setTimeout(() => void this.start(), interval).unref()
  }

  #fail(fault: Error): void {
    if (!this.#isFailing) this.#options.onFailed(fault)
    this.#isFailing = true
  }

  stop(): void {
    this.#isStopped = true
    if (this.#next !== null) clearTimeout(this.#next)
  }
}
