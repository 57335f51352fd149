import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { createTestClock } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'

t.test(
  'what is remembered of a disable is forgotten within a tenth of a second, and at once where it changes',
  async t => {
    const clock = createTestClock(1_000_000)
    const folder = t.testdir()
    const [one, other] = await Promise.all([1, 2].map(() => openEmbeddedStore(folder, clock, PATIENCE)))
    t.teardown(() => Promise.all([one!.close(), other!.close()]))
    const known = () => [one!, other!].map(({ sessions }) => sessions.rememberedDisable('BUSINESS', '1'))
    t.same(known(), [null, null])
    const end = clock.time + 60_000
    await one!.sessions.disable('BUSINESS', '1', end)
    t.equal(other!.sessions.disabledUntil('BUSINESS', '1'), end, 'in the file')
    t.same(known(), [end, null])
    clock.time += 99
    t.same(known(), [end, null])
    clock.time += 1
    t.same(known(), [end, end])
    await other!.sessions.untieDisable('BUSINESS', '1')
    t.same(known(), [end, null])
    clock.time += 100
    t.same(known(), [null, null])
    await one!.sessions.disable('BUSINESS', '1', clock.time + 50)
    t.equal(known()[0], clock.time + 50)
    clock.time += 50
    t.equal(known()[0], null, 'and never longer than the disable itself')
    t.equal(one!.sessions.rememberedDisable('CONSUMER', '1'), null)
    clock.setBack = 3_600_000
    const later = clock.now() + 60_000
    await other!.sessions.disable('BUSINESS', '1', later)
    clock.time += 100
    t.same(known(), [later, later], 'and for no longer where the clock is set back')
  },
)
