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
  const counter = () => `flows-begun:BUSINESS:${time.now / TEN_MINUTES}`
  const haveBegun = (count: number) => store.attempts.set(counter(), count, time.now + TEN_MINUTES)
  const begun = async () => (await store.attempts.read(counter()))?.count

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

t.test('a sign-in that the provider has proven leaves room for another, one that failed does not', async t => {
  const time = { now: Date.UTC(2025, 0, 31, 12) }
  const clock = clockOf(() => time.now)
  const store = await openEmbeddedStore(t.testdir(), clock, PATIENCE)
  t.teardown(() => store.close())
  const flows = createFlows('BUSINESS', store, clock)
  const address = '192.0.2.1'
  const begin = () => flows.begin('staff', '/', { cookie: null, address })
  const take = async ({ flow, cookie }: Awaited<ReturnType<typeof begin>>) => {
    const taken = await flows.take('staff', flow.state, cookie)
    if ('fault' in taken) throw new Error(taken.fault)
    return taken.flow
  }

  const [failed, late, ...others] = await Promise.all(Array.from({ length: 10 }, begin))
  const span = time.now / TEN_MINUTES
  await store.attempts.set(`flows-begun:BUSINESS:${span}`, 50_000, time.now + TEN_MINUTES)
  for (let i = 0; i < 5; i++) await begin()
  t.equal(await reasonOf(begin()), 'BUSY', 'the site has had its share')
  await take(failed!)
  for (const one of others.slice(0, 5)) await flows.proven(await take(one))
  t.equal(await reasonOf(begin()), 'BUSY', 'as many are open as make the limit')
  await flows.proven(await take(others[5]!))
  t.equal(await reasonOf(begin()), 'granted')
  t.equal(await reasonOf(begin()), 'BUSY')

  time.now += TEN_MINUTES - 1
  const taken = await take(late!)
  time.now++
  await store.attempts.set(`flows-begun:BUSINESS:${span + 1}`, 50_000, time.now + TEN_MINUTES)
  await flows.proven(taken)
  for (let i = 0; i < 5; i++) await reasonOf(begin())
  t.equal(await reasonOf(begin()), 'BUSY', 'one of an earlier span leaves no room in this one')
})
