import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { PATIENCE } from '../support/until.ts'
import { MINUTE } from './contract-fixture.ts'

t.test('a listener is notified that a login id was disabled, and that it was untied', async t => {
  const store = await openEmbeddedStore(t.testdir(), systemClock, PATIENCE)
  t.teardown(() => store.close())
  const notified: string[] = []
  store.changes.notify({
    session: () => undefined,
    disabled: (type, userId) => void notified.push(`${type} ${userId}`),
    credential: () => undefined,
    anything: () => void notified.push('anything'),
  })
  store.changes.poll()
  t.same(new Set(notified.splice(0)), new Set(['anything']), 'the first time anything may have changed')
  await store.sessions.disable('BUSINESS', 'a', systemClock.now() + MINUTE)
  store.changes.poll()
  t.same(notified.splice(0), ['BUSINESS a'])
  await store.sessions.untieDisable('BUSINESS', 'a')
  store.changes.poll()
  t.same(notified.splice(0), ['BUSINESS a'])
  await store.sessions.untieDisable('BUSINESS', 'a')
  store.changes.poll()
  t.same(notified, [], 'an untie that changed nothing is not announced')
})
