import type { Clock } from '../base/clock.ts'
import { faultText } from '../base/fault-text.ts'
import { createLog, type Logger } from '../base/log/log.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { readCertificate } from '../settings/tls.ts'
import { workerCount } from '../settings/worker-count.ts'
import { type CertificateWatch, watchCertificate } from './certificate-watch.ts'
import { WORKER_UMASK } from './first-worker.ts'
import type { Urls } from './orders.ts'
import { Ports } from './ports.ts'
import { consequencesOf } from './reload-consequences.ts'
import { refuseFaultyAccounts, refuseMissingAccounts, refuseRemovedSocket } from './reload-limits.ts'
import { type Accept, type Loaded, ReloadError, type Reloaded, type Running } from './running-gateway.ts'
import { refuseOtherStore } from './same-store.ts'
import { SharedChanges } from './shared-changes.ts'
import { fixedKeysChanged, tryAddresses } from './try-addresses.ts'
import { Generation, type GenerationOptions } from './worker-generation.ts'
import { WorkerMetrics } from './worker-metrics.ts'

/** How long, in milliseconds, a reload waits for workers of the previous configuration before the log says so. */
const STOP_PATIENCE = 3000

export interface PrimaryOptions {
  settings: Settings
  /** Reads and checks the configuration again. What `accept` refuses changes nothing. */
  load: (accept: Accept) => Loaded
  clock: Clock
}

/** The primary process serves no requests. It starts the workers and replaces them after a crash or a reload. */
export class Primary implements Running {
  urls: Urls
  readonly #load: PrimaryOptions['load']
  readonly #clock: Clock
  #log: Logger
  readonly #ports: Ports
  readonly #metrics: WorkerMetrics
  readonly #changes: SharedChanges
  #settings: Settings
  #generation: Generation
  /** Generations that are starting, and those that finish their last requests. */
  readonly #others = new Set<Generation>()
  #watch: CertificateWatch | null = null
  #reloading: Promise<unknown> = Promise.resolve()
  #closing = false

  private constructor(options: PrimaryOptions, started: Started) {
    this.#settings = options.settings
    this.#load = options.load
    this.#clock = options.clock
    this.#ports = started.ports
    this.#metrics = started.metrics
    this.#changes = started.changes
    this.urls = started.urls
    this.#log = started.log
    this.#generation = started.generation
    this.#follow(options.settings)
  }

  /** Resolves when every worker answers. Throws the reason if one does not, and then leaves nothing running. */
  static async start(options: PrimaryOptions): Promise<Primary> {
    const { settings, clock } = options
    // This process creates the sockets that its workers listen on. They are accessible only to its own user.
    process.umask(WORKER_UMASK)
    await tryAddresses(settings)
    const ports = new Ports(settings)
    const log = createLog(settings.log.level)
    const metrics = new WorkerMetrics(clock)
    const changes = new SharedChanges(clock)
    const generation = generationOf({ settings, ports, metrics, changes, storeFiles: null, log, clock })
    const urls = await generation.start(false)
    return new Primary(options, { generation, ports, metrics, changes, urls, log })
  }

  /** Reloads run one after the other; each uses the files as they are when its turn comes. */
  reload(): Promise<Reloaded> {
    const turn = this.#reloading.then(() => this.#reload())
    this.#reloading = turn.then(
      () => this.#metrics.reloaded(true),
      () => this.#metrics.reloaded(false),
    )
    return turn
  }

  async #reload(): Promise<Reloaded> {
    this.#refuseWhenClosing()
    const { settings: next, file } = this.#load(read => {
      const fixed = fixedKeysChanged(this.#settings, read)
      if (fixed.length > 0)
        throw new ReloadError(`${fixed.join(', ')} cannot change while the gateway runs; restart it`)
      refuseOtherStore(read, this.#generation.storeFiles)
      refuseRemovedSocket(read)
      refuseMissingAccounts(this.#settings, read)
    })
    await refuseFaultyAccounts(next)
    // A stop meanwhile has closed only the workers that it found.
    this.#refuseWhenClosing()
    const log = createLog(next.log.level)
    const [ports, metrics, changes, clock] = [this.#ports, this.#metrics, this.#changes, this.#clock]
    const { storeFiles } = this.#generation
    const generation = generationOf({ settings: next, ports, metrics, changes, storeFiles, log, clock })
    const before = await this.#replaceBy(generation)
    const notes = consequencesOf(this.#settings, next)
    this.#settings = next
    this.#log = log
    this.#follow(next)
    await this.#stopped(before)
    const workers = workerCount(next)
    log.info({ workers, ...(notes.length > 0 && { notes }) }, 'the configuration was reloaded')
    return { file, workers, notes, level: next.log.level }
  }

  #refuseWhenClosing(): void {
    if (this.#closing) throw new ReloadError('the gateway is stopping')
  }

  /** Until the workers before accept no connections: they may answer new clients by the previous configuration. */
  async #stopped(before: Generation): Promise<void> {
    const late = setTimeout(() => {
      const text = 'a worker of the previous configuration still accepts connections; the reload ends when it does not'
      this.#log.warn({ killed_after_ms: before.endLimit }, text)
    }, STOP_PATIENCE)
    await before.stopped()
    clearTimeout(late)
  }

  /** Returns the generation before, whose workers finish. */
  async #replaceBy(generation: Generation): Promise<Generation> {
    this.#others.add(generation)
    try {
      // The scheme changes with `listen.tls`.
      this.urls = await generation.start(true)
    } catch (fault) {
      this.#retire(generation, 'refused')
      await generation.stopped()
      throw new ReloadError(`the new workers cannot start: ${faultText(fault)}`)
    }
    this.#others.delete(generation)
    const before = this.#generation
    this.#generation = generation
    this.#retire(before, 'previous')
    return before
  }

  /** Lets the workers of a generation finish; those of another one accept what they refuse. */
  #retire(generation: Generation, configuration: string): void {
    this.#others.add(generation)
    void generation.close({ handover: true }).then(reason => {
      this.#others.delete(generation)
      if (reason !== null) this.#log.warn({ reason }, `workers of the ${configuration} configuration were stopped`)
    })
  }

  #follow({ listen }: Settings): void {
    this.#watch?.close()
    const { certificate } = this.#generation
    if (listen.tls === undefined || certificate === null) this.#watch = null
    else this.#watch = watchCertificate(listen.tls, certificate, this.#log, renewed => this.#generation.renew(renewed))
  }

  async close(): Promise<string | null> {
    this.#closing = true
    this.#watch?.close()
    const generations = [this.#generation, ...this.#others]
    const reasons = await Promise.all(generations.map(generation => generation.close({ handover: false })))
    return reasons.find(reason => reason !== null) ?? null
  }

  kill(): void {
    for (const generation of [this.#generation, ...this.#others]) void generation.kill()
  }
}

interface Started {
  generation: Generation
  ports: Ports
  metrics: WorkerMetrics
  changes: SharedChanges
  urls: Urls
  log: Logger
}

function generationOf(
  options: Pick<GenerationOptions, 'settings' | 'ports' | 'metrics' | 'changes' | 'storeFiles' | 'log' | 'clock'>,
): Generation {
  const { listen } = options.settings
  return new Generation({
    ...options,
    certificate: listen.tls === undefined ? null : readCertificate(listen.tls),
    workers: workerCount(options.settings),
  })
}
