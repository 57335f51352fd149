import { createHash } from 'node:crypto'
import t from 'tap'
import { EVENT_NAMES } from '../../src/event/event.ts'
import type { JournalRecord } from '../../src/journal/page.ts'
import { Recorder } from '../../src/journal/recorder.ts'
import { createLog } from '../../src/log.ts'
import { type Fixture, openFixture, type StoreKind, someone } from '../support/gateway-fixture.ts'
import { redisAvailable } from '../support/redis-server.ts'

const PAGE = '/api/v1/sys/journal/page'

async function journalOf(fixture: Fixture, token: string, query: Record<string, string> = {}) {
  const answer = (await fixture.get(`${PAGE}?${new URLSearchParams(query)}`, token)).json()
  return answer as { code: number; message: string; data: { records: JournalRecord[]; next: string | null } }
}

const eventsIn = (records: readonly JournalRecord[]) => records.map(({ event }) => event)

const kinds: readonly StoreKind[] = redisAvailable() ? ['embedded', 'redis'] : ['embedded']

for (const store of kinds) {
  for (const profile of [1, 2] as const) {
    t.test(`the journal shows what happened, ${store}, profile ${profile}`, async t => {
      const fixture = await openFixture({ store, profile, config: { session_administration: 'on' } })
      t.teardown(() => fixture.close())
      const wrong = await fixture.credentials(undefined, 'a wrong password')
      await fixture.post('/api/v1/public/b/login', wrong)
      const token = await fixture.signIn()
      const user = someone()
      const { data: login } = await fixture.operate('consumer', 'login', {
        user_id: user,
        extra: { username: 'ann', nickname: 'Ann', login_ip: '192.0.2.7', device_type: 'Chrome', device_id: 'WEB_PC' },
      })
      await fixture.post('/api/v1/client/session/exit', { user_id: user }, token)
      await fixture.post('/api/v1/client/session/disable', { user_id: user, seconds: 60 }, token)

      const { code, data } = await journalOf(fixture, token)
      t.equal(code, 200)
      t.same(eventsIn(data.records), ['disable', 'kickout', 'login', 'login', 'login-failed'])
      t.equal(data.next, null)
      const [disable, kickout, operation, signIn, failed] = data.records as [
        JournalRecord,
        JournalRecord,
        JournalRecord,
        JournalRecord,
        JournalRecord,
      ]
      t.match(failed, { type: 'BUSINESS', login_id: '1', username: 'admin', nickname: 'Admin', by: null })
      t.match(failed, { reason: 'WRONG_CREDENTIALS', address: '127.0.0.1', jti: null })
      t.match(signIn, { type: 'BUSINESS', login_id: '1', username: 'admin', nickname: 'Admin', by: '1', reason: null })
      t.match(operation, { type: 'CONSUMER', login_id: user, username: 'ann', by: 'operations', device_id: 'WEB_PC' })
      t.match(kickout, { type: 'CONSUMER', login_id: user, username: 'ann', nickname: 'Ann', by: '1' })
      t.match(disable, { type: 'CONSUMER', login_id: user, username: 'ann', nickname: 'Ann', by: '1' })
      for (const entry of data.records) {
        t.match(entry, { time: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, trace_id: /^[0-9a-f]{32}$/ })
        t.equal(Object.keys(entry).length, 14)
      }
      const text = JSON.stringify(data)
      for (const secret of [token, login.token, wrong.password]) t.notOk(text.includes(secret!), 'no secret')
    })
  }
}

t.test('the journal has the entries of every gateway of the store, in the order of time', async t => {
  const fixture = await openFixture({ store: kinds.at(-1)! })
  t.teardown(() => fixture.close())
  const token = await fixture.signIn()
  const other = new Recorder({
    store: fixture.store.journal,
    settings: { keep: 60_000, max_entries: 1000 },
    clock: { now: fixture.now },
    log: createLog('silent'),
    journaled: () => undefined,
    failed: () => undefined,
  })
  const user = someone()
  const { consumer } = fixture.gateway.sides
  for (let i = 0; i < 20; i++) {
    await consumer.disable(user, 60)
    other.publish({ event: 'kickout', type: 'CONSUMER', login_id: user, ended: 0 })
  }
  await other.close(1000)
  const { records } = (await journalOf(fixture, token, { login_id: user, size: '100' })).data
  t.same(new Set(eventsIn(records)), new Set(['disable', 'kickout']))
  t.equal(records.length, 40)
  const ids = records.map(({ id }) => id)
  t.same(ids, [...ids].sort().reverse())
})

t.test('an entry without names has those of another entry of its user', async t => {
  const fixture = await openFixture()
  t.teardown(() => fixture.close())
  const token = await fixture.signIn()
  const { consumer, business } = fixture.gateway.sides
  const [user, later] = [someone(), someone()]
  await consumer.login(undefined, user, { username: 'ann', nickname: 'Ann' })
  await business.login(undefined, user, { username: 'of the other side' })
  await consumer.login(undefined, user)
  await consumer.disable(user, 60)
  await consumer.login(undefined, later, { username: 'bob' })
  await consumer.disable(later, 60)
  const all = (await journalOf(fixture, token, { login_id: user, type: 'CONSUMER' })).data.records
  t.match(all, Array(3).fill({ username: 'ann', nickname: 'Ann' }))
  t.match((await journalOf(fixture, token, { login_id: later, size: '1' })).data.records, [{ username: 'bob' }])
})

t.test('filters and cursors of the journal find each entry once', async t => {
  const fixture = await openFixture({ config: { timezone: 'Asia/Shanghai' } })
  t.teardown(() => fixture.close())
  const token = await fixture.signIn()
  const [ann, bob] = [someone(), someone()]
  const { consumer } = fixture.gateway.sides
  for (let i = 0; i < 7; i++) {
    await consumer.disable(ann, 60)
    await consumer.untieDisable(ann)
    await consumer.disable(bob, 60)
  }
  const all: string[] = []
  let cursor = ''
  do {
    const { data } = await journalOf(fixture, token, { login_id: ann, size: '3', cursor })
    all.push(...data.records.map(({ id }) => id))
    cursor = data.next ?? ''
  } while (cursor !== '')
  t.equal(new Set(all).size, 14)
  t.same(all, [...all].sort().reverse(), 'the newest first')

  const count = async (query: Record<string, string>) =>
    (await journalOf(fixture, token, { size: '100', ...query })).data.records.length
  t.equal(await count({}), 22)
  t.equal(await count({ login_id: '', type: '', event: '', cursor: '', since: '', until: '' }), 22)
  t.equal(await count({ event: 'disable' }), 14)
  t.equal(await count({ event: 'disable', login_id: bob }), 7)
  t.equal(await count({ type: 'BUSINESS' }), 1)
  t.equal(await count({ type: 'BUSINESS', event: 'disable' }), 0)

  const { time } = (await journalOf(fixture, token, { event: 'login' })).data.records[0]!
  await fixture.elapse(3_600_000)
  await consumer.kickout(ann)
  t.equal(await count({ since: time }), 23)
  t.equal(await count({ until: time, event: 'login' }), 1, 'the second itself is included')
  const later = new Date(Date.parse(`${time.replace(' ', 'T')}+08:00`) + 60_000).toISOString()
  t.equal(await count({ since: later }), 1, 'ISO 8601')
  t.equal(await count({ until: later }), 22)
})

t.test('an invalid filter of the journal is refused, and names its field', async t => {
  const fixture = await openFixture()
  t.teardown(() => fixture.close())
  const token = await fixture.signIn()
  const invalid: [field: string, value: string][] = [
    ['size', '0'],
    ['size', '101'],
    ['cursor', 'abc'],
    ['cursor', 'ü'.repeat(17)],
    ['login_id', 'a b'],
    ['type', 'business'],
    ['event', 'everything'],
    ['since', 'yesterday'],
    ['until', '2026-13-01 00:00:00'],
  ]
  for (const [field, value] of invalid) {
    const { code, message } = await journalOf(fixture, token, { [field]: value })
    t.equal(code, 400)
    t.match(message, new RegExp(`^${field}: must be`), `${field}=${value}: ${message}`)
  }
  for (const event of EVENT_NAMES) t.equal((await journalOf(fixture, token, { event })).code, 200, event)
})

t.test('the journal needs its permission, and a session that has it finds it among its permissions', async t => {
  const fixture = await openFixture()
  t.teardown(() => fixture.close())
  const { business, consumer } = fixture.gateway.sides
  const sees = await business.login(undefined, '7', { permissions: ['sys:journal:page'] })
  const other = await business.login(undefined, '8', { permissions: ['sys:session:page'] })
  t.equal((await journalOf(fixture, sees)).code, 200)
  t.equal((await journalOf(fixture, other)).code, 403)
  t.equal((await journalOf(fixture, await consumer.login(undefined, '9', { roles: ['SUPER_ADMIN'] }))).code, 401)
  t.equal((await fixture.get(PAGE)).json().code, 401)
  const current = async (token: string) => (await fixture.get('/api/v1/sys/session/current', token)).json().data
  t.same((await current(sees)).permissions, ['sys:journal:page'])
  t.same((await current(other)).permissions, ['sys:session:page'])
})

t.test('a name that no account has is in no entry and no event, nor is its digest', async t => {
  const fixture = await openFixture()
  t.teardown(() => fixture.close())
  for (let i = 0; i < 6; i++) {
    await fixture.post('/api/v1/public/b/login', await fixture.credentials('My secret password', 'x'))
  }
  const token = await fixture.signIn()
  const { records } = (await journalOf(fixture, token)).data
  t.same(eventsIn(records), ['login', 'login-failed', 'login-failed', 'disable', ...Array(4).fill('login-failed')])
  for (const entry of records.slice(1)) t.match(entry, { login_id: null, username: null, nickname: null, by: null })
  const events = fixture.log.filter(line => JSON.parse(line).msg === 'event')
  t.ok(
    events.some(line => line.includes('"too-many-failures"')),
    'the lock of the name is published',
  )
  t.notMatch(JSON.stringify([records, events]), /secret|unknown:/i)
  for (const text of ['My secret password', 'my secret password']) {
    t.notOk(JSON.stringify([records, events]).includes(createHash('sha256').update(text).digest('hex').slice(0, 8)))
  }
})

t.test('with journal off there is no such path, nothing is kept, and no session has the permission', async t => {
  const fixture = await openFixture({ config: { journal: 'off' } })
  t.teardown(() => fixture.close())
  const token = await fixture.signIn()
  await fixture.get(PAGE, token)
  t.ok(
    fixture.upstream.requests.some(({ url }) => url === PAGE),
    'the path is one of a backend',
  )
  t.notOk(
    (await fixture.get('/api/v1/sys/session/current', token)).json().data.permissions.includes('sys:journal:page'),
  )
  t.same(await fixture.store.journal.page({ size: 10 }), { entries: [], next: null })
})

t.test('entries that are too old or too many are removed, without a request', async t => {
  const fixture = await openFixture({ config: { journal: { keep: '1h', max_entries: 1000 } } })
  t.teardown(() => fixture.close())
  const token = await fixture.signIn()
  await fixture.elapse(3_600_001)
  await fixture.gateway.sides.consumer.disable('1', 60)
  const { records } = (await journalOf(fixture, token)).data
  t.ok(eventsIn(records).includes('disable'))
  await fixture.gateway.close()
  const { entries } = await fixture.store.journal.page({ size: 10 })
  t.same(
    entries.map(({ event }) => event),
    ['disable'],
  )
})

t.test('a gateway that closes has stored every entry', async t => {
  const fixture = await openFixture({ store: kinds.at(-1)! })
  const user = someone()
  for (let i = 0; i < 60; i++) await fixture.gateway.sides.consumer.disable(user, 60)
  await fixture.gateway.close()
  const { entries } = await fixture.store.journal.page({ size: 100, login_id: user })
  await fixture.close()
  t.equal(entries.length, 60)
})
