import t from 'tap'
import { createLog } from '../../src/base/log/log.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import type { SessionEvent } from '../../src/event/event.ts'
import { Recorder } from '../../src/journal/recorder.ts'
import { Meter } from '../../src/metrics/meter.ts'
import type { JournalEntry, JournalStore } from '../../src/store/journal.ts'
import { clockOf } from '../support/clock.ts'
import { PATIENCE, until } from '../support/until.ts'
import { countsOf } from './counts.ts'

const LOGIN: SessionEvent = { event: 'login', type: 'BUSINESS', login_id: '1' }

/** A recorder on a store that keeps what it is given, and fails while `fixture.fails` says so. */
function openRecorder() {
  const kept: JournalEntry[] = []
  const lines: string[] = []
  const fixture = { kept, lines, fails: false, hangs: false, calls: 0 }
  const store: JournalStore = {
    async append(entries) {
      fixture.calls++
      if (fixture.hangs) await new Promise(() => undefined)
      if (fixture.fails) throw new Unavailable('the store is away')
      kept.push(...entries)
    },
    trim: async () => 0,
    page: async () => ({ entries: [], next: null }),
  }
  const meter = new Meter()
  const recorder = new Recorder({
    store,
    settings: { keep: 1000, max_entries: 10, max_failures: 10 },
    clock: clockOf(() => 1_700_000_000_000),
    log: createLog('info', { write: line => void lines.push(line) }),
    meter,
  })
  return { ...fixture, fixture, recorder, counts: () => countsOf(meter) }
}

t.test('events that are published together are stored together, in their order', async t => {
  const { recorder, fixture, kept, counts } = openRecorder()
  for (let i = 0; i < 150; i++) recorder.publish({ ...LOGIN, login_id: String(i) })
  t.equal(fixture.calls, 0, 'no request waits for the store')
  await recorder.flush()
  t.equal(fixture.calls, 1)
  t.same(
    [...kept].sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ login_id }) => login_id),
    Array.from({ length: 150 }, (_, i) => String(i)),
  )
  t.same(await counts(), { written: 150, lost: 0, failures: 0 })
  await recorder.close(1000)
})

t.test('while the store fails, failed logins of unknown clients displace no entry that waits', async t => {
  const { recorder, fixture, kept, counts } = openRecorder()
  fixture.fails = true
  recorder.publish(LOGIN)
  await recorder.flush()
  const failed: SessionEvent = { event: 'login-failed', type: 'BUSINESS', login_id: null, reason: 'CAPTCHA_GONE' }
  for (let i = 0; i < 11_000; i++) recorder.publish(failed)
  for (let i = 0; i < 100; i++) recorder.publish(LOGIN)
  fixture.fails = false
  await recorder.close(1000)
  t.equal(kept.filter(({ event }) => event === 'login').length, 101)
  t.same(await counts(), { written: 1100, lost: 10_001, failures: 1 })
})

t.test('a recorder that is closed stores what was published until then', async t => {
  const { recorder, kept } = openRecorder()
  for (let i = 0; i < 500; i++) recorder.publish(LOGIN)
  const underWay = recorder.flush()
  recorder.publish(LOGIN)
  await recorder.close(1000)
  await underWay
  t.equal(kept.length, 501)
})

t.test('entries wait while the store fails, are counted, and are stored once it answers', async t => {
  const { recorder, fixture, kept, counts, lines } = openRecorder()
  fixture.fails = true
  recorder.publish(LOGIN)
  await recorder.flush()
  await recorder.flush()
  t.same(await counts(), { written: 0, lost: 0, failures: 2 })
  t.equal(lines.filter(line => line.includes('the journal cannot be written')).length, 1, 'one line of the log')
  fixture.fails = false
  recorder.publish({ ...LOGIN, login_id: '2' })
  await recorder.flush()
  t.same(
    kept.map(({ login_id }) => login_id),
    ['1', '2'],
  )
  await recorder.close(1000)
})

t.test('of more than ten thousand entries that wait the oldest are lost, and counted', async t => {
  const { recorder, fixture, kept, counts } = openRecorder()
  fixture.fails = true
  for (let i = 0; i < 10_050; i++) recorder.publish({ ...LOGIN, login_id: String(i) })
  await recorder.flush()
  fixture.fails = false
  await recorder.flush()
  t.equal(kept.length, 10_000)
  t.equal(kept[0]!.login_id, '50')
  t.same(await counts(), { written: 10_000, lost: 50, failures: 1 })
  await recorder.close(1000)
})

t.test('a recorder that is closed while the store fails stores its entries when the store answers again', async t => {
  const { recorder, fixture, kept, counts } = openRecorder()
  fixture.fails = true
  recorder.publish(LOGIN)
  let isClosed = false
  const closing = recorder.close(PATIENCE).then(() => {
    isClosed = true
  })
  await until(() => fixture.calls === 3 || isClosed)
  fixture.fails = false
  await closing
  t.equal(kept.length, 1)
  t.same(await counts(), { written: 1, lost: 0, failures: 3 })
})

for (const fails of [false, true]) {
  t.test(`a recorder that is closed leaves no timer, with a store that ${fails ? 'fails' : 'answers'}`, async t => {
    const timers = (): number => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
    const before = timers()
    const { recorder, fixture, counts } = openRecorder()
    fixture.fails = fails
    recorder.publish(LOGIN)
    // So that it ends: a store that fails is tried for as long as it may.
    await recorder.close(fails ? 1 : PATIENCE)
    t.equal(timers(), before, 'that keeps the process from ending')
    t.equal((await counts()).lost, fails ? 1 : 0)
  })
}

t.test('a store that never answers does not keep a recorder from closing, and what is lost is counted', async t => {
  const { recorder, fixture, counts, lines } = openRecorder()
  fixture.hangs = true
  recorder.publish(LOGIN)
  const closing = recorder.flush()
  recorder.publish(LOGIN)
  await recorder.close(1)
  t.equal((await counts()).lost, 2)
  t.ok(lines.some(line => line.includes('entries of the journal are lost')))
  t.ok(closing instanceof Promise)
})

t.test('a renewal is not kept', async t => {
  const { recorder, kept } = openRecorder()
  recorder.publish({ ...LOGIN, event: 'renew', seconds: 60 })
  recorder.publish({ ...LOGIN, event: 'disable', seconds: 60 })
  await recorder.close(1000)
  t.match(kept, [{ event: 'disable', login_id: '1' }])
})
