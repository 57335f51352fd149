import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { createTestClock } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'

const LIFETIME = 30_000

t.test('an attempt that does not end is not under way for as much longer as the clock is set back', async t => {
  const clock = createTestClock(Date.UTC(2025, 0, 31, 12))
  const store = await openEmbeddedStore(t.testdir(), clock, PATIENCE)
  t.teardown(() => store.close())
  const { attempts } = store
  t.equal(await attempts.begin('a', 'first', LIFETIME, 1), 1)
  clock.setBack = 1000
  t.equal(await attempts.begin('a', 'second', LIFETIME, 1), null, 'a small step lets no other one in')
  clock.setBack = 3_600_000
  clock.time += LIFETIME
  t.equal(await attempts.begin('a', 'second', LIFETIME, 1), 1)
  t.equal(await attempts.begin('a', 'third', LIFETIME, 1), null, 'what began after that counts as ever')
  await attempts.end('a', 'second')
  t.equal(await attempts.begin('a', 'third', LIFETIME, 1), 1)
})
