import type { Clock } from '../base/clock.ts'
import { within } from '../base/deadline.ts'
import type { Logger } from '../base/log/log.ts'
import type { Settings } from '../settings/schema/settings.ts'
import type { Certificate } from '../settings/tls.ts'
import { CUT_OFF, endLimit, hanging, REQUESTS_CUT_OFF, startLimit, type Urls, WORKER_CRASHED } from './orders.ts'
import type { Ports } from './ports.ts'
import { storeFilesOf } from './same-store.ts'
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
  /** The files of the embedded store that the workers before have open; `null` for none. */
  storeFiles: string | null
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
  #storeFiles: string | null
  /** The URLs of the workers. Workers are restarted only if all workers of the generation had started. */
  #urls: Urls | null = null
  /** Workers were ordered to listen, so they may have clients. */
  #isListening = false
  /** No worker is started any more. */
  #isEnding = false

  constructor(options: GenerationOptions) {
    this.#options = options
    this.#certificate = options.certificate
    this.#storeFiles = options.storeFiles
  }

  /**
   * Starts all workers and resolves when every one answers. If one does not in time, it stops all of them and rejects; so it
   * does when the store of one does not answer, if they are to replace workers that serve. Of these, workers that may have clients
   * already are left to `close`.
   */
  async start(replaces: boolean): Promise<Urls> {
    const workers = Array.from({ length: this.#options.workers }, () => this.#fork(replaces))
    const [urls] = await this.#answers(workers, replaces)
    // The answers were on their way when a stop began, which lets the workers finish. They are not kept up.
    if (this.#isEnding) throw new Error('the gateway is stopping')
    this.#urls = urls!
    this.#storeFiles = storeFilesOf(this.#options.settings)
    for (const worker of workers) void this.#keepUp(worker, 0)
    return this.#urls
  }

  async #answers(workers: readonly WorkerProcess[], replaces: boolean): Promise<Urls[]> {
    const limit = startLimit(this.#options.settings.store, replaces)
    const answers = Promise.all(workers.map(worker => this.#accepted(worker)))
    void this.#listenTogether(workers)
    try {
      return await within(limit, answers, () => {
        throw new Error(`the workers did not answer within ${limit / 1000} seconds`)
      })
    } catch (fault) {
      if (!replaces || !this.#isListening) await this.kill()
      throw fault
    }
  }

  /** Until every worker can listen none does: no client gets answers of a configuration that one of them cannot serve. */
  async #listenTogether(workers: readonly WorkerProcess[]): Promise<void> {
    await Promise.all(workers.map(({ ready }) => ready))
    if (this.#isEnding) return
    this.#isListening = true
    for (const worker of workers) worker.tell({ kind: 'listen' })
  }

  /** The URLs of a worker when it listens at the gateway's ports. */
  async #accepted(worker: WorkerProcess): Promise<Urls> {
    const urls = await worker.answers
    this.#options.ports.accept(worker, urls)
    return urls
  }

  get certificate(): Certificate | null {
    return this.#certificate
  }

  get storeFiles(): string | null {
    return this.#storeFiles
  }

  /** How long its workers may take to end, in milliseconds; then they are killed. */
  get endLimit(): number {
    return endLimit(this.#options.settings.drain)
  }

  /** Resolves when no worker accepts connections with the certificate before. */
  async renew(certificate: Certificate): Promise<void> {
    this.#certificate = certificate
    await Promise.all(Array.from(this.#workers, worker => worker.renew(certificate)))
  }

  /** Lets the workers finish, as `Running.close` says, and then ends them. Returns why work was cut off; `null` if none was. */
  async close({ handover }: { handover: boolean }): Promise<string | null> {
    const { drain } = this.#options.settings
    this.#giveUpRestarts()
    let reason: string | null = null
    const timer = setTimeout(() => {
      reason = hanging(drain)
      void this.kill()
    }, this.endLimit)
    for (const worker of this.#workers) worker.tell({ kind: 'close', handover, drain })
    const ends = await this.#ended()
    clearTimeout(timer)
    if (reason !== null) return reason
    if (ends.some(({ code }) => code === CUT_OFF)) return REQUESTS_CUT_OFF
    return ends.some(({ crashedWhileClosing }) => crashedWhileClosing) ? WORKER_CRASHED : null
  }

  /** Resolves when none of its workers, which finish, accepts connections any more. */
  async stopped(): Promise<void> {
    await Promise.all(Array.from(this.#workers, ({ stopped }) => stopped))
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
    const { settings, workers, ports, metrics, changes, log } = this.#options
    const worker: WorkerProcess = new WorkerProcess(() => ({
      kind: 'serve',
      settings: ports.for(worker, settings),
      workers,
      certificate: this.#certificate,
      changes: changes.all(),
      needsStore,
      isSuccessor: needsStore || this.#urls !== null,
      storeFiles: this.#storeFiles,
    }))
    this.#workers.add(worker)
    metrics.follow(worker)
    changes.follow(worker)
    void worker.ended.then(end => {
      this.#workers.delete(worker)
      worker.endOrphans()
      if (!end.crashedWhileClosing) return
      metrics.crashed()
      log.error({ worker: worker.pid, end: nameOf(end) }, 'a worker crashed')
    })
    return worker
  }

  /**
   * Replaces this worker when it ends; `crashes` counts the previous workers that crashed soon after their start. Resolves
   * with whether it serves.
   */
  #keepUp(worker: WorkerProcess, crashes: number): Promise<boolean> {
    const { clock, log, metrics } = this.#options
    let since: number | null = null
    let failure: unknown
    const serves = this.#accepted(worker).then(
      () => {
        since = clock.elapsed()
        return true
      },
      err => {
        failure = err
        // A worker that cannot serve may still be running.
        worker.kill()
        return false
      },
    )
    void worker.ended.then(end => {
      if (this.#urls === null) return
      metrics.crashed()
      const steady = since !== null && clock.elapsed() - since >= STEADY
      const wait = steady ? 0 : BACK_OFF[Math.min(crashes, BACK_OFF.length - 1)]!
      log.error({ worker: worker.pid, end: nameOf(end), err: failure, again_in_ms: wait }, 'a worker crashed')
      this.#replaceAfter(wait, steady ? 0 : crashes + 1)
    })
    return serves
  }

  #replaceAfter(wait: number, crashes: number): void {
    const timer = setTimeout(async () => {
      this.#restarts.delete(timer)
      const next = this.#fork()
      void this.#listenTogether([next])
      if (await this.#keepUp(next, crashes)) this.#options.log.info({ worker: next.pid }, 'a new worker replaced it')
    }, wait)
    this.#restarts.add(timer)
  }
}
