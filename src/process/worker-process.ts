import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import type { Snapshot } from '../metrics/exposition.ts'
import type { Certificate } from '../settings/tls.ts'
import { HandedConnections } from '../workarounds/cluster-handed-connections.ts'
import { workerInWaiting } from './first-worker.ts'
import { CUT_OFF, type Order, type OrderOf, type Report, type ReportOf, type Urls } from './orders.ts'

export interface End {
  code: number | null
  signal: NodeJS.Signals | null
  /** It did not end as a worker does that was ordered to close. Only of one that had answered; `false` if this process killed it. */
  crashedWhileClosing: boolean
}

/** A worker process, as seen by the primary. */
export class WorkerProcess {
  /** Resolves when it can listen. */
  readonly ready: Promise<void>
  /** Its URLs; rejects if it cannot start or ends before it answers. */
  readonly answers: Promise<Urls>
  readonly ended: Promise<End>
  /** Resolves when it accepts no connections any more. */
  readonly stopped: Promise<void>
  readonly #worker: Worker
  readonly #handed: HandedConnections
  /** Its reports, by their kind. */
  readonly #reports = new EventEmitter()
  /** A worker that has not answered yet has counted nothing, and may take its time to answer. */
  #hasAnswered = false
  #isClosing = false
  #isKilled = false
  /** Who waits for a report of its metrics. Not by `ended`, which would keep each of them for as long as the worker lives. */
  readonly #counting = new Set<() => void>()
  /** Who waits for a report of a renewal, in the order of the renewals. */
  readonly #renewing: (() => void)[] = []

  /** `order` is sent as soon as the worker waits for orders. */
  constructor(order: () => OrderOf<'serve'>) {
    this.#worker = workerInWaiting()
    this.#handed = new HandedConnections(this.#worker)
    this.#worker.on('message', (report: Report) => this.#reports.emit(report.kind, report))
    this.ended = new Promise(resolve => {
      this.#worker.process.once('exit', (code, signal) => {
        const crashedWhileClosing =
          this.#hasAnswered && this.#isClosing && !this.#isKilled && code !== 0 && code !== CUT_OFF
        resolve({ code, signal, crashedWhileClosing })
      })
    })
    this.stopped = new Promise(stopped => {
      this.#on('stopped', () => stopped())
      void this.ended.then(() => stopped())
    })
    this.ready = new Promise(ready => this.#on('ready', () => ready()))
    let isOrdered = false
    const orderOnce = (): void => {
      if (!isOrdered) this.tell(order())
      isOrdered = true
    }
    this.answers = new Promise((answers, failed) => {
      this.#on('waiting', orderOnce)
      this.#on('serving', ({ urls }) => {
        this.#hasAnswered = true
        answers(urls)
      })
      this.#on('failed', ({ fault }) => failed(new Error(fault)))
      void this.ended.then(end => failed(new Error(`a worker ended with ${nameOf(end)} before it answered`)))
    })
    this.#on('counts', this.#counted)
    void this.ended.then(this.#counted)
    this.#on('renewed', () => this.#renewing.shift()?.())
    void this.ended.then(() => {
      for (const done of this.#renewing.splice(0)) done()
    })
    // A failure is reported to code that awaits this promise; without one it is not an unhandled rejection.
    this.answers.catch(() => undefined)
    this.#worker.on('error', () => undefined)
    // The first worker may have reported before this process listened.
    this.tell({ kind: 'wait' })
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  /** Whether the primary keeps the sockets open that this worker listens on. */
  get holdsSockets(): boolean {
    return this.#worker.isConnected() && !this.#isClosing
  }

  tell(order: Order): void {
    if (order.kind === 'close') {
      this.#isClosing = true
      this.#handed.hasSuccessor &&= order.handover
    }
    if (this.#worker.isConnected()) this.#worker.send(order, () => undefined)
  }

  /** Receives each report of the worker's metrics. */
  onCounted(counted: (snapshot: Snapshot) => void): void {
    this.#on('counts', ({ counts }) => counted(counts))
  }

  /** Receives the worker's requests for the metrics of all workers. */
  onAsked(asked: (question: number) => void): void {
    this.#on('question', ({ question }) => asked(question))
  }

  /** Receives the changes that the worker shares with the others. */
  onShared(shared: (report: ReportOf<'share'>) => void): void {
    this.#on('share', shared)
  }

  /** Receives the reports of a kind. */
  #on<K extends Report['kind']>(kind: K, receive: (report: ReportOf<K>) => void): void {
    this.#reports.on(kind, receive)
  }

  /** Requests the worker's metrics; resolves when it has reported or ended, and rejects after `limit` milliseconds. */
  async count(limit: number): Promise<void> {
    if (!this.#hasAnswered) return
    const said = new Promise<void>((said, late) => {
      const timer = setTimeout(() => {
        this.#counting.delete(done)
        late(new Error('a worker does not report its metrics'))
      }, limit)
      const done = (): void => {
        clearTimeout(timer)
        said()
      }
      this.#counting.add(done)
    })
    this.tell({ kind: 'count' })
    return said
  }

  /** Resolves when the worker accepts no connection with the certificate before, or has ended. */
  renew(certificate: Certificate): Promise<void> {
    const renewed = new Promise<void>(done => this.#renewing.push(done))
    this.tell({ kind: 'renew', certificate })
    return renewed
  }

  readonly #counted = (): void => {
    for (const done of this.#counting) done()
    this.#counting.clear()
  }

  kill(): void {
    this.#isKilled = true
    this.#worker.process.kill('SIGKILL')
  }

  /** Ends the connections that were on their way to a worker when it crashed. */
  endOrphans(): void {
    this.#handed.end()
  }
}

/** Describes how a process ended. */
export const nameOf = ({ code, signal }: End): string =>
  signal ?? (code === null ? 'no process to begin with' : `exit code ${code}`)
