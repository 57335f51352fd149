import type { Cluster } from 'ioredis'
import type { CheckedServer, Gate } from '../commands/send-command.ts'

/**
 * Follows which masters a Cluster has. Where one changes, or its connection is lost, what was acknowledged is repeated as
 * soon as all of them answer; the slots of the others are served meanwhile.
 */
export class ClusterMasters implements Gate {
  /** Its nodes are checked one by one: the Cluster as a whole is always the same. */
  readonly server: CheckedServer = { id: 'cluster' }
  readonly answering = this.server
  readonly #cluster: Cluster
  readonly #unsettle: () => void
  readonly #repeat: () => Promise<void>
  /** The masters that have everything; `null` when one of them may be another server by now. */
  #settled: string | null = null
  #repeating = false
  /** Another object after each doubt. */
  #doubted: object = {}

  constructor(cluster: Cluster, unsettle: () => void, repeat: () => Promise<void>) {
    this.#cluster = cluster
    this.#unsettle = unsettle
    this.#repeat = repeat
    cluster.on('-node', () => this.#doubt())
    cluster.on('refresh', () => void this.#check())
    cluster.on('ready', () => void this.#check())
    unsettle()
    if (cluster.status === 'ready') void this.#check()
  }

  whenOpen(then: (isOpen: boolean) => void): void {
    then(true)
  }

  #doubt(): void {
    this.#doubted = {}
    this.#settled = null
    this.#unsettle()
  }

  /** Refreshes come every second: what fails is tried again with the next. */
  async #check(): Promise<void> {
    const masters = this.#masters()
    if (masters === this.#settled) return
    this.#doubt()
    if (this.#repeating) return
    this.#repeating = true
    const doubted = this.#doubted
    try {
      await this.#repeat()
      if (this.#doubted === doubted) this.#settled = masters
      else this.#unsettle()
    } catch {
      this.#unsettle()
    } finally {
      this.#repeating = false
    }
  }

  #masters(): string {
    const addresses = this.#cluster.nodes('master').map(({ options }) => `${options.host}:${options.port}`)
    return addresses.sort().join()
  }
}
