import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { MINUTE } from './contract-fixture.ts'

t.test('whoever follows changes receives that a login id was disabled, and that it was untied', async t => {
  const store = await openEmbeddedStore(t.testdir(), systemClock, 30_000)
  t.teardown(() => store.close())
  const received: string[] = []
  store.changes.tell({
    session: () => undefined,
    bar: (type, userId) => void received.push(`${type} ${userId}`),
    anything: () => void received.push('anything'),
  })
  store.changes.look()
  t.same(received.splice(0), ['anything'], 'the first time anything may have changed')
  await store.sessions.disable('BUSINESS', 'a', systemClock.now() + MINUTE)
  store.changes.look()
  t.same(received.splice(0), ['BUSINESS a'])
  await store.sessions.untieDisable('BUSINESS', 'a')
  store.changes.look()
  t.same(received.splice(0), ['BUSINESS a'])
  await store.sessions.untieDisable('BUSINESS', 'a')
  store.changes.look()
  t.same(received, [], 'an untie that changed nothing is no change')
})
