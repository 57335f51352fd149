import { createHash } from 'node:crypto'
import t from 'tap'
import { createLog } from '../../src/base/log/log.ts'
import { EVENT_NAMES } from '../../src/event/event.ts'
import type { JournalRecord } from '../../src/journal/page.ts'
import { Recorder } from '../../src/journal/recorder.ts'
import { Meter } from '../../src/metrics/meter.ts'
import { clockOf } from '../support/clock.ts'
import { type Fixture, openFixture, type StoreKind, someone, startFixture } from '../support/gateway-fixture.ts'
import { redisAvailable } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'

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
      const fixture = await openFixture(t, { store, profile, config: { session_administration: 'on' } })
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
        t.equal(Object.keys(entry).length, 17)
      }
      const text = JSON.stringify(data)
      for (const secret of [token, login.token, wrong.password]) t.notOk(text.includes(secret!), 'no secret')
    })
  }
}

t.test('the journal has the entries of every gateway of the store, in the order of time', async t => {
  const fixture = await openFixture(t, { store: kinds.at(-1)! })
  const token = await fixture.signIn()
  const other = new Recorder({
    store: fixture.store.journal,
    settings: { keep: 60_000, max_entries: 1000, max_failures: 1000 },
    clock: clockOf(fixture.now),
    log: createLog('silent'),
    meter: new Meter(),
  })
  const user = someone()
  const { consumer } = fixture.gateway.sides
  for (let i = 0; i < 20; i++) {
    await consumer.disable(user, 60)
    other.publish({ event: 'kickout', type: 'CONSUMER', login_id: user, ended: 0 })
  }
  await other.close(PATIENCE)
  const { records } = (await journalOf(fixture, token, { login_id: user, size: '100' })).data
  t.same(new Set(eventsIn(records)), new Set(['disable', 'kickout']))
  t.equal(records.length, 40)
  const ids = records.map(({ id }) => id)
  t.same(ids, [...ids].sort().reverse())
})

t.test('an entry without names has those of another entry of its user', async t => {
  const fixture = await openFixture(t)
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
  const fixture = await openFixture(t, { config: { timezone: 'Asia/Shanghai' } })
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

t.test('the journal is searched by the name of an account, in any case', async t => {
  const fixture = await openFixture(t, { store: kinds.at(-1)! })
  const token = await fixture.signIn()
  const user = someone()
  const { consumer } = fixture.gateway.sides
  await consumer.login(undefined, user, { username: 'Ann' })
  await consumer.kickout(user)
  await consumer.disable(someone(), 60)
  const found = async (query: Record<string, string>) =>
    (await journalOf(fixture, token, query)).data.records.map(({ event, username }) => [event, username])
  t.same(await found({ username: ' ANN ' }), [
    ['kickout', 'Ann'],
    ['login', 'Ann'],
  ])
  t.same(await found({ username: 'admin' }), [['login', 'admin']])
  t.same(await found({ username: 'nobody' }), [])
  t.equal((await found({ username: '' })).length, 4, 'an empty name is no filter')
  t.match(await journalOf(fixture, token, { username: 'a'.repeat(129) }), { code: 400, message: /^username: must be/ })
})

/** The lines of CSV, read as RFC 4180 says. */
function readCsv(text: string): string[][] {
  const lines: string[][] = [[]]
  for (const [, quoted, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|)(,|\r\n)/g)) {
    lines.at(-1)!.push((quoted ?? '').replaceAll('""', '"'))
    if (end !== ',') lines.push([])
  }
  return lines.slice(0, -1)
}

const EXPORT = '/api/v1/sys/journal/export'

t.test('an export of the journal is CSV with the entries of a filter, and no cell of it is a formula', async t => {
  const fixture = await openFixture(t, { store: kinds.at(-1)! })
  const token = await fixture.signIn()
  const user = someone()
  const { consumer } = fixture.gateway.sides
  const names = ['=1+1', '+1', '-1', '@a', ' =1', '\t=1', '\rx', '＝1', 'a "quoted", name\r\nof 安', 'plain']
  for (const nickname of names) await consumer.login(undefined, user, { username: 'ann', nickname })
  for (let i = 0; i < 250; i++) await consumer.disable(user, 60)

  const answer = await fixture.get(`${EXPORT}?login_id=${user}`, token)
  t.equal(answer.status, 200)
  t.equal(answer.headers['content-type'], 'text/csv; charset=utf-8')
  t.equal(answer.headers['content-disposition'], 'attachment; filename="journal.csv"')
  t.equal(answer.headers['cache-control'], 'no-store')
  t.ok(answer.text.startsWith('\uFEFF"time","event","type","login_id",'), 'with a byte order mark')
  const [head, ...lines] = readCsv(answer.text.slice(1))
  t.equal(lines.length, 260)
  const records = lines.map(line => Object.fromEntries(head!.map((name, i) => [name, line[i]])))
  const page = (await journalOf(fixture, token, { login_id: user, size: '100' })).data
  for (const [i, record] of page.records.entries()) {
    for (const [name, value] of Object.entries(record)) {
      t.equal(records[i]![name], name === 'id' ? `'${value}` : (value ?? ''), name)
    }
  }
  const shown = records.slice(250).map(({ nickname }) => nickname)
  t.same(
    shown,
    names.toReversed().map(name => (/quoted|plain/.test(name) ? name : `'${name}`)),
  )
  for (const cell of lines.flat()) t.notMatch(cell, /^\s*[=+\-@＝]|^[\t\r]/)

  const part = async (query: Record<string, string>) => {
    const { text } = await fixture.get(`${EXPORT}?${new URLSearchParams({ login_id: user, ...query })}`, token)
    return readCsv(text.slice(1)).slice(1)
  }
  t.same(await part({ event: 'login', username: 'ANN' }), lines.slice(250))
  const first = await part({ size: '150' })
  const last = first.at(-1)!.at(-1)!.slice(1)
  t.same([...first, ...(await part({ cursor: last }))], lines, 'a cursor continues where an export ended')
})

t.test('an export of the journal needs its permission, and refuses as the page does', async t => {
  const fixture = await openFixture(t)
  const { business } = fixture.gateway.sides
  const sees = await business.login(undefined, '7', { permissions: ['sys:journal:page'] })
  const other = await business.login(undefined, '8', { permissions: ['sys:session:page'] })
  t.equal((await fixture.get(EXPORT)).json().code, 401)
  t.equal((await fixture.get(EXPORT, other)).json().code, 403)
  const refused = (await fixture.get(`${EXPORT}?size=100001`, sees)).json()
  t.match(refused, { code: 400, message: 'size: must be a whole number from 1 to 100000' })
  t.match((await fixture.get(`${EXPORT}?since=yesterday`, sees)).json(), { code: 400, message: /^since: must be/ })
  t.match((await fixture.get(EXPORT, sees)).text, /"login"/)
})

t.test('an invalid filter of the journal is refused, and names its field', async t => {
  const fixture = await openFixture(t)
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
  const fixture = await openFixture(t)
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
  const fixture = await openFixture(t)
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
  const fixture = await openFixture(t, { config: { journal: 'off' } })
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
  const fixture = await openFixture(t, { config: { journal: { keep: '1h', max_entries: 1000 } } })
  const token = await fixture.signIn()
  await fixture.elapse(3_600_001)
  await fixture.gateway.sides.consumer.disable('1', 60)
  const { records } = (await journalOf(fixture, token)).data
  t.ok(eventsIn(records).includes('disable'))
  // A removal that began before the hour was over finds nothing, and the one after the next entry finds what is too old.
  await until(async () => {
    await fixture.gateway.sides.consumer.disable('1', 60)
    const { entries } = await fixture.store.journal.page({ size: 10, event: 'login' })
    return entries.length === 0
  })
  await fixture.gateway.close()
  const { entries } = await fixture.store.journal.page({ size: 10 })
  t.same(new Set(entries.map(({ event }) => event)), new Set(['disable']))
})

t.test('clients that have proven nothing remove no entry of users and administrators from the journal', async t => {
  const fixture = await openFixture(t, {
    store: kinds.at(-1)!,
    config: {
      journal: { keep: '1h', max_entries: 1000, max_failures: 1000 },
      login: { lockout: { address_failures: 100_000 } },
    },
  })
  const token = await fixture.signIn()
  await fixture.gateway.sides.business.disable('7', 60)
  await fixture.post('/api/v1/public/b/login', await fixture.credentials(undefined, 'a wrong password'))
  const body = { captcha_id: 'x', captcha_value: 'y', username: 'admin', password: 'z' }
  for (let i = 0; i < 110; i++) {
    await Promise.all(Array.from({ length: 10 }, () => fixture.post('/api/v1/public/b/login', body)))
  }
  await journalOf(fixture, token)
  const { journal } = fixture.store
  const count = async (query: object): Promise<number> => {
    let all = 0
    for (let before: string | undefined; ; ) {
      const { entries, next } = await journal.page({ size: 100, before, ...query })
      all += entries.length
      if (next === null) return all
      before = next
    }
  }
  // What is beyond the bound is removed after the next entry that is stored.
  await until(async () => {
    await fixture.post('/api/v1/public/b/login', body)
    // A thousand of no account, and that of the account.
    return (await count({ event: 'login-failed' })) === 1001
  })
  await fixture.gateway.close()
  t.equal(await count({ event: 'login' }), 1)
  t.equal(await count({ event: 'disable', login_id: '7' }), 1)
  t.equal(await count({ event: 'login-failed', login_id: '1' }), 1)
})

t.test('a login id that is spelled as a word of the gateway has its side in `by_type`, the word has none', async t => {
  const fixture = await openFixture(t)
  const token = await fixture.signIn()
  const { business, consumer } = fixture.gateway.sides
  const named = await business.login(undefined, 'operations', { roles: ['SUPER_ADMIN'] })
  const own = await consumer.login(undefined, '1')
  await fixture.post('/api/v1/client/session/disable', { user_id: 'x', seconds: 60 }, named)
  await fixture.post('/api/v1/c/logout', {}, own)
  await consumer.disable('y', 60)
  const by = async (query: Record<string, string>) => {
    const [entry] = (await journalOf(fixture, token, query)).data.records
    return [entry!.by, entry!.by_type]
  }
  t.same(await by({ login_id: 'x' }), ['operations', 'BUSINESS'])
  t.same(await by({ login_id: 'y' }), ['operations', null])
  t.same(await by({ login_id: '1', event: 'logout' }), ['1', 'CONSUMER'])
  t.same(await by({ login_id: '1', event: 'login', type: 'BUSINESS' }), ['1', 'BUSINESS'])
  const events = fixture.log.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'event')
  t.match(
    events.find(({ login_id }) => login_id === 'x'),
    { by: 'operations', by_type: 'BUSINESS' },
  )
  t.notOk('by_type' in events.find(({ login_id }) => login_id === 'y'))
})

t.test('a gateway that closes has stored every entry', async t => {
  const fixture = await startFixture({ store: kinds.at(-1)! })
  const user = someone()
  for (let i = 0; i < 60; i++) await fixture.gateway.sides.consumer.disable(user, 60)
  await fixture.gateway.close()
  const { entries } = await fixture.store.journal.page({ size: 100, login_id: user })
  await fixture.close()
  t.equal(entries.length, 60)
})
