import cluster from 'node:cluster'
import { once } from 'node:events'
import { faultText } from '../base/fault-text.ts'
import { endLog } from '../base/log/log.ts'
import { Unavailable } from '../base/refusal.ts'
import { createGateway, type Gateway } from '../gateway/gateway.ts'
import { keepPem } from '../settings/pem.ts'
import type { Certificate } from '../settings/tls.ts'
import { announceServing } from './bundle.ts'
import { reportCrashes } from './crash-report.ts'
import { CUT_OFF, IDLE_GRACE, type Order, type OrderOf, type Report, storeLimit } from './orders.ts'
import { refuseOtherStore } from './same-store.ts'
import { WorkerSharing } from './worker-sharing.ts'

let gateway: Gateway | null = null
/** The last certificate that came by an order of its own: it may come while the gateway is made. */
let renewed: Certificate | null = null
let isClosing = false
const sharing = new WorkerSharing(report)

/** The process of one worker. It starts and stops on orders of the primary. If the primary is gone, node:cluster ends it. */
export function serveOnOrders(): void {
  reportCrashes()
  process.prependListener('uncaughtException', dieAtExit)
  // Ahead of the listener of node:cluster, which exits.
  process.prependListener('disconnect', () => {
    if (!isClosing) dieAtExit()
  })
  // Terminals and service managers signal the whole process group. Workers ignore this, because the primary stops them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('message', obey)
  // An earlier order would find no listener.
  void report({ kind: 'waiting' })
}

/**
 * Makes the exit that follows wait for no thread. A write of the embedded store may be waiting for the event loop, which has
 * stopped, and the exit for that write: the process would stay for ever, and with it the lock of the store.
 */
function dieAtExit(): void {
  // Ahead of the listener of the store's library, which waits for that write, too.
  process.prependListener('exit', () => {
    endLog()
    process.kill(process.pid, 'SIGKILL')
  })
}

function obey(order: Order): void {
  switch (order.kind) {
    case 'wait':
      void report({ kind: 'waiting' })
      break
    case 'serve':
      void prepare(order).catch(fail)
      break
    case 'listen':
      void listen().catch(fail)
      break
    case 'renew':
      renewed = order.certificate
      gateway?.renewCertificate(renewed)
      void report({ kind: 'renewed' })
      break
    case 'close':
      if (!isClosing) void close(order)
      break
    case 'count':
      void count()
      break
    case 'metrics':
      answerMetrics(order)
      break
    case 'changes':
      sharing.accept(order.changes)
      break
    case 'shared':
      sharing.confirm(order.number)
      break
  }
}

async function prepare(order: OrderOf<'serve'>): Promise<void> {
  const { settings, workers, certificate, needsStore, isSuccessor } = order
  sharing.accept(order.changes)
  refuseOtherStore(settings, order.storeFiles)
  keepPem(settings.pem)
  gateway = await createGateway(settings, { workers, certificate, gatherMetrics, isSuccessor, sharing })
  if (renewed !== null) gateway.renewCertificate(renewed)
  const limit = storeLimit(settings.store, needsStore)
  if (!(await gateway.reachStore(limit)) && needsStore)
    throw new Error(`their store did not answer within ${limit / 1000} seconds; see the log`)
  void report({ kind: 'ready' })
}

async function listen(): Promise<void> {
  void report({ kind: 'serving', urls: await gateway!.listen() })
  announceServing()
}

const fail = (fault: unknown): void => void report({ kind: 'failed', fault: faultText(fault) })

async function close({ handover, drain }: OrderOf<'close'>): Promise<void> {
  isClosing = true
  // What is still being opened cannot be closed.
  if (gateway === null) dieAtExit()
  // It follows what tells node:cluster to pass no more connections to this process.
  const onStopped = (): void => void report({ kind: 'stopped' })
  const inTime = (await gateway?.close({ grace: IDLE_GRACE, handover, drain, onStopped })) ?? true
  // The primary keeps counting this worker's metrics.
  await count().catch(() => undefined)
  await leave()
  process.exit(inTime ? 0 : CUT_OFF)
}

/**
 * Leaves the cluster. The primary confirms this after the connections that it has passed to this worker meanwhile.
 * Until then the worker refuses them, so that other workers get them. If the process simply ended, they would be lost.
 */
async function leave(): Promise<void> {
  if (!process.connected) return
  const left = once(process, 'disconnect')
  // A primary that was killed meanwhile accepts none of the messages of a departure, and confirms nothing.
  process.on('error', () => undefined)
  cluster.worker?.disconnect()
  await left.catch(() => undefined)
}

async function count(): Promise<void> {
  await report({ kind: 'counts', counts: (await gateway?.metrics()) ?? [] })
}

const questions = new Map<number, (text: string | null) => void>()
let asked = 0

/** Only the primary has the metrics of all workers. */
function gatherMetrics(): Promise<string> {
  const question = ++asked
  return new Promise((answered, failed) => {
    questions.set(question, text =>
      text === null ? failed(new Unavailable('a worker does not report its metrics')) : answered(text),
    )
    void report({ kind: 'question', question })
  })
}

function answerMetrics({ text, question }: OrderOf<'metrics'>): void {
  questions.get(question)?.(text)
  questions.delete(question)
}

/** Resolves when the message is sent. */
function report(said: Report): Promise<void> {
  return new Promise(sent => process.send!(said, () => sent()))
}
