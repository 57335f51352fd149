import cluster, { type Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import type { Order } from '../../src/process/orders.ts'
import { WorkerProcess } from '../../src/process/worker-process.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/* What the primary knows of a worker. */

/** A worker that reports its metrics at once, unless it is silent. */
function openWorker(t: Test) {
  const { workers } = cluster
  t.teardown(() => Object.assign(cluster, { workers }))
  const child = Object.assign(new EventEmitter(), { send: () => true })
  const worker = Object.assign(new EventEmitter(), {
    process: child,
    isSilent: false,
    isConnected: () => true,
    isDead: () => false,
    send({ kind }: Order) {
      if (kind === 'count' && !worker.isSilent)
        setImmediate(() => worker.emit('message', { kind: 'counts', counts: [] }))
    },
  })
  Object.assign(cluster, { workers: { 1: worker as unknown as Worker } })
  const order = { kind: 'wait' } as never
  const watched = new WorkerProcess(() => order)
  const serve = (): void => void worker.emit('message', { kind: 'serving', urls: {} })
  return { worker, child, watched, serve }
}

t.test('the metrics of a worker are requested again and again, and nothing of that is kept', async t => {
  const { watched, serve } = openWorker(t)
  serve()
  const ask = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) await watched.count(60_000)
  }
  await ask(500)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const TIMES = 10_000
  await ask(TIMES)
  collectGarbage()
  t.ok(process.memoryUsage().heapUsed - before < 100 * TIMES, 'less than 100 bytes of each time')
})

t.test(
  'a question for metrics skips a worker that does not serve yet, and ends with the worker, or after its limit',
  async t => {
    const { watched, worker, child, serve } = openWorker(t)
    worker.isSilent = true
    await watched.count(1)
    serve()
    await t.rejects(watched.count(1), { message: 'a worker does not report its metrics' })
    const asked = watched.count(60_000)
    child.emit('exit', 0, null)
    await asked
  },
)
