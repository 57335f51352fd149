import t from 'tap'
import { createRecent } from '../../src/base/recent.ts'

t.test('what was used of late is kept, and of the rest no more than the limit', async t => {
  const recent = createRecent<number>(4)
  for (let i = 0; i < 100; i++) {
    recent.set(`${i}`, i)
    t.equal(recent.get('0'), 0, 'which is read every time')
  }
  t.equal(recent.get('99'), 99)
  const kept = Array.from({ length: 100 }, (_, i) => recent.get(`${i}`)).filter(value => value !== undefined)
  t.ok(kept.length <= 4)
})

t.test('with age, what was not used between two calls is dropped', async t => {
  const recent = createRecent<string>(100)
  recent.set('used', 'a')
  recent.set('unused', 'b')
  recent.age()
  t.equal(recent.get('used'), 'a')
  recent.age()
  t.equal(recent.get('used'), 'a')
  t.equal(recent.get('unused'), undefined)
})
