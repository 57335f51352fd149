import t, { type Test } from 'tap'
import { Refusal } from '../../src/base/refusal.ts'
import { createKeys, type NewKey } from '../../src/key/keys.ts'
import { createOwnKeys, MAX_LIMITS_BYTES, readWanted } from '../../src/key/own-keys.ts'
import { isValidWith } from '../../src/key/record.ts'
import type { Session } from '../../src/side/side.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { createTestClock } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'

/* What becomes of the keys of an account that changes. Versions are texts of any form here. */

const HOUR = 3_600_000
const DAY = 24 * HOUR
const BY = { id: '7', type: 'BUSINESS' } as const
const WANTED: NewKey = { name: 'job', lifetime: HOUR, permissions: null, paths: null, addresses: null }

async function open(t: Test) {
  const clock = createTestClock(Date.UTC(2026, 0, 1))
  const store = await openEmbeddedStore(t.testdir(), clock, PATIENCE)
  t.teardown(() => store.close())
  const settings = { users: true, max_per_user: 20, max_age: HOUR, overlap: HOUR }
  const { credentials, attempts } = store
  const keys = createKeys({ type: 'BUSINESS', credentials, attempts, settings, clock, publish: () => undefined })
  const owner = (credentialVersion: string, username = 'ann') => ({ id: '7', username, credentialVersion })
  const add = async (version: string) => (await keys.add(owner(version), WANTED, BY, {})).id
  const found = async (id: string, owner = '7') => (await keys.of(owner)).find(key => key.id === id)
  return { keys, settings, owner, add, found }
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
  t.same((await found(id))?.versions, ['present', 'failed', 'next'])
  await keys
    .keptThrough(owner('next'), 'unanswered', () => Promise.reject(new Error('no answer')))
    .catch(() => undefined)
  await keys.keptThrough(owner('unanswered'), 'last', async () => true)
  t.same((await found(id))?.versions, ['unanswered', 'last'], 'the first attempt was stored all the same')
})

t.test('of changes of a password at the same time any one may be stored', async t => {
  const { keys, owner, add, found } = await open(t)
  const id = await add('present')
  const stored = (isStored: boolean) => async () => {
    const { versions } = (await found(id))!
    return isStored && versions.includes('present')
  }
  await Promise.all([1, 2, 3, 4].map(i => keys.keptThrough(owner('present'), `next ${i}`, stored(i === 1))))
  t.same(new Set((await found(id))?.versions), new Set(['present', 'next 1', 'next 2', 'next 3', 'next 4']))
  for (let i = 0; i < 10; i++) await keys.keptThrough(owner('next 1'), `failed ${i}`, stored(false))
  t.same((await found(id))?.versions, ['next 1', 'failed 6', 'failed 7', 'failed 8', 'failed 9'])
})

function opened() {
  let open = (): void => undefined
  const isOpen = new Promise<void>(resolve => {
    open = resolve
  })
  return { isOpen, open }
}

t.test('a key that is made while its user changes the password is valid with the new one', async t => {
  const { keys, settings, owner, add, found } = await open(t)
  const [old, session] = [await add('present'), { record: { user_id: '7' } } as Session]
  let version = 'present'
  const prove = async () => ({ ...owner(version), status: 'ACTIVE' as const, passwordHash: '', extra: {} })
  const permissions = { lacking: () => [], rightsOf: async () => ({ roles: [], permissions: [] }) }
  const own = createOwnKeys({ type: 'BUSINESS', keys, settings, prove, permissions })
  const proof = { current_password: '' }
  for (const make of [
    () => own.add(session, { name: 'job', ...proof }, {}),
    () => own.rotate(session, { id: old, ...proof }, {}),
  ]) {
    const [changing, change] = [opened(), opened()]
    const next = `${version}, changed`
    const changed = keys.keptThrough(owner(version), next, async () => {
      changing.open()
      await change.isOpen
      version = next
      return true
    })
    await changing.isOpen
    const made = make()
    change.open()
    await changed
    const key = await found((await made).id)
    t.ok(isValidWith(key!, version), `it carries ${key?.versions}`)
  }
})

t.test('a key in the place of another one is valid with the account of its owner as it is now', async t => {
  const { keys, owner, add, found } = await open(t)
  const old = await add('before')
  const { id } = await keys.rotate(owner('after', 'anne'), old, BY, {})
  t.match(await found(id), { name: 'job', username: 'anne', versions: ['after'] })
  t.match(await found(old), { username: 'ann', versions: ['before'], isSucceeded: true })
})

t.test('the largest key is stored, replaced, and outlives changes of its account', async t => {
  const { keys, found } = await open(t)
  const wide = (length: number) => '管'.repeat(length)
  const rest = { paths: null, addresses: null }
  const taken = JSON.stringify({ permissions: [], ...rest }).length
  const permissions = ['x'.repeat(128)]
  const size = () => taken + JSON.stringify(permissions).length - 2
  while (size() < MAX_LIMITS_BYTES) permissions.push('x'.repeat(Math.min(128, MAX_LIMITS_BYTES - size() - 3)))
  t.equal(size(), MAX_LIMITS_BYTES)
  const wanted = readWanted({ name: wide(64), permissions, ...rest }, { max_age: 365 * DAY })
  const long = { id: 'i'.repeat(128), username: wide(128) }
  const version = (digit: string) => `${digit.repeat(12)}.${digit.repeat(12)}`
  const owner = (digit: string) => ({ ...long, credentialVersion: version(digit) })
  const by = { id: long.id, type: 'BUSINESS' } as const
  const { id } = await keys.add(owner('1'), wanted, by, {})
  await keys.keptThrough(owner('1'), version('2'), async () => true)
  const next = await keys.rotate(owner('2'), id, by, {})
  await keys.keptThrough(owner('2'), version('3'), async () => true)
  t.same((await found(next.id, long.id))?.versions, [version('2'), version('3')])
  for (const digit of '4567') await keys.keptThrough(owner('3'), version(digit), async () => false)
  t.equal((await found(next.id, long.id))?.versions.length, 5)
  permissions.splice(0, 1, 'x'.repeat(127), 'x')
  t.throws(() => readWanted({ name: 'a', permissions, ...rest }, { max_age: 365 * DAY }), new Refusal('INVALID'))
})
