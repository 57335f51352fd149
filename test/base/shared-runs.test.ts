import t from 'tap'
import { createSharedRuns } from '../../src/base/shared-runs.ts'

/* Each run ends when the test says so. */
function openRuns() {
  const begun: { cause: string; end(fault?: Error): void }[] = []
  const ask = createSharedRuns<string>(
    (key, cause) =>
      new Promise<void>((resolve, reject) => {
        begun.push({ cause: `${key} ${cause}`, end: fault => (fault === undefined ? resolve() : reject(fault)) })
      }),
  )
  return { ask, begun, causes: () => begun.map(({ cause }) => cause) }
}

t.test('calls during a run share the next one, which begins after it', async t => {
  const { ask, begun, causes } = openRuns()
  const ended: string[] = []
  const asked = ['a', 'b', 'c'].map(cause => ask('u', cause).then(() => ended.push(cause)))
  t.same(causes(), ['u a'])
  begun[0]!.end()
  await asked[0]
  t.same(ended, ['a'], 'the others wait for a run that has seen what they did')
  t.same(causes(), ['u a', 'u b'])
  const last = ask('u', 'd')
  begun[1]!.end()
  await Promise.all(asked)
  t.same(ended, ['a', 'b', 'c'])
  t.same(causes(), ['u a', 'u b', 'u d'])
  begun[2]!.end()
  await last
  const again = ask('u', 'e')
  t.same(causes().at(-1), 'u e', 'at once where none runs')
  begun[3]!.end()
  await again
})

t.test('runs of different keys do not wait for each other', async t => {
  const { ask, begun, causes } = openRuns()
  const asked = [ask('u', 'a'), ask('v', 'b')]
  t.same(causes(), ['u a', 'v b'])
  for (const { end } of begun) end()
  await Promise.all(asked)
})

t.test('a run that fails has failed for its own calls alone', async t => {
  const { ask, begun } = openRuns()
  const [first, second] = [ask('u', 'a'), ask('u', 'b')]
  begun[0]!.end(new Error('the fault of this test'))
  await t.rejects(first, { message: 'the fault of this test' })
  begun[1]!.end()
  await t.resolves(second)
})
