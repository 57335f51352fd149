import t, { type Test } from 'tap'
import { createKeys, type NewKey } from '../../src/key/keys.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { PATIENCE } from '../support/until.ts'

/* What becomes of the keys of an account that changes. Versions are texts of any form here. */

const HOUR = 3_600_000
const BY = { id: '7', type: 'BUSINESS' } as const
const WANTED: NewKey = { name: 'job', lifetime: HOUR, permissions: null, paths: null, addresses: null }

async function open(t: Test) {
  const clock = { time: Date.UTC(2026, 0, 1), now: () => clock.time }
  const store = await openEmbeddedStore(t.testdir(), clock, PATIENCE)
  t.teardown(() => store.close())
  const settings = { users: true, max_per_user: 20, max_age: HOUR, overlap: HOUR }
  const { credentials } = store
  const keys = createKeys({ type: 'BUSINESS', credentials, settings, clock, publish: () => undefined })
  const owner = (credentialVersion: string, username = 'ann') => ({ id: '7', username, credentialVersion })
  const add = async (version: string) => (await keys.add(owner(version), WANTED, BY, {})).id
  const found = async (id: string) => (await keys.of('7')).find(key => key.id === id)
  return { keys, owner, add, found }
}

t.test('a password that users set themselves keeps the keys that are valid, and those alone', async t => {
  const { keys, owner, add, found } = await open(t)
  const before = await add('stolen')
  const after = await add('reset')
  t.equal(await keys.keptThrough(owner('reset'), 'own', async () => true), true)
  t.same((await found(before))?.versions, ['stolen'], 'a reset has made it invalid for good')
  t.same((await found(after))?.versions, ['reset', 'own'])
  await keys.keptThrough(owner('own'), 'next', async () => true)
  t.same((await found(before))?.versions, ['stolen'])
  t.same((await found(after))?.versions, ['own', 'next'])
})

t.test('keys outlive a change of the own password that succeeds at the second attempt', async t => {
  const { keys, owner, add, found } = await open(t)
  const id = await add('present')
  t.equal(await keys.keptThrough(owner('present'), 'failed', async () => false), false)
  t.equal(await keys.keptThrough(owner('present'), 'next', async () => true), true)
  t.same((await found(id))?.versions, ['present', 'next'])
  await keys
    .keptThrough(owner('next'), 'unanswered', () => Promise.reject(new Error('no answer')))
    .catch(() => undefined)
  await keys.keptThrough(owner('unanswered'), 'last', async () => true)
  t.same((await found(id))?.versions, ['unanswered', 'last'], 'the first attempt was stored all the same')
})

t.test('a key in the place of another one is valid with the account of its owner as it is now', async t => {
  const { keys, owner, add, found } = await open(t)
  const old = await add('before')
  const { id } = await keys.rotate(owner('after', 'anne'), old, BY, {})
  t.match(await found(id), { name: 'job', username: 'anne', versions: ['after'] })
  t.match(await found(old), { username: 'ann', versions: ['before'], isSucceeded: true })
})
