import t from 'tap'
import { createLine, type Line, type Place } from '../../src/login/helpers/waiting-line.ts'
import { refusalOf } from '../support/login-fixture.ts'

type Kind = 'decrypt' | 'compare'
const DECRYPT: Place<Kind> = { kind: 'decrypt', leadsTo: 'compare' }
const COMPARE: Place<Kind> = { kind: 'compare', continues: true }

/** A line whose tasks take as long as a test says. */
function lineOf(atOnce = 1, maxWait = 1000) {
  let time = 0
  const line: Line<Kind> = createLine({
    atOnce,
    maxWait,
    durations: { decrypt: 100, compare: 400 },
    now: () => time,
  })
  const order: string[] = []
  const ends: (() => void)[] = []
  const add = (place: Place<Kind>, name = ''): Promise<void> =>
    line(place, () => {
      order.push(name)
      return new Promise(resolve => ends.push(resolve))
    })
  return {
    line,
    add,
    order,
    /** Ends the task that runs longest, after so many milliseconds. */
    async end(after: number) {
      await new Promise(setImmediate)
      time += after
      ends.shift()!()
      await new Promise(setImmediate)
    },
  }
}

t.test('a task that would wait too long is refused at once, with the time to wait', async t => {
  const { add } = lineOf()
  // Each of them takes 500 ms, with the comparison that follows.
  for (let i = 0; i < 3; i++) void add(DECRYPT)
  t.match(await refusalOf(add(DECRYPT)), { reason: 'BUSY', retryAfter: 2 })
})

t.test('more tasks may wait where more are done at a time', async t => {
  const { add } = lineOf(2)
  for (let i = 0; i < 5; i++) void add(DECRYPT)
  t.match(await refusalOf(add(DECRYPT)), { reason: 'BUSY' })
})

t.test('the measured durations decide how many may wait', async t => {
  const { add, end } = lineOf()
  void add(COMPARE)
  await end(4400)
  // The average of a comparison is now 900 ms, and a login takes 1000.
  void add(DECRYPT)
  void add(DECRYPT)
  t.match(await refusalOf(add(DECRYPT)), { reason: 'BUSY', retryAfter: 2 })
  await end(100)
  await end(100)
  for (let i = 0; i < 20; i++) {
    void add(COMPARE)
    await end(50)
  }
  // Now it is 109 ms again: five logins take a second.
  for (let i = 0; i < 5; i++) void add(DECRYPT)
  t.match(await refusalOf(add(DECRYPT)), { reason: 'BUSY', retryAfter: 2 })
})

t.test('an admitted login is never refused its second task, which goes before new logins', async t => {
  const { add, order, end } = lineOf()
  void add(DECRYPT, 'first')
  void add(DECRYPT, 'second')
  void add(DECRYPT, 'third')
  for (let i = 0; i < 10; i++) void add(COMPARE, `comparison ${i}`)
  for (let i = 0; i < 13; i++) await end(1)
  t.same(order, ['first', ...Array.from({ length: 10 }, (_, i) => `comparison ${i}`), 'second', 'third'])
})

t.test('a failed task passes its turn on, and a newcomer does not take it', async t => {
  const { line } = lineOf()
  const order: string[] = []
  const first = line(COMPARE, async () => {
    order.push('first')
    throw new Error('first')
  })
  const second = line(COMPARE, async () => void order.push('second'))
  await t.rejects(first, { message: 'first' })
  await Promise.all([second, line(COMPARE, async () => void order.push('third'))])
  t.same(order, ['first', 'second', 'third'])
})

t.test('what was refused leaves no trace in the line', async t => {
  const { add, end } = lineOf()
  for (let i = 0; i < 3; i++) void add(DECRYPT)
  for (let i = 0; i < 10; i++) await refusalOf(add(DECRYPT))
  for (let i = 0; i < 3; i++) await end(100)
  const granted = add(DECRYPT)
  await end(100)
  await t.resolves(granted)
})
