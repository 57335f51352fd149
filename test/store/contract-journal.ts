import type { EventName } from '../../src/event/event.ts'
import type { LoginType } from '../../src/session/sides.ts'
import {
  type JournalEntry,
  type JournalPage,
  type JournalQuery,
  type JournalStore,
  NAMED_AT_MOST,
  TRIMMED_AT_ONCE,
} from '../../src/store/journal.ts'
import { createEntryId, timeOf } from '../../src/store/journal-id.ts'
import type { StoreTest } from './contract.ts'
import { MINUTE } from './contract-fixture.ts'

const idAt = createEntryId()

const entryAt = (time: number, entry: Partial<JournalEntry> = {}): JournalEntry => ({
  id: idAt(time),
  event: 'login',
  type: 'BUSINESS',
  login_id: '1',
  ...entry,
})

/** Every entry of a query, page by page. */
async function allOf(journal: JournalStore, query: Omit<JournalQuery, 'before'>): Promise<JournalEntry[]> {
  const found: JournalEntry[] = []
  for (let page: JournalPage | null = null; page === null || page.next !== null; ) {
    page = await journal.page({ ...query, before: page?.next ?? undefined })
    found.push(...page.entries)
  }
  return found
}

const idsOf = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id)
const newestFirst = (entries: readonly JournalEntry[]): JournalEntry[] =>
  [...entries].sort((a, b) => (a.id < b.id ? 1 : -1))

const EVENTS: readonly EventName[] = ['login', 'login-failed', 'kickout', 'account-edited']
const SOME_LOGIN_IDS = ['1', '2', '1:2', 'login', '1923410000000000001', null]

/** Entries of both sides, of several events and login ids, some in the same millisecond, in the order of their ids. */
function manyEntries(start: number): JournalEntry[] {
  return Array.from({ length: 240 }, (_, i) =>
    entryAt(start + Math.floor(i / 3), {
      event: EVENTS[i % EVENTS.length]!,
      type: (['BUSINESS', 'CONSUMER'] satisfies LoginType[])[Math.floor(i / 7) % 2]!,
      login_id: SOME_LOGIN_IDS[Math.floor(i / 5) % SOME_LOGIN_IDS.length]!,
      by: '1',
    }),
  )
}

export async function journalLaw(test: StoreTest): Promise<void> {
  await contentLaw(test)
  await filterLaw(test)
  await trimLaw(test)
}

async function contentLaw(test: StoreTest): Promise<void> {
  await test('an entry of the journal is returned as it was kept', async (t, { store: { journal }, clock }) => {
    const now = Math.floor(clock.now())
    const full = entryAt(now, {
      event: 'kickout',
      type: 'CONSUMER',
      login_id: '1923410000000000001',
      username: 'ann 安',
      nickname: 'A "quoted" \\ name\u0000\n𝄞',
      by: '2',
      by_type: 'BUSINESS',
      reason: 'account-changed',
      address: '2001:db8::1',
      device_type: 'Chrome',
      device_id: '',
      jti: '6Zb1xw0cS2mPq1c9oV4y7g',
      trace_id: 'a'.repeat(32),
    })
    const bare = entryAt(now + 1, { login_id: null })
    await journal.append([full, bare], now + MINUTE)
    t.strictSame(await journal.page({ size: 10 }), { entries: [bare, full], next: null })
    t.equal(timeOf(full.id), now)
  })

  await test('entries that are kept again are kept once', async (t, { store: { journal }, clock }) => {
    const entries = manyEntries(clock.now()).slice(0, 20)
    await journal.append(entries.slice(0, 10), clock.now() + MINUTE)
    await Promise.all([1, 2, 3].map(() => journal.append(entries, clock.now() + MINUTE)))
    t.strictSame(idsOf(await allOf(journal, { size: 7 })), idsOf(newestFirst(entries)))
    t.strictSame(
      idsOf(await allOf(journal, { size: 7, login_id: '1' })),
      idsOf(newestFirst(entries).filter(({ login_id }) => login_id === '1')),
    )
    t.equal(await journal.trim(0, entries.length, 'trail'), 0, 'and counted once')
  })

  await test('a journal without entries has one page, which is empty', async (t, { store: { journal } }) => {
    for (const query of [{}, { login_id: '1' }, { event: 'login' as const }, { type: 'CONSUMER' as const }]) {
      t.strictSame(await journal.page({ size: 10, ...query }), { entries: [], next: null })
    }
    t.equal(await journal.trim(Number.MAX_SAFE_INTEGER, 0, 'trail'), 0)
    await journal.append([], 0)
  })

  await test('entries of many processes at once are all there', async (t, { store: { journal }, clock }) => {
    const writers = Array.from({ length: 8 }, () => createEntryId())
    const entries = writers.map(create =>
      manyEntries(clock.now()).map(entry => ({ ...entry, id: create(clock.now()) })),
    )
    await Promise.all(entries.map(some => journal.append(some, clock.now() + MINUTE)))
    t.strictSame(idsOf(await allOf(journal, { size: 100 })), idsOf(newestFirst(entries.flat())))
  })
}

async function filterLaw(test: StoreTest): Promise<void> {
  await test('each filter of the journal, and all of them together, find what a reader of all entries finds', async (t, fixture) => {
    const { journal } = fixture.store
    const start = Math.floor(fixture.clock.now())
    const entries = manyEntries(start)
    // Entries of other gateways may arrive later than younger ones.
    await journal.append(
      entries.filter((_, i) => i % 2 === 0),
      start + MINUTE,
    )
    await journal.append(
      entries.filter((_, i) => i % 2 === 1),
      start + MINUTE,
    )
    const choices: { [K in keyof JournalQuery]?: JournalQuery[K][] } = {
      login_id: [undefined, '1', '1:2', 'login', 'unknown'],
      type: [undefined, 'BUSINESS', 'CONSUMER'],
      event: [undefined, 'login', 'kickout', 'password-reset'],
    }
    const times = [{}, { since: start + 20 }, { until: start + 50 }, { since: start + 20, until: start + 50 }]
    for (const login_id of choices.login_id!) {
      for (const type of choices.type!) {
        for (const event of choices.event!) {
          for (const time of times) {
            const query = { login_id, type, event, ...time }
            const expected = newestFirst(entries).filter(
              entry =>
                (login_id === undefined || entry.login_id === login_id) &&
                (type === undefined || entry.type === type) &&
                (event === undefined || entry.event === event) &&
                (time.since === undefined || timeOf(entry.id) >= time.since) &&
                (time.until === undefined || timeOf(entry.id) <= time.until),
            )
            const found = await allOf(journal, { ...query, size: 37 })
            t.strictSame(idsOf(found), idsOf(expected), JSON.stringify(query))
          }
        }
      }
    }
  })

  await test('a name, in any case, finds all entries of the login ids that have it in an entry', async (t, fixture) => {
    const { journal } = fixture.store
    const now = Math.floor(fixture.clock.now())
    const ann = entryAt(now, { login_id: '1', username: 'Ann Ärger' })
    const nameless = entryAt(now + 1, { login_id: '1', event: 'kickout' })
    const renamed = entryAt(now + 2, { login_id: '1', username: 'ann2' })
    const other = entryAt(now + 3, { login_id: '10', username: 'bob' })
    const consumer = entryAt(now + 4, { type: 'CONSUMER', login_id: '1', username: 'ann ärger' })
    const prefix = entryAt(now + 5, { login_id: '1:2', username: 'ANN ÄRGER\u0000' })
    const namesake = entryAt(now + 6, { login_id: 'a', username: 'ANN ÄRGER', event: 'disable' })
    const unknown = entryAt(now + 7, { login_id: null, event: 'login-failed' })
    const all = [ann, nameless, renamed, other, consumer, prefix, namesake, unknown]
    await journal.append(all, now + MINUTE)
    const found = async (query: Partial<JournalQuery>) =>
      idsOf(await allOf(journal, { size: 2, username: 'ann ärger', ...query }))
    t.strictSame(await found({}), idsOf([namesake, consumer, renamed, nameless, ann]))
    t.strictSame(await found({ type: 'BUSINESS' }), idsOf([namesake, renamed, nameless, ann]))
    t.strictSame(await found({ event: 'login' }), idsOf([consumer, renamed, ann]))
    t.strictSame(await found({ login_id: '1', type: 'BUSINESS' }), idsOf([renamed, nameless, ann]))
    t.strictSame(await found({ login_id: '10' }), [])
    t.strictSame(await found({ username: 'ANN2' }), idsOf([renamed, nameless, ann]))
    t.strictSame(await found({ username: 'ann' }), [])
    t.strictSame(await found({ since: now + 1, until: now + 2 }), idsOf([renamed, nameless]))
    t.equal(await journal.trim(now + 7, 100, 'trail'), 7)
    t.strictSame(await found({}), [], 'a name whose entries are removed finds none')
  })

  await test('a name that many login ids have finds some of them', async (t, fixture) => {
    const { journal } = fixture.store
    const now = Math.floor(fixture.clock.now())
    const entries = Array.from({ length: 25 }, (_, i) =>
      entryAt(now + i, { type: 'CONSUMER', login_id: String(100 + (i % 15)), username: 'guest' }),
    )
    await journal.append(entries, now + MINUTE)
    const found = await allOf(journal, { size: 7, username: 'Guest' })
    t.equal(new Set(found.map(({ login_id }) => login_id)).size, NAMED_AT_MOST)
    t.equal(found.length, 20, 'each with all of its entries')
  })

  await test('a page of the journal is full while there are older entries, and the last names no next', async (t, fixture) => {
    const { journal } = fixture.store
    const entries = manyEntries(fixture.clock.now()).slice(0, 40)
    await journal.append(entries, fixture.clock.now() + MINUTE)
    for (const query of [{}, { type: 'BUSINESS' as const }]) {
      const all = await allOf(journal, { size: 100, ...query })
      for (const size of [1, all.length - 1, all.length, all.length + 1]) {
        const { entries: found, next } = await journal.page({ size, ...query })
        t.strictSame(idsOf(found), idsOf(all).slice(0, size))
        t.equal(next, size < all.length ? found.at(-1)!.id : null)
      }
    }
  })

  await test('a cursor of an entry that was removed, or never was, continues where it stands', async (t, fixture) => {
    const { journal } = fixture.store
    const now = fixture.clock.now()
    const entries = [1, 2, 3].map(i => entryAt(now + i * 10))
    await journal.append(entries, now + MINUTE)
    for (const query of [{}, { login_id: '1' }]) {
      const page = await journal.page({ size: 10, before: idAt(now + 25), ...query })
      t.strictSame(idsOf(page.entries), idsOf([entries[1]!, entries[0]!]))
      const until = await journal.page({ size: 10, before: idAt(now + 25), until: now + 15, ...query })
      t.strictSame(idsOf(until.entries), idsOf([entries[0]!]))
    }
  })
}

async function trimLaw(test: StoreTest): Promise<void> {
  await test('the oldest entries beyond a number are removed, some at a time, from every filter', async (t, fixture) => {
    const { journal } = fixture.store
    const entries = manyEntries(fixture.clock.now())
    await journal.append(entries, fixture.clock.now() + MINUTE)
    t.equal(await journal.trim(0, 240, 'trail'), 0)
    t.equal(await journal.trim(0, 30, 'trail'), TRIMMED_AT_ONCE)
    t.strictSame(idsOf(await allOf(journal, { size: 50 })), idsOf(newestFirst(entries).slice(0, 140)))
    t.equal(await journal.trim(0, 30, 'trail'), TRIMMED_AT_ONCE)
    t.equal(await journal.trim(0, 30, 'trail'), 10)
    t.equal(await journal.trim(0, 30, 'trail'), 0)
    const kept = newestFirst(entries).slice(0, 30)
    t.strictSame(idsOf(await allOf(journal, { size: 50 })), idsOf(kept))
    for (const login_id of ['1', '2', '1:2', 'login', '1923410000000000001']) {
      const expected = kept.filter(entry => entry.login_id === login_id)
      t.strictSame(idsOf(await allOf(journal, { size: 50, login_id })), idsOf(expected))
    }
  })

  await test('entries that clients without proof have caused never remove others, nor those of accounts', async (t, fixture) => {
    const { journal } = fixture.store
    const now = Math.floor(fixture.clock.now())
    const failed = (i: number, entry: Partial<JournalEntry>) =>
      entryAt(now + 10 + i, { event: 'login-failed', reason: 'CAPTCHA_GONE', login_id: null, ...entry })
    const trail = [
      entryAt(now),
      entryAt(now + 1, { event: 'disable', by: '2', by_type: 'BUSINESS' }),
      entryAt(now + 2, { event: 'login-failed', reason: 'WRONG_CODE' }),
      entryAt(now + 3, { event: 'login-failed', reason: 'WRONG_CREDENTIALS', by: '1', by_type: 'BUSINESS' }),
    ]
    const ofAccounts = [
      entryAt(now + 4, { event: 'login-failed', reason: 'WRONG_CREDENTIALS', username: 'ann' }),
      entryAt(now + 5, { event: 'disable', reason: 'too-many-failures' }),
    ]
    const anonymous = Array.from({ length: 30 }, (_, i) =>
      failed(i, i % 3 === 0 ? { event: 'disable', reason: 'too-many-failures' } : {}),
    )
    await journal.append([...anonymous.slice(0, 20), ...trail, ...ofAccounts, ...anonymous.slice(20)], now + MINUTE)
    const all = newestFirst([...trail, ...ofAccounts, ...anonymous])
    t.strictSame(await allOf(journal, { size: 7 }), all, 'a page has entries of all parts')
    const failures = all.filter(({ event }) => event === 'login-failed')
    t.strictSame(await allOf(journal, { size: 7, event: 'login-failed' }), failures)
    const ofOne = newestFirst([...trail, ...ofAccounts])
    t.strictSame(await allOf(journal, { size: 4, login_id: '1' }), ofOne)
    t.strictSame(await allOf(journal, { size: 4, username: 'ANN' }), ofOne)

    t.equal(await journal.trim(0, 5, 'anonymous'), 25)
    t.equal(await journal.trim(0, 5, 'failures'), 0)
    t.equal(await journal.trim(0, 5, 'trail'), 0)
    const kept = newestFirst([...trail, ...ofAccounts, ...anonymous.slice(25)])
    t.strictSame(await allOf(journal, { size: 7 }), kept)
    t.equal(await journal.trim(0, 1, 'failures'), 1)
    t.equal(await journal.trim(now + 3, 10, 'trail'), 3)
    const rest = newestFirst([trail[3]!, ofAccounts[1]!, ...anonymous.slice(25)])
    t.strictSame(await allOf(journal, { size: 7 }), rest)
    t.strictSame(
      await allOf(journal, { size: 7, type: 'BUSINESS', event: 'disable' }),
      rest.filter(({ event }) => event === 'disable'),
    )
  })

  await test('entries from before a timestamp are removed, and the same number remains for all who trim at once', async (t, fixture) => {
    const { journal } = fixture.store
    const start = Math.floor(fixture.clock.now())
    const entries = manyEntries(start)
    await journal.append(entries, start + MINUTE)
    t.equal(await journal.trim(start, 1000, 'trail'), 0, 'an entry of the timestamp itself stays')
    await Promise.all([1, 2, 3].map(() => journal.trim(start + 10, 1000, 'trail')))
    const young = newestFirst(entries).filter(({ id }) => timeOf(id) >= start + 10)
    t.strictSame(idsOf(await allOf(journal, { size: 100 })), idsOf(young))
    for (let i = 0; i < 5; i++) await Promise.all([1, 2, 3].map(() => journal.trim(0, 100, 'trail')))
    t.strictSame(idsOf(await allOf(journal, { size: 100 })), idsOf(young.slice(0, 100)))
    t.strictSame(
      idsOf(await allOf(journal, { size: 100, event: 'kickout' })),
      idsOf(young.slice(0, 100).filter(({ event }) => event === 'kickout')),
    )
  })
}
