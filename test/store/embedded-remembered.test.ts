import t, { type Test } from 'tap'
import type { LoginType } from '../../src/session/sides.ts'
import { type EmbeddedStore, openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { clockOf } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'
import { MINUTE, record } from './contract-fixture.ts'

/** More changes than the file keeps for a process that asks nothing meanwhile. */
const VERY_MANY = 1100

/** Two stores on one file, each with a memory of its own, as two processes have it. */
async function openTwo(t: Test, maxEntries?: number) {
  let now = Date.UTC(2025, 0, 31, 12)
  const clock = clockOf(() => now)
  const folder = t.testdir()
  const open = () => openEmbeddedStore(folder, clock, PATIENCE, {}, maxEntries)
  const [here, there] = [await open(), await open()]
  t.teardown(() => Promise.all([here.close(), there.close()]))
  const forward = (ms: number): void => {
    now += ms
  }
  const admit = (store: EmbeddedStore, token: string, userId = '1', lifetime = MINUTE) =>
    store.sessions.add('CONSUMER', token, record('CONSUMER', userId), now + lifetime)
  return { here, there, clock, forward, admit }
}

const isLive = (store: EmbeddedStore, token: string, type: LoginType = 'CONSUMER'): boolean =>
  store.sessions.find(type, token) !== null

const ENDS: Record<string, (store: EmbeddedStore) => Promise<unknown>> = {
  'an ended token': store => store.sessions.remove('CONSUMER', '1', 'a'),
  'a kickout': store => store.sessions.removeAll('CONSUMER', '1'),
  'an end of some tokens': store => store.sessions.removeSome('CONSUMER', '1', ['a']),
}

for (const [name, end] of Object.entries(ENDS)) {
  t.test(`a session that was remembered is refused as soon as another process acknowledges ${name}`, async t => {
    const { here, there, admit } = await openTwo(t)
    await admit(here, 'a')
    await admit(here, 'b', '2')
    for (let i = 0; i < 3; i++) t.ok(isLive(here, 'a') && isLive(here, 'b'))
    await end(there)
    t.notOk(isLive(here, 'a'))
    t.ok(isLive(here, 'b'), 'other users stay')
  })
}

t.test('a session whose end another process moved ends then', async t => {
  const { here, there, clock, forward, admit } = await openTwo(t)
  await admit(here, 'longer')
  await admit(here, 'shorter')
  t.ok(isLive(here, 'longer') && isLive(here, 'shorter'))
  await there.sessions.renew('CONSUMER', '1', 'longer', clock.now() + 3 * MINUTE)
  await there.sessions.renew('CONSUMER', '1', 'shorter', clock.now() + MINUTE / 2)
  forward(MINUTE / 2)
  t.notOk(isLive(here, 'shorter'))
  forward(MINUTE)
  t.ok(isLive(here, 'longer'))
  forward(2 * MINUTE)
  t.notOk(isLive(here, 'longer'))
})

t.test('a remembered session ends at its time, before any sweep', async t => {
  const { here, forward, admit } = await openTwo(t)
  await admit(here, 'a')
  t.ok(isLive(here, 'a'))
  forward(MINUTE - 1)
  t.ok(isLive(here, 'a'))
  forward(1)
  t.notOk(isLive(here, 'a'))
  t.equal(here.counts().caches.CONSUMER?.entries, 0, 'it is not kept any longer')
})

t.test('a process that missed more changes than the file keeps remembers nothing', async t => {
  const { here, there, admit } = await openTwo(t)
  const tokens = Array.from({ length: VERY_MANY }, (_, i) => `token-${i}`)
  await Promise.all(tokens.map(token => admit(here, token)))
  await admit(here, 'other', '2')
  t.ok(tokens.every(token => isLive(here, token)) && isLive(here, 'other'))
  t.equal(await there.sessions.removeAll('CONSUMER', '1'), VERY_MANY)
  t.same(
    tokens.filter(token => isLive(here, token)),
    [],
  )
  t.ok(isLive(here, 'other'))
})

t.test('a token that another process stores again has the new record', async t => {
  const { here, there, admit } = await openTwo(t)
  await admit(here, 'a', 'old')
  t.equal(here.sessions.find('CONSUMER', 'a')?.user_id, 'old')
  await admit(there, 'a', 'new')
  t.equal(here.sessions.find('CONSUMER', 'a')?.user_id, 'new')
})

t.test('the same token is remembered on one side only', async t => {
  const { here, admit } = await openTwo(t)
  await admit(here, 'a')
  t.ok(isLive(here, 'a'))
  t.notOk(isLive(here, 'a', 'BUSINESS'))
})

t.test('a process remembers no more sessions than configured, and counts what it remembers', async t => {
  const { here, admit } = await openTwo(t, 10)
  for (let i = 0; i < 30; i++) await admit(here, `token-${i}`)
  for (let i = 0; i < 30; i++) t.ok(isLive(here, `token-${i}`))
  t.ok(isLive(here, 'token-29'))
  const { CONSUMER, BUSINESS } = here.counts().caches
  t.match(CONSUMER, { entries: 10, hits: 1, misses: 30, evictions: 20 })
  t.match(BUSINESS, { entries: 0, hits: 0, misses: 0, evictions: 0 })
})

t.test('whichever process changes a session, each answers as the file says', async t => {
  const { here, there, clock, forward } = await openTwo(t, 6)
  const stores = [here, there]
  const expiries = new Map<string, number>()
  let seed = 20_250_131
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const userOf = (token: number): string => String(token % 3)
  for (let step = 0; step < 1500; step++) {
    const { sessions } = stores[random(2)]!
    const token = random(9)
    const end = clock.now() + 1 + random(20)
    const change = random(6)
    if (change < 2) {
      await sessions.add('CONSUMER', `${token}`, record('CONSUMER', userOf(token)), end)
      expiries.set(`${token}`, end)
    } else if (change === 2) {
      if (await sessions.renew('CONSUMER', userOf(token), `${token}`, end)) expiries.set(`${token}`, end)
    } else if (change === 3) {
      await sessions.remove('CONSUMER', userOf(token), `${token}`)
      expiries.delete(`${token}`)
    } else if (change === 4) {
      await sessions.removeAll('CONSUMER', userOf(token))
      for (const other of expiries.keys()) if (userOf(Number(other)) === userOf(token)) expiries.delete(other)
    } else if (random(2) === 0) {
      forward(1 + random(5))
    } else {
      await stores[random(2)]!.sweep()
    }
    for (const [i, store] of stores.entries()) {
      const found = [0, 1, 2, 3, 4, 5, 6, 7, 8].filter(token => isLive(store, `${token}`))
      const expected = [...expiries].filter(([, expiresAt]) => expiresAt > clock.now()).map(([token]) => Number(token))
      if (found.join() !== expected.sort((a, b) => a - b).join()) {
        t.same(found, expected, `store ${i} after step ${step}`)
        return
      }
    }
  }
  const hits = stores.map(store => store.counts().caches.CONSUMER?.hits ?? 0)
  t.ok(
    hits.every(count => count > 1000),
    `answered from memory: ${hits.join(' and ')} times`,
  )
})

const isFound = (store: EmbeddedStore, id: string): boolean => store.credentials.find('CONSUMER', id) !== null

const KEY_ENDS: Record<string, (store: EmbeddedStore) => Promise<unknown>> = {
  'its removal': store => store.credentials.remove('CONSUMER', '1', 'a'),
  'the end of all of its owner': store => store.credentials.removeAll('CONSUMER', '1'),
}

for (const [name, end] of Object.entries(KEY_ENDS)) {
  t.test(`a credential that was remembered is refused as soon as another process acknowledges ${name}`, async t => {
    const { here, there, clock } = await openTwo(t)
    const stored = (id: string, owner: string) => ({ id, owner, text: 'text', expiresAt: clock.now() + MINUTE })
    await there.credentials.add('CONSUMER', stored('a', '1'), 1)
    await there.credentials.add('CONSUMER', stored('b', '2'), 1)
    for (let i = 0; i < 3; i++) t.ok(isFound(here, 'a') && isFound(here, 'b'))
    t.equal(
      here.credentials.find('CONSUMER', 'b'),
      here.credentials.find('CONSUMER', 'b'),
      'the same object: remembered',
    )
    await end(there)
    t.notOk(isFound(here, 'a'))
    t.ok(isFound(here, 'b'), 'others stay')
  })
}

t.test('a credential that was remembered has the text and the end that another process gave it', async t => {
  const { here, there, clock, forward } = await openTwo(t)
  const stored = { id: 'a', owner: '1', text: 'text', expiresAt: clock.now() + 10 * MINUTE }
  await here.credentials.add('CONSUMER', stored, 1)
  t.strictSame(here.credentials.find('CONSUMER', 'a'), stored)
  await there.credentials.rewrite('CONSUMER', 'a', 'text', 'new')
  t.strictSame(here.credentials.find('CONSUMER', 'a'), { ...stored, text: 'new' })
  const until = clock.now() + MINUTE
  t.ok(await there.credentials.succeed('CONSUMER', '1', 'a', { ...stored, id: 'b' }, until))
  t.equal(here.credentials.find('CONSUMER', 'a')?.expiresAt, until)
  forward(MINUTE - 1)
  t.ok(isFound(here, 'a'))
  forward(1)
  t.notOk(isFound(here, 'a'), 'at its time, before any sweep')
  t.ok(isFound(here, 'b'))
})

t.test('changes of sessions leave credentials remembered, and the other way round', async t => {
  const { here, clock, admit } = await openTwo(t)
  await admit(here, 'token')
  await here.credentials.add('CONSUMER', { id: 'a', owner: '1', text: '', expiresAt: clock.now() + MINUTE }, 1)
  t.ok(isLive(here, 'token'))
  const remembered = here.credentials.find('CONSUMER', 'a')
  const { hits } = here.counts().caches.CONSUMER!
  await here.credentials.add('CONSUMER', { id: 'b', owner: '2', text: '', expiresAt: clock.now() + MINUTE }, 1)
  t.ok(isLive(here, 'token'))
  t.equal(here.counts().caches.CONSUMER!.hits, hits + 1)
  await here.sessions.removeAll('CONSUMER', '1')
  t.equal(here.credentials.find('CONSUMER', 'a'), remembered)
})

t.test('a credential, which many requests share, cannot be changed', async t => {
  const { here, clock } = await openTwo(t)
  await here.credentials.add('CONSUMER', { id: 'a', owner: '1', text: '', expiresAt: clock.now() + MINUTE }, 1)
  const found = here.credentials.find('CONSUMER', 'a')
  t.throws(() => Object.assign(found as object, { owner: 'other' }), TypeError)
})
