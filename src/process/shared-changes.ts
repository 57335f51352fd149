import type { Clock } from '../clock.ts'
import { type Acknowledged, AcknowledgedChanges } from '../store/acknowledged.ts'
import type { WorkerProcess } from './worker-process.ts'

/**
 * What any worker has acknowledged, as the primary keeps it: a worker that dies forgets nothing for the others, and every
 * new one, of a reload too, begins with it.
 */
export class SharedChanges {
  readonly #changes: AcknowledgedChanges
  readonly #workers = new Set<WorkerProcess>()

  constructor(clock: Clock) {
    this.#changes = new AcknowledgedChanges(clock)
  }

  all(): Acknowledged[] {
    return this.#changes.all()
  }

  /** Passes on what a worker shares to all others, and then tells it so. */
  follow(worker: WorkerProcess): void {
    this.#workers.add(worker)
    void worker.ended.then(() => this.#workers.delete(worker))
    worker.onShared(({ share, number }) => {
      this.#changes.add(share)
      for (const other of this.#workers) if (other !== worker) other.tell({ changes: share })
      worker.tell({ shared: number })
    })
  }
}
