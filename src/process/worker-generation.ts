import type { Clock } from '../base/clock.ts'
import { within } from '../base/deadline.ts'
import type { Logger } from '../base/log/log.ts'
import type { Settings } from '../settings/schema/settings.ts'
import type { Certificate } from '../settings/tls.ts'
import { CUT_OFF, endLimit, hanging, REQUESTS_CUT_OFF, startLimit, type Urls } from './orders.ts'
import type { Ports } from './ports.ts'
import type { SharedChanges } from './shared-changes.ts'
import type { WorkerMetrics } from './worker-metrics.ts'
import { type End, nameOf, WorkerProcess } from './worker-process.ts'

/** Pauses before a worker that keeps crashing is started again, in milliseconds; the last is repeated. */
const BACK_OFF = [100, 500, 1000, 2000, 5000, 10_000, 30_000]

/** A worker that served for this long, in milliseconds, is started again at once: it did not crash at its start. */
const STEADY = 2000

export interface GenerationOptions {
  settings: Settings
  certificate: Certificate | null
  workers: number
  ports: Ports
  metrics: WorkerMetrics
  changes: SharedChanges
  log: Logger
  clock: Clock
}

/**
 * The workers of one configuration. Crashed workers are started again with the configuration that was checked, even if
 * the files have changed meanwhile.
 */
export class Generation {
  readonly #options: GenerationOptions
  readonly #workers = new Set<WorkerProcess>()
  readonly #restarts = new Set<NodeJS.Timeout>()
  #certificate: Certificate | null
  /** The URLs of the workers. Workers are restarted only if all workers of the generation had started. */
  #urls: Urls | null = null
  /** No worker is started any more. */
  #isEnding = false

  constructor(options: GenerationOptions) {
    this.#options = options
    this.#certificate = options.certificate
  }

  /**
   * Starts all workers and resolves when every one answers. If one does not in time, it stops all of them and rejects; so it
   * does when the store of one does not answer, if they are to replace workers that serve.
   */
  async start(replaces: boolean): Promise<Urls> {
    const workers = Array.from({ length: this.#options.workers }, () => this.#fork(replaces))
    const [urls] = await this.#answers(workers, startLimit(this.#options.settings.store, replaces))
    // The answers were on their way when a stop began, which lets the workers finish. They are not kept up.
    if (this.#isEnding) throw new Error('the gateway is stopping')
    this.#urls = urls!
    for (const worker of workers) this.#keepUp(worker, 0)
    return this.#urls
  }

  async #answers(workers: readonly WorkerProcess[], limit: number): Promise<Urls[]> {
    const answers = Promise.all(workers.map(({ answers }) => answers))
    try {
      return await within(limit, answers, () => {
        throw new Error(`the workers did not answer within ${limit / 1000} seconds`)
      })
    } catch (fault) {
      await this.kill()
      throw fault
    }
  }

  get certificate(): Certificate | null {
    return this.#certificate
  }

  renew(certificate: Certificate): void {
    this.#certificate = certificate
    for (const worker of this.#workers) worker.tell({ kind: 'renew', certificate })
  }

  /** Lets the workers finish, as `Running.close` says, and then ends them. Returns why work was cut off; `null` if none was. */
  async close({ handover }: { handover: boolean }): Promise<string | null> {
    const { drain } = this.#options.settings
    this.#giveUpRestarts()
    let reason: string | null = null
    const timer = setTimeout(() => {
      reason = hanging(drain)
      void this.kill()
    }, endLimit(drain))
    for (const worker of this.#workers) worker.tell({ kind: 'close', handover, drain })
    const ends = await this.#ended()
    clearTimeout(timer)
    return reason ?? (ends.some(({ code }) => code === CUT_OFF) ? REQUESTS_CUT_OFF : null)
  }

  /** Ends every worker at once. */
  async kill(): Promise<void> {
    this.#giveUpRestarts()
    for (const worker of this.#workers) worker.kill()
    await this.#ended()
  }

  #giveUpRestarts(): void {
    this.#isEnding = true
    this.#urls = null
    for (const timer of this.#restarts) clearTimeout(timer)
  }

  #ended(): Promise<End[]> {
    return Promise.all([...this.#workers].map(({ ended }) => ended))
  }

  /** A worker that takes the place of a crashed one serves without a store, too. */
  #fork(needsStore = false): WorkerProcess {
    const { settings, workers, ports, metrics, changes } = this.#options
    const withPorts = ports.for(settings)
    const worker = new WorkerProcess(() => ({
      kind: 'serve',
      settings: withPorts,
      workers,
      certificate: this.#certificate,
      changes: changes.all(),
      needsStore,
    }))
    this.#workers.add(worker)
    metrics.follow(worker)
    changes.follow(worker)
    void worker.ended.then(() => this.#workers.delete(worker))
    return worker
  }

  /** Replaces this worker when it ends; `crashes` counts the previous workers that crashed soon after their start. */
  #keepUp(worker: WorkerProcess, crashes: number): void {
    const { clock, log, metrics } = this.#options
    let since: number | null = null
    let failure: unknown
    const answers = worker.answers.then(({ public: url }) => {
      if (this.#urls !== null && url !== this.#urls.public)
        throw new Error(`a worker listens at ${url} instead of the gateway’s address`)
    })
    void answers.then(
      () => {
        since = clock.elapsed()
      },
      err => {
        failure = err
        // A worker that cannot serve may still be running.
        worker.kill()
      },
    )
    void worker.ended.then(end => {
      worker.endOrphans()
      if (this.#urls === null) return
      metrics.crashed()
      const steady = since !== null && clock.elapsed() - since >= STEADY
      const wait = steady ? 0 : BACK_OFF[Math.min(crashes, BACK_OFF.length - 1)]!
      log.error({ worker: worker.pid, end: nameOf(end), err: failure, again_in_ms: wait }, 'a worker crashed')
      const timer = setTimeout(() => {
        this.#restarts.delete(timer)
        const next = this.#fork()
        next.answers.then(
          () => log.info({ worker: next.pid }, 'a new worker replaced it'),
          () => undefined,
        )
        this.#keepUp(next, steady ? 0 : crashes + 1)
      }, wait)
      this.#restarts.add(timer)
    })
  }
}
