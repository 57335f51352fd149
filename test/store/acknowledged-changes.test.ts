import t from 'tap'
import {
  type Acknowledged,
  AcknowledgedChanges,
  type Disabled,
  MAX_DISABLED,
  MAX_RECENT,
  MEMORY,
} from '../../src/store/acknowledged-changes.ts'
import { createTestClock } from '../support/clock.ts'

const ended = (key: string): Acknowledged => ({ kind: 'ended', key, server: 's' })
const disabled = (version: number, until: number, replaced: number[] = []): Disabled => ({
  kind: 'disabled',
  key: 'd',
  server: 's',
  until,
  version,
  replaced,
})

function memory() {
  const clock = createTestClock(1_000_000)
  return { clock, changes: new AcknowledgedChanges(clock) }
}

t.test('an ended token is remembered as long as an elected replica may lag', async t => {
  const { clock, changes } = memory()
  t.same(changes.add([ended('a')]), [ended('a')])
  t.same(changes.add([ended('a')]), [], 'it is not new the second time')
  clock.time += MEMORY - 1
  t.same(changes.all(), [ended('a')])
  t.equal(changes.isEnded('a'), true)
  clock.time += 1
  t.same(changes.all(), [])
  t.equal(changes.isEnded('a'), false)
})

t.test('a disable is remembered until it ends', async t => {
  const { clock, changes } = memory()
  changes.add([disabled(1, clock.time + 10 * MEMORY)])
  clock.time += 10 * MEMORY - 1
  t.equal(changes.all().length, 1)
  clock.time += 1
  t.same(changes.all(), [])
})

t.test('of two changes of a login id the later counts, in whichever order they arrive', async t => {
  const until = 9_000_000
  for (const order of [
    [disabled(1, until), disabled(2, 0, [until]), disabled(3, until + 5)],
    [disabled(3, until + 5), disabled(1, until), disabled(2, 0, [until])],
  ]) {
    const { changes } = memory()
    changes.add(order)
    t.match(changes.disabled('d'), { version: 3, until: until + 5 })
    t.equal(changes.all().length, 1)
  }
})

t.test('an untie remembers every end that it replaced', async t => {
  const { changes } = memory()
  changes.add([disabled(1, 5_000_000), disabled(2, 6_000_000, [5_000_000]), disabled(3, 0, [6_000_000])])
  t.same(changes.disabled('d')?.replaced, [5_000_000, 6_000_000])
})

t.test('the memory is bounded, and the oldest is forgotten first', async t => {
  const { clock, changes } = memory()
  for (let i = 0; i < MAX_RECENT + 10; i++) changes.add([ended(`t${i}`)])
  t.equal(changes.isEnded('t9'), false)
  t.equal(changes.isEnded('t10'), true)
  for (let i = 0; i < MAX_DISABLED + 10; i++) {
    changes.add([{ ...disabled(1, clock.time + MEMORY), key: `d${i}` }])
  }
  t.equal(changes.disabled('d9'), undefined)
  t.equal(changes.all().length, MAX_RECENT + MAX_DISABLED)
})

t.test('a kickout that was counted further is the one to be repeated', async t => {
  const { changes } = memory()
  const kicked = (count: number): Acknowledged => ({ kind: 'kicked', key: 'k', server: 's', count })
  changes.add([kicked(2), kicked(1)])
  t.same(changes.all(), [kicked(2)])
})
