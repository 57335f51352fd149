import { writeFileSync } from 'node:fs'
import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { PATIENCE, until } from '../support/until.ts'
import { MINUTE, record } from './contract-fixture.ts'
import { startWorker } from './embedded-child.ts'

/** When a test that waits without a turn of the event loop gives up: no other timeout reaches it. */
const deadline = () => performance.now() + PATIENCE

const inTenMinutes = () => systemClock.now() + 10 * MINUTE

await t.test('a token ended by one worker is refused by the other at once, ten thousand times', async t => {
  const TOKENS = 10_000
  const folder = t.testdir()
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  const user = (i: number) => record('BUSINESS', String(i % 10))
  await Promise.all(
    Array.from({ length: TOKENS }, (_, i) => store.sessions.add('BUSINESS', `token-${i}`, user(i), inTenMinutes())),
  )
  await store.sessions.add('BUSINESS', 'witness', record('BUSINESS', 'w'), inTenMinutes())
  for (let i = 0; i < TOKENS; i++) if (store.sessions.find('BUSINESS', `token-${i}`) === null) t.fail(`no token-${i}`)
  t.equal(store.counts().caches.BUSINESS?.entries, TOKENS, 'all are remembered here')

  const worker = startWorker('revoke', folder, String(TOKENS))
  let asked = 0
  let stale = 0
  // One turn of the event loop for all of it: a snapshot taken at its beginning would still see every token.
  const end = deadline()
  while (asked < TOKENS && performance.now() < end) {
    if (store.sessions.find('BUSINESS', 'witness') === null) t.fail('the witness is alive')
    for (const i of worker.said()) {
      asked++
      if (store.sessions.find('BUSINESS', `token-${i}`) !== null) stale++
    }
  }
  t.equal(asked, TOKENS)
  t.equal(stale, 0, 'no answer was stale')
  t.equal(await worker.ended, 0, 'a worker that does not close the store ends by itself')
})

await t.test('users kicked out by one worker are refused by the other at once, on all their devices', async t => {
  const USERS = 1000
  const folder = t.testdir()
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  const tokensOf = (user: string) => ['phone', 'tablet', 'desk'].map(device => `${user}-${device}`)
  await Promise.all(
    Array.from({ length: USERS }, (_, i) => String(i)).flatMap(user =>
      tokensOf(user).map(token => store.sessions.add('CONSUMER', token, record('CONSUMER', user), inTenMinutes())),
    ),
  )
  const isLive = (token: string) => store.sessions.find('CONSUMER', token) !== null
  for (let i = 0; i < USERS; i++) if (!tokensOf(String(i)).every(isLive)) t.fail(`user ${i} is not logged in`)

  const worker = startWorker('kick', folder, String(USERS))
  const kicked: string[] = []
  const stale: string[] = []
  const end = deadline()
  while (kicked.length < USERS && performance.now() < end) {
    // Users that are next keep their sessions in memory until the very change.
    for (let i = kicked.length + 1; i < Math.min(kicked.length + 5, USERS); i++) tokensOf(String(i)).forEach(isLive)
    for (const user of worker.said()) {
      kicked.push(user)
      stale.push(...tokensOf(user).filter(isLive))
    }
  }
  t.equal(kicked.length, USERS)
  t.same(stale, [], 'no answer was stale')
  t.equal(await worker.ended, 0)
})

await t.test('a login at one worker is known to the other at once', async t => {
  const folder = t.testdir()
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  const worker = startWorker('admit', folder, '1000')
  let known = 0
  let unknown = 0
  const end = deadline()
  while (known + unknown < 1000 && performance.now() < end) {
    for (const i of worker.said()) store.sessions.find('CONSUMER', `token-${i}`) === null ? unknown++ : known++
  }
  t.strictSame({ known, unknown }, { known: 1000, unknown: 0 })
  t.equal((await store.sessions.tokens('CONSUMER', '1')).length, 1000)
  t.equal(await worker.ended, 0)
})

await t.test('while a stopped worker holds the lock, queries are answered and changes are unavailable', async t => {
  const folder = t.testdir()
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  const impatient = await until(() => openEmbeddedStore(folder, systemClock, 200).catch(() => null))
  t.teardown(() => Promise.all([store.close(), impatient.close()]))
  await store.sessions.add('BUSINESS', 'before', record('BUSINESS', '1'), inTenMinutes())
  await store.sessions.add('BUSINESS', 'expired', record('BUSINESS', '1'), systemClock.now())
  const worker = startWorker('hold', folder)
  t.strictSame(await worker.nextSaid(), ['holding'])

  const login = impatient.sessions.add('BUSINESS', 'given-up', record('BUSINESS', '1'), inTenMinutes())
  t.equal(impatient.sessions.find('BUSINESS', 'before')?.user_id, '1')
  await t.rejects(login, new Unavailable(''))
  await t.rejects(impatient.sessions.removeAll('BUSINESS', '1'), new Unavailable(''))
  await t.rejects(impatient.ping(), new Unavailable(''))
  t.strictSame((await impatient.online.page('BUSINESS', { offset: 0, limit: 10 })).userIds, ['1'])

  writeFileSync(`${folder}/release`, '')
  t.equal(await worker.ended, 0)
  await store.ping()
  t.equal(store.sessions.find('BUSINESS', 'given-up'), null, 'what was given up does not happen later')
  t.equal(store.sessions.find('BUSINESS', 'before')?.user_id, '1')
  await store.sessions.add('BUSINESS', 'after', record('BUSINESS', '1'), inTenMinutes())
  t.equal(await store.sessions.removeAll('BUSINESS', '1'), 2)
})

await t.test('if the disk is full, logins are unavailable and acknowledged changes stay', async t => {
  const folder = t.testdir()
  // A limit on the size of a file, in blocks of 512 bytes, stands in for the end of the disk.
  const worker = startWorker('fill', folder, '', "trap '' XFSZ; ulimit -f 4096;")
  t.equal(await worker.ended, 0)
  const said = worker.said()
  t.strictSame(said.slice(-2), ['UNAVAILABLE', 'kept'])

  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  const acknowledged = said.filter(line => line.startsWith('+')).length
  t.ok(acknowledged > 100)
  for (let i = 0; i < acknowledged; i++) {
    if (store.sessions.find('BUSINESS', `token-${i}`) === null) t.fail(`token-${i} was acknowledged and is lost`)
  }
  t.equal((await store.sessions.tokens('BUSINESS', '1')).length, await store.sessions.removeAll('BUSINESS', '1'))
})

await t.test('a credential ended by one worker is refused by the other at once, a thousand times', async t => {
  const KEYS = 1000
  const folder = t.testdir()
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  const { credentials } = store
  const made = (i: number) => ({ id: `key-${i}`, owner: '1', text: 'text', expiresAt: inTenMinutes() })
  for (let i = 0; i < KEYS; i += 100)
    await Promise.all(Array.from({ length: 100 }, (_, j) => credentials.add('BUSINESS', made(i + j), KEYS)))
  for (let i = 0; i < KEYS; i++) if (credentials.find('BUSINESS', `key-${i}`) === null) t.fail(`no key-${i}`)

  const worker = startWorker('revoke-keys', folder, String(KEYS))
  let asked = 0
  let stale = 0
  const end = deadline()
  while (asked < KEYS && performance.now() < end) {
    // Those that are next are in memory until the very change.
    for (let i = asked + 2; i < Math.min(asked + 5, KEYS); i++) credentials.find('BUSINESS', `key-${i}`)
    for (const i of worker.said()) {
      asked++
      if (credentials.find('BUSINESS', `key-${i}`) !== null) stale++
    }
  }
  t.strictSame({ asked, stale }, { asked: KEYS, stale: 0 })
  t.equal(await worker.ended, 0)
  t.same(await credentials.of('BUSINESS', '1'), [])
})

await t.test('a credential stored by one worker is known to the other at once', async t => {
  const folder = t.testdir()
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  const worker = startWorker('add-keys', folder, '200')
  let known = 0
  let unknown = 0
  const end = deadline()
  while (known + unknown < 200 && performance.now() < end) {
    for (const i of worker.said()) store.credentials.find('CONSUMER', `key-${i}`) === null ? unknown++ : known++
  }
  t.strictSame({ known, unknown }, { known: 200, unknown: 0 })
  t.equal(await worker.ended, 0)
})

await t.test('if the disk is full, no credential is stored, and one can be ended', async t => {
  const folder = t.testdir()
  const worker = startWorker('fill-keys', folder, '', "trap '' XFSZ; ulimit -f 4096;")
  t.equal(await worker.ended, 0)
  const said = worker.said()
  const acknowledged = said.filter(line => line.startsWith('+')).length
  t.ok(acknowledged > 50, `${acknowledged} are stored`)
  t.match(said.slice(-3), [
    'UNAVAILABLE',
    'true',
    /^the embedded store cannot write credentials.mdb, so new keys and second factors are refused; the disk is full/,
  ])
  const store = await openEmbeddedStore(folder, systemClock, PATIENCE)
  t.teardown(() => store.close())
  t.equal(store.credentials.find('BUSINESS', 'key-0'), null)
  for (let i = 1; i < acknowledged; i++)
    if (store.credentials.find('BUSINESS', `key-${i}`) === null) t.fail(`key-${i} was acknowledged and is lost`)
})
