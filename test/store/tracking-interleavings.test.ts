import t, { type Test } from 'tap'
import { startRedis, withoutRedis } from '../support/redis-server.ts'
import { openDeleter, startDeleter } from './tracking-actors.ts'
import { openTracked, remember } from './tracking-fixture.ts'
import { interleave, type Outcome, PROMISE } from './tracking-interleavings.ts'

/** `npm run chaos -- --setup interleavings` goes through a hundred thousand. */
const COUNT = { one: 5000, two: 10_000 }

const largest = (values: number[]): string =>
  values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY).toFixed(3)

await t.test('a session that another gateway or redis-cli ends', { skip: withoutRedis }, async t => {
  const server = await startRedis()
  t.teardown(() => server.stop())

  await t.test(`is never served late: ${COUNT.one} interleavings in one process`, async t => {
    const { store } = await openTracked(t, server)
    await remember(store)
    const deleter = await openDeleter({ url: server.url })
    t.teardown(() => deleter.close())
    judge(t, await interleave({ serving: store, create: deleter.create, end: deleter.end }, COUNT.one), COUNT.one)
  })

  await t.test(`is never served late: ${COUNT.two} interleavings of two processes`, async t => {
    const { store } = await openTracked(t, server)
    await remember(store)
    const deleter = startDeleter(server.url)
    t.teardown(() => deleter.close())
    judge(t, await interleave({ serving: store, create: deleter.create, end: deleter.end }, COUNT.two), COUNT.two)
  })
})

function judge(t: Test, outcome: Outcome, count: number): void {
  const { interleavings, remembered, lateness, latenessOfLook, looks, revived, stolen } = outcome
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
  const moments = new Set(looks.filter((_, i) => latenessOfLook[i]! > PROMISE)).size
  t.ok(moments <= count / 1000, `${late.length} were served later than ${PROMISE} ms, at ${moments} moments`)
  t.ok(
    late.every(ms => ms <= PROMISE + stolen),
    'and those when the machine gave no time to process it',
  )
}
