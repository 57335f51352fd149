import type { Clock } from '../base/clock.ts'
import { type Acknowledged, AcknowledgedChanges } from '../store/acknowledged-changes.ts'
import type { WorkerProcess } from './worker-process.ts'

/**
 * The changes that any worker has acknowledged, kept by the primary. If a worker dies, its changes are not lost. Every
 * new worker, also after a reload, starts with them.
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

  /** Passes the changes of a worker to all others, then confirms this to the worker. */
  follow(worker: WorkerProcess): void {
    this.#workers.add(worker)
    void worker.ended.then(() => this.#workers.delete(worker))
    worker.onShared(({ changes, number }) => {
      this.#changes.add(changes)
      for (const other of this.#workers) if (other !== worker) other.tell({ kind: 'changes', changes })
      worker.tell({ kind: 'shared', number })
    })
  }
}
