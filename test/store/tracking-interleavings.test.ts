import '../support/plain-promises.ts'

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { startRedis, withoutRedis } from '../support/redis-server.ts'
import { openDeleter } from './tracking-actors.ts'
import { openTracked, remember } from './tracking-fixture.ts'
import { interleave, type Outcome, type Session } from './tracking-interleavings.ts'

/** What the gateway promises: milliseconds after the end of a session was acknowledged to whoever ended it. */
const PROMISE = 5

// On a machine that others use too, it takes a multiple of what it takes alone.
t.setTimeout(400_000)

const COUNT = { one: 30_000, two: 70_000 }

const largest = (values: number[]): string =>
  values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY).toFixed(3)

await t.test('a session that another gateway or redis-cli ends', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())

  await t.test(`is never served late: ${COUNT.one} interleavings in one process`, async t => {
    const { store } = await openTracked(t, server)
    await remember(store)
    const deleter = await openDeleter(server.url)
    t.teardown(() => deleter.close())
    judge(t, await interleave({ serving: store, create: deleter.create, end: deleter.end }, COUNT.one), COUNT.one)
  })

  await t.test(`is never served late: ${COUNT.two} interleavings of two processes`, async t => {
    const { store } = await openTracked(t, server)
    await remember(store)
    const deleter = startDeleter(t, server.url)
    judge(t, await interleave({ serving: store, ...deleter }, COUNT.two), COUNT.two)
  })
})

function judge(t: Test, outcome: Outcome, count: number): void {
  const { interleavings, remembered, lateness, latenessOfLook, revived, stolen } = outcome
  const laterThan = (bound: number): number => lateness.filter(ms => ms > bound).length
  const bounds = [0, 0.05, 0.1, 0.5, 1, 2, PROMISE]
  t.comment(`${remembered} of ${interleavings} were served from memory before; after the acknowledged end`)
  t.comment(bounds.map(ms => `later than ${ms} ms: ${laterThan(ms)}`).join(', '))
  t.comment(`the latest ${largest(lateness)} ms, to the look before it ${largest(latenessOfLook)} ms`)
  t.comment(`the processor was taken away for up to ${stolen.toFixed(3)} ms`)
  t.equal(interleavings, count)
  t.ok(remembered > count / 4, 'most sessions were remembered when they ended')
  t.equal(revived, 0, 'Redis revived none')
  const late = latenessOfLook.filter(ms => ms > PROMISE)
  t.ok(late.length <= count / 1000, `${late.length} were served later than ${PROMISE} ms`)
  t.ok(
    late.every(ms => ms <= PROMISE + stolen),
    'and those when the machine gave no time to hear of it',
  )
}

/** The deleter in a process of its own: one line each way per session. */
function startDeleter(t: Test, url: string) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'tracking-deleter.js'), url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<number, (answer: any) => void>()
  createInterface({ input: child.stdout }).on('line', line => {
    const [id, answer] = JSON.parse(line)
    waiting.get(id)!(answer)
    waiting.delete(id)
  })
  let asked = 0
  const ask = <T>(...question: unknown[]): Promise<T> =>
    new Promise(resolve => {
      const id = asked++
      waiting.set(id, resolve)
      child.stdin.write(`${JSON.stringify([id, ...question])}\n`)
    })
  t.teardown(async () => {
    child.stdin.end()
    await new Promise(resolve => child.once('exit', resolve))
  })
  return {
    create: () => ask<Session>('create'),
    end: (session: Session, way: string) => ask<number>('end', session, way),
  }
}
