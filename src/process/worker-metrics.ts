import type { Clock } from '../base/clock.ts'
import { remainsOf, type Snapshot, textOf } from '../metrics/exposition.ts'
import { createSupervisorMetrics, type SupervisorMetrics } from './supervisor-metrics.ts'
import type { WorkerProcess } from './worker-process.ts'

/** How long a worker may take to report its metrics, in milliseconds. */
const LIMIT = 2000

/**
 * The metrics of all workers, collected by the primary. The last report of a worker that has ended still counts:
 * Prometheus reads a falling sum as a restart from zero.
 */
export class WorkerMetrics {
  readonly #own: SupervisorMetrics
  readonly #said = new Map<WorkerProcess, Snapshot>()
  #remains: Promise<Snapshot> = Promise.resolve([])

  constructor(clock: Clock) {
    this.#own = createSupervisorMetrics(clock)
  }

  /** Includes a worker, from its start to its end. */
  follow(worker: WorkerProcess): void {
    this.#said.set(worker, [])
    worker.onCounted(snapshot => this.#said.set(worker, snapshot))
    worker.onAsked(question => void this.#answer(worker, question))
    void worker.ended.then(() => this.#fold(worker))
  }

  crashed(): void {
    this.#own.crashed()
  }

  /** A reload applied the configuration, or it did not. */
  reloaded(isApplied: boolean): void {
    this.#own.reloaded(isApplied)
  }

  #fold(worker: WorkerProcess): void {
    const last = this.#said.get(worker) ?? []
    this.#said.delete(worker)
    this.#remains = this.#remains.then(remains => remainsOf([remains, last]))
  }

  async #answer(worker: WorkerProcess, question: number): Promise<void> {
    const text = await this.#gather().catch(() => null)
    worker.tell({ kind: 'metrics', text, question })
  }

  /** One text for all. Rejects when a worker does not answer: a sum without it would be wrong. */
  async #gather(): Promise<string> {
    await Promise.all(Array.from(this.#said.keys(), worker => worker.count(LIMIT)))
    const own = await this.#own.snapshot(this.#said.size)
    return textOf([own, await this.#remains, ...this.#said.values()])
  }
}
