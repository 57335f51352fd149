import t from 'tap'
import { createFlows } from '../../src/login/providers/flows.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { clockOf } from '../support/clock.ts'
import { reasonOf } from '../support/login-fixture.ts'
import { PATIENCE } from '../support/until.ts'

const TEN_MINUTES = 600_000

t.test('a flood of sign-ins by a provider has a limit, and leaves each site some', async t => {
  const time = { now: Date.UTC(2025, 0, 31, 12) }
  const clock = clockOf(() => time.now)
  const store = await openEmbeddedStore(t.testdir(), clock, PATIENCE)
  t.teardown(() => store.close())
  const flows = createFlows('BUSINESS', store, clock)
  const begin = (address: string) => reasonOf(flows.begin('staff', '/', { cookie: null, address }))
  const haveBegun = (count: number) => store.attempts.set('flows:BUSINESS', count, time.now + TEN_MINUTES)
  const begun = async () => (await store.attempts.read('flows:BUSINESS'))?.count

  t.equal(await begin('192.0.2.1'), 'granted')
  t.equal(await begun(), 1)
  await haveBegun(50_000)
  for (let i = 0; i < 5; i++) t.equal(await begin(`192.0.2.${i}`), 'granted', 'enough to sign in')
  t.equal(await begin('192.0.2.9'), 'BUSY', 'the site has had its share')
  t.equal(await begun(), 50_005, 'what is refused does not count: it would keep out all others')
  t.equal(await begin('198.51.100.1'), 'granted', 'another site has a share of its own')
  await haveBegun(100_000)
  t.equal(await begin('203.0.113.1'), 'BUSY', 'the store keeps no more')
  time.now += TEN_MINUTES
  t.equal(await begin('203.0.113.1'), 'granted', 'they have ended')
})
