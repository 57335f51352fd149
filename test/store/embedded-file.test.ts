import { chmodSync, readdirSync, rmSync, statSync } from 'node:fs'
import { mock } from 'node:test'
import { open, type RootDatabase } from 'lmdb'
import t from 'tap'
import { type EmbeddedStore, openEmbeddedStore, SWEEP_INTERVAL } from '../../src/store/embedded/embedded.ts'
import { createTestClock } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'
import { freshToken, login, MINUTE, record } from './contract-fixture.ts'

/** Longer than anything is remembered: logins are counted for ten days. */
const LONG = 11 * 86_400_000

const START = Date.UTC(2025, 0, 31, 12)

/** A store whose time stands still until it is moved. */
async function openAt(folder: string) {
  const clock = createTestClock(START)
  return { store: await openEmbeddedStore(folder, clock, PATIENCE), clock, folder }
}

/** The file behind the store's back. Opened while no store writes: two handles of one process wait for each other. */
const openRaw = (folder: string): RootDatabase => open({ path: `${folder}/sessions.mdb`, noSubdir: true, maxDbs: 32 })

const TABLES = [
  'attempts',
  'attempts-under-way',
  'captcha_counts',
  'captchas',
  'disables',
  'ended',
  'expiries',
  'filters',
  'logins',
  'members',
  'names',
  'online',
  'people',
  'tickets',
  'tokens',
] as const
const EMPTY = Object.fromEntries(TABLES.map(name => [name, 0]))

/** Answers how many entries each table of a file holds, but the one about the file itself and the ring, which is bounded. */
function entryCounter(raw: RootDatabase): () => Record<string, number> {
  const tables = TABLES.map(name => raw.openDB<string, Buffer>(name, { encoding: 'string', keyEncoding: 'binary' }))
  return () => {
    raw.resetReadTxn()
    return Object.fromEntries(TABLES.map((name, i) => [name, tables[i]?.getCount({ start: Buffer.from([0]) }) ?? 0]))
  }
}

const tableNames = (raw: RootDatabase): unknown[] => [...raw.getKeys()]

async function countAfterClosing({ store, folder }: { store: EmbeddedStore; folder: string }) {
  await store.close()
  const raw = openRaw(folder)
  const names = tableNames(raw)
  const counts = entryCounter(raw)()
  await raw.close()
  if (names.join() !== [...TABLES, 'changes', 'meta'].toSorted().join())
    throw new Error(`tables not counted: ${names.join()}`)
  return counts
}

await t.test('expired entries are removed completely', async t => {
  const fixture = await openAt(t.testdir())
  const { store, clock } = fixture
  const renewed = await login(fixture, 'BUSINESS', '1', MINUTE)
  await store.sessions.renew('BUSINESS', '1', renewed, clock.now() + 5 * MINUTE)
  await Promise.all(Array.from({ length: 700 }, (_, i) => login(fixture, 'CONSUMER', String(i % 50), MINUTE + i)))
  for (const extra of [{ username: 'Ada' }, { username: 'Grace', nickname: '李雷' }]) {
    const user = extra.username
    await store.sessions.add('BUSINESS', freshToken(), record('BUSINESS', user, extra), clock.now() + MINUTE)
  }
  await store.sessions.disable('BUSINESS', '1', clock.now() + 2 * MINUTE)
  await store.sessions.disable('BUSINESS', '1', clock.now() + MINUTE)
  for (let i = 0; i < 2; i++) await store.captchas.put('BUSINESS', 'c', 'answer', clock.now() + (i + 1) * MINUTE)
  for (let i = 0; i < 2; i++) await store.tickets.put('BUSINESS', 'k', 'text', clock.now() + (i + 1) * MINUTE)
  for (let i = 0; i < 3; i++) await store.attempts.count('a', MINUTE)
  await store.attempts.set('a', 9, clock.now() + 3 * MINUTE)

  clock.time += 10 * MINUTE
  t.equal(await store.sweep(), 707)
  t.equal(await store.sweep(), 0)
  clock.time += LONG
  // A day and a minute of logins on each side, and the names of those who were online.
  t.equal(await store.sweep(), 4 + 2)
  const emptyBlock = 1
  t.strictSame(await countAfterClosing(fixture), { ...EMPTY, names: emptyBlock })
})

await t.test('ended sessions are removed completely', async t => {
  const fixture = await openAt(t.testdir())
  const { store, clock } = fixture
  const renewed = await login(fixture, 'BUSINESS', '1', MINUTE)
  await store.sessions.renew('BUSINESS', '1', renewed, clock.now() + 5 * MINUTE)
  const note = { reason: 'kicked-out', until: clock.now() + MINUTE } as const
  await store.sessions.remove('BUSINESS', '1', renewed, note)
  t.equal(await store.sessions.whyEnded('BUSINESS', renewed), 'kicked-out')
  for (let i = 0; i < 10; i++) await login(fixture, 'CONSUMER', '1', MINUTE * i)
  await store.sessions.removeAll('CONSUMER', '1')
  await store.sessions.disable('BUSINESS', '1', clock.now() + MINUTE)
  await store.sessions.untieDisable('BUSINESS', '1')
  await store.captchas.put('BUSINESS', 'c', 'answer', clock.now() + MINUTE)
  await store.captchas.take('BUSINESS', 'c')
  await store.tickets.put('BUSINESS', 'k', 'text', clock.now() + MINUTE)
  await store.tickets.take('BUSINESS', 'k')
  await store.attempts.count('a', MINUTE)
  await store.attempts.clear('a')
  clock.time += LONG
  await store.sweep()
  t.strictSame(await countAfterClosing(fixture), EMPTY)
})

await t.test('credentials that have ended are removed completely', async t => {
  const fixture = await openAt(t.testdir())
  const { store, clock } = fixture
  const made = (id: string, lifetime: number) => ({
    id,
    owner: `owner-${id.length % 3}`,
    text: 'text',
    expiresAt: clock.now() + lifetime,
  })
  for (let i = 1; i <= 250; i++) await store.credentials.add('BUSINESS', made('k'.repeat(i % 60) + i, MINUTE), 1000)
  const [old, next, other] = [made('old', 5 * MINUTE), made('new', MINUTE), made('other', 5 * MINUTE)]
  await store.credentials.add('CONSUMER', old, 9)
  await store.credentials.used('CONSUMER', old.id, 1)
  t.ok(await store.credentials.succeed('CONSUMER', old.owner, old.id, next, clock.now() + MINUTE))
  await store.credentials.add('BUSINESS', other, 1000)
  await store.credentials.used('BUSINESS', other.id, 1)
  await store.credentials.remove('BUSINESS', other.owner, other.id)
  clock.time += MINUTE
  t.equal(await store.sweep(), 252)
  t.equal(await store.sweep(), 0)
  await store.close()
  const raw = open({ path: `${fixture.folder}/credentials.mdb`, noSubdir: true, maxDbs: 32 })
  const counts = [...raw.getKeys()].map(name => {
    const table = raw.openDB<string, Buffer>(String(name), { encoding: 'string', keyEncoding: 'binary' })
    return [String(name), table.getCount()]
  })
  await raw.close()
  t.strictSame(Object.fromEntries(counts.filter(([name]) => name !== 'changes')), {
    business: 0,
    consumer: 0,
    expiries: 0,
    meta: 1,
    owners: 0,
    'second-factors': 0,
    used: 0,
  })
})

await t.test('a sweep keeps live entries, to the millisecond', async t => {
  const fixture = await openAt(t.testdir())
  const { store, clock } = fixture
  const [first, last] = [
    await login(fixture, 'BUSINESS', '1', MINUTE),
    await login(fixture, 'BUSINESS', '1', MINUTE + 1),
  ]
  const endless = freshToken()
  await store.sessions.add('BUSINESS', endless, record('BUSINESS', '1'), Number.POSITIVE_INFINITY)
  t.equal(await store.sessions.sessionExpiresAt('BUSINESS', '1'), Number.POSITIVE_INFINITY)
  clock.time += MINUTE - 1
  t.equal(await store.sweep(), 0)
  clock.time += 1
  t.equal(await store.sweep(), 1)
  t.equal(store.sessions.find('BUSINESS', first), null)
  t.equal(store.sessions.find('BUSINESS', last)?.user_id, '1')
  clock.time += 1
  t.equal(store.sessions.find('BUSINESS', last), null, 'absent before any sweep')
  t.equal(await store.sweep(), 1)
  t.strictSame(
    (await store.sessions.tokens('BUSINESS', '1')).map(({ token }) => token),
    [endless],
  )
  const [today, thisMinute] = [1, 1]
  const logins = today + thisMinute
  const places = 1 + 4
  t.strictSame(await countAfterClosing(fixture), {
    ...EMPTY,
    expiries: logins,
    logins,
    members: 1,
    online: places,
    people: 1,
    tokens: 1,
  })
})

await t.test('the sweep runs by itself', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const fixture = await openAt(t.testdir())
  t.teardown(() => fixture.store.close())
  await login(fixture, 'BUSINESS', '1', MINUTE)
  const raw = openRaw(fixture.folder)
  t.teardown(() => raw.close())
  const count = entryCounter(raw)
  fixture.clock.time += MINUTE
  t.equal(count().tokens, 1)
  mock.timers.tick(SWEEP_INTERVAL)
  while (count().tokens !== 0) await new Promise(resolve => setImmediate(resolve))
  t.match(count(), { tokens: 0, members: 0, online: 0, people: 0 })
})

await t.test('a store opened again holds what it held', async t => {
  const folder = t.testdir()
  const fixture = await openAt(folder)
  const token = await login(fixture, 'BUSINESS', '1', MINUTE)
  await fixture.store.sessions.disable('BUSINESS', '2', START + MINUTE)
  await fixture.store.close()
  const { store } = await openAt(folder)
  t.teardown(() => store.close())
  t.strictSame(store.sessions.find('BUSINESS', token), record('BUSINESS', '1'))
  t.equal(store.sessions.disabledUntil('BUSINESS', '2'), START + MINUTE)
  t.equal(await store.sessions.removeAll('BUSINESS', '1'), 1)
})

await t.test('a store opened again holds the credentials that it held', async t => {
  const folder = t.testdir()
  const fixture = await openAt(folder)
  const stored = { id: 'a', owner: '1', text: 'text', expiresAt: START + MINUTE }
  await fixture.store.credentials.add('BUSINESS', stored, 1)
  await fixture.store.credentials.used('BUSINESS', 'a', START)
  await fixture.store.close()
  const { store } = await openAt(folder)
  t.teardown(() => store.close())
  t.strictSame(store.credentials.find('BUSINESS', 'a'), stored)
  t.strictSame(await store.credentials.of('BUSINESS', '1'), [{ ...stored, usedAt: START, isSucceeded: false }])
  t.equal(await store.credentials.add('BUSINESS', { ...stored, id: 'b' }, 1), false)
})

await t.test('a record, which requests of its session share, cannot be changed', async t => {
  const { store, clock } = await openAt(t.testdir())
  t.teardown(() => store.close())
  const extra = { roles: ['operator'], nested: { deep: {} } }
  await store.sessions.add('BUSINESS', 'a', record('BUSINESS', '1', extra), clock.now() + MINUTE)
  const found = store.sessions.find('BUSINESS', 'a')
  t.throws(() => (found?.extra.roles as string[]).push('SUPER_ADMIN'), TypeError)
  t.throws(() => Object.assign(found?.extra.nested as object, { deep: 1 }), TypeError)
  t.strictSame(store.sessions.find('BUSINESS', 'a')?.extra, extra)
})

await t.test('stores of different folders in one process are independent', async t => {
  const folder = t.testdir({ one: {}, two: {} })
  const one = await openAt(`${folder}/one`)
  const two = await openAt(`${folder}/two`)
  t.teardown(() => two.store.close())
  const token = await login(one, 'BUSINESS', '1', MINUTE)
  t.equal(two.store.sessions.find('BUSINESS', token), null)
  await one.store.close()
  t.ok(await login(two, 'BUSINESS', '1', MINUTE), 'closing one does not close the other')
})

await t.test('a folder opened twice in one process is one store', async t => {
  const folder = t.testdir()
  const one = await openAt(folder)
  const logins = Array.from({ length: 50 }, () => login(one, 'BUSINESS', '1', MINUTE))
  const two = await openAt(folder)
  t.teardown(() => two.store.close())
  await Promise.all(logins)
  await one.store.close()
  t.equal(await two.store.sessions.removeAll('BUSINESS', '1'), 50)
})

await t.test('only the gateway’s user can read its sessions and credentials', async t => {
  const folder = `${t.testdir()}/data/sessions`
  const { store } = await openAt(folder)
  t.teardown(() => store.close())
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.strictSame(await store.warnings(), [])
  for (const file of ['sessions.mdb', 'credentials.mdb']) {
    t.equal(statSync(`${folder}/${file}`).mode & 0o777, 0o600)
    chmodSync(`${folder}/${file}`, 0o644)
    t.match(await store.warnings(), [new RegExp(`${file} can be read by other users.*chmod 600`)])
    chmodSync(`${folder}/${file}`, 0o600)
  }
})

await t.test('a file of a newer format is refused with a message, and not changed', async t => {
  const folder = t.testdir()
  const raw = openRaw(folder)
  const meta = raw.openDB<string, Buffer>('meta', { encoding: 'string', keyEncoding: 'binary' })
  await meta.put(Buffer.from('format'), '2')
  await t.rejects(openAt(folder), /sessions\.mdb has format 2, this version of dualgate reads format 1/)
  t.equal(meta.get(Buffer.from('format')), '2')
  t.strictSame(tableNames(raw), ['meta'])
  await raw.close()
})

await t.test('a file of credentials of a newer format is refused with a message', async t => {
  const folder = t.testdir()
  await (await openAt(folder)).store.close()
  const raw = open({ path: `${folder}/credentials.mdb`, noSubdir: true, maxDbs: 32 })
  const meta = raw.openDB<string, Buffer>('meta', { encoding: 'string', keyEncoding: 'binary' })
  await meta.put(Buffer.from('format'), '2')
  await raw.close()
  await t.rejects(openAt(folder), /credentials\.mdb has format 2, .*begin with no keys/)
  for (const file of ['sessions', 'credentials'])
    t.same(readdirSync(`${folder}/${file}.mdb-processes`), [], 'no file was left open')
})

await t.test(
  'a token, captcha id, ticket id or owner too long for a key is refused before anything is stored',
  async t => {
    const fixture = await openAt(t.testdir())
    const { store, clock } = fixture
    const long = 'x'.repeat(1971)
    await t.rejects(store.sessions.add('BUSINESS', long, record('BUSINESS', '1'), clock.now() + MINUTE), /too long/)
    await t.rejects(store.captchas.put('BUSINESS', long, 'answer', clock.now() + MINUTE), /too long/)
    await t.rejects(store.tickets.put('BUSINESS', long, 'text', clock.now() + MINUTE), /too long/)
    const owned = (owner: string) => ({ id: owner.slice(0, 4), owner, text: '', expiresAt: clock.now() + MINUTE })
    await t.rejects(store.credentials.add('BUSINESS', owned('x'.repeat(1978)), 1), /too long/)
    t.ok(await store.credentials.add('BUSINESS', owned('x'.repeat(1977)), 1))
    const longest = 'x'.repeat(1970)
    await store.sessions.add('BUSINESS', longest, record('BUSINESS', '1'), clock.now() + MINUTE)
    t.equal(store.sessions.find('BUSINESS', longest)?.user_id, '1')
    t.equal(await store.sessions.removeAll('BUSINESS', '1'), 1)
    const counts = await countAfterClosing(fixture)
    t.match(counts, { members: 0, people: 0, tokens: 0 })
  },
)

t.test('a process that only looks sessions up lets the file use freed space again', async t => {
  const folder = t.testdir()
  const fixture = await openAt(folder)
  const { store, clock } = fixture
  const token = await login(fixture, 'CONSUMER', '1', LONG)
  const change = async (times: number): Promise<number> => {
    for (let i = 0; i < times; i++) await store.attempts.set('a', i, clock.now() + LONG)
    return statSync(`${folder}/sessions.mdb`).size
  }
  const before = await change(50)
  t.ok(store.sessions.find('CONSUMER', token))
  t.ok(store.sessions.find('CONSUMER', token), 'remembered')
  t.equal(await change(200), before)
  await store.close()
})

await t.test('second factors outlive the store that stored them, in the file of the credentials', async t => {
  const folder = t.testdir()
  const first = await openAt(folder)
  t.equal(await first.store.factors.replace('BUSINESS', '1', null, 'text'), true)
  await first.store.close()
  rmSync(`${folder}/sessions.mdb`)
  const { store } = await openAt(folder)
  t.teardown(() => store.close())
  t.equal(await store.factors.read('BUSINESS', '1'), 'text')
  t.equal(await store.factors.replace('BUSINESS', '1', 'text', 'other'), true)
})

await t.test('a login id that is too long for the file has no second factor there', async t => {
  const { store } = await openAt(t.testdir())
  t.teardown(() => store.close())
  const id = 'x'.repeat(2000)
  t.equal(await store.factors.read('BUSINESS', id), null)
  await t.rejects(store.factors.replace('BUSINESS', id, null, 'text'), /login id is too long/)
})
