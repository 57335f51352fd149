import type { EventName } from '../../src/event/event.ts'
import { LOGIN_TYPES } from '../../src/session/sides.ts'
import { type JournalEntry, type JournalQuery, type JournalStore, TRIMMED_AT_ONCE } from '../../src/store/journal.ts'
import { createEntryId, timeOf } from '../../src/store/journal-id.ts'
import { fc } from '../support/random.ts'
import { checkSequences, expect, type See, type SequenceOptions } from './model.ts'

/* The journal of a store beside a list in memory: what is kept, removed and found on each page. */

const EVENTS: readonly EventName[] = ['login', 'login-failed', 'kickout', 'account-edited']
/** Some are parts of the names of lists, as `src/store/journal.ts` builds them. */
const LOGIN_IDS = ['1', '1:2', 'login', 'b:login', null]
const HOUR = 3_600_000
/** Of entries that arrive later than younger ones, as those of another gateway may, in milliseconds. */
const LAGS = [0, 0, 0, 3, 40, 5000]
/** More than one step of a trim removes, at most. */
const MANY = TRIMMED_AT_ONCE + 30

const count = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.integer({ min: 1, max: MANY }))
const choice = <T>(...values: readonly T[]) => fc.constantFrom<T | undefined>(undefined, ...values)

const query = fc.record({
  size: fc.integer({ min: 1, max: 40 }),
  login_id: choice('1', '1:2', 'login', 'nobody'),
  type: choice(...LOGIN_TYPES),
  event: choice(...EVENTS),
  /** Which entry of all gives the time; none for no bound. */
  since: choice(0, 0.2, 0.6, 1.1),
  until: choice(0, 0.4, 0.9),
  /** Where the first page begins: at an entry that is there, was removed, or never was. */
  cursor: choice('kept', 'removed', 'foreign'),
})

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      verb: fc.constant('append' as const),
      count,
      lag: fc.constantFrom(...LAGS),
      shape: fc.nat(99),
    }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('again' as const), count }) },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('trim' as const),
      most: fc.constantFrom(0, 7, 40, 1000),
      /** Which entry of all is the first that is young enough. */
      before: fc.constantFrom(0, 0, 0.1, 0.5),
    }),
  },
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('page' as const), query }) },
  {
    weight: 1,
    arbitrary: fc.record({ verb: fc.constant('rush' as const), count, most: fc.constantFrom(7, 40, 1000), query }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
type Query = Extract<Step, { verb: 'page' }>['query']

/** Reaches every outcome. */
const FIRST: Step[] = [
  { verb: 'append', count: 30, lag: 0, shape: 0 },
  { verb: 'page', query: everything(7) },
  { verb: 'trim', most: 7, before: 0 },
  { verb: 'trim', most: 1000, before: 0 },
  { verb: 'again', count: 5 },
  { verb: 'page', query: everything(40) },
  { verb: 'rush', count: 5, most: 7, query: everything(40) },
]

function everything(size: number): Query {
  const any = undefined
  return { size, login_id: any, type: any, event: any, since: any, until: any, cursor: any }
}

/** `other` is the journal of another process on the same store; at the same time both are used. */
export const fuzzJournal = (journal: JournalStore, other: JournalStore, options: SequenceOptions) =>
  checkSequences(
    step,
    { minLength: 4, maxLength: 20 },
    options,
    async (steps, see) => {
      while ((await journal.trim(Number.MAX_SAFE_INTEGER, 0, 'trail')) > 0);
      const world = new JournalWorld([journal, other], see)
      for (const one of steps) await world.take(one)
      await world.comparePages({ size: 9 })
    },
    [FIRST],
  )

class JournalWorld {
  readonly #journals: readonly [JournalStore, JournalStore]
  readonly #see: See
  /** The oldest first, as everything that is kept. */
  #kept: JournalEntry[] = []
  #removed: JournalEntry[] = []
  readonly #idAt = createEntryId()
  #now = Date.now()
  #turn = 0

  constructor(journals: readonly [JournalStore, JournalStore], see: See) {
    this.#journals = journals
    this.#see = see
  }

  async take(step: Step): Promise<void> {
    this.#now += 7
    this.#turn += 1
    const journal = this.#journals[this.#turn % 2]!
    if (step.verb === 'append') await this.#append(journal, this.#entries(step.count, step.lag, step.shape))
    else if (step.verb === 'again') await this.#append(journal, this.#kept.slice(-step.count))
    else if (step.verb === 'trim') await this.#trim(journal, this.#timeAt(step.before), step.most)
    else if (step.verb === 'page') await this.comparePages(this.#queryOf(step.query))
    else await this.#rush(step.count, step.most, this.#queryOf(step.query))
  }

  #entries(count: number, lag = 0, shape = 0): JournalEntry[] {
    return Array.from({ length: count }, (_, i) => ({
      // Three in a millisecond.
      id: this.#idAt(this.#now - lag + Math.floor(i / 3)),
      event: EVENTS[(i + shape) % EVENTS.length]!,
      type: LOGIN_TYPES[(i >> 2) % LOGIN_TYPES.length]!,
      login_id: LOGIN_IDS[(i + (shape >> 2)) % LOGIN_IDS.length]!,
      by: '1',
      reason: `entry ${i}`,
    }))
  }

  async #append(journal: JournalStore, entries: readonly JournalEntry[]): Promise<void> {
    await journal.append(entries, this.#now + HOUR)
    this.#keep(entries)
    this.#see('append')
  }

  #keep(entries: readonly JournalEntry[]): void {
    const ids = new Set(this.#kept.map(({ id }) => id))
    this.#kept = [...this.#kept, ...entries.filter(({ id }) => !ids.has(id))].sort(byId)
  }

  async #trim(journal: JournalStore, before: number, most: number): Promise<void> {
    const due = this.#dueIn(before, most).slice(0, TRIMMED_AT_ONCE)
    expect(await journal.trim(before, most, 'trail'), due.length, `trim of entries before ${before} and beyond ${most}`)
    this.#remove(due)
    this.#see(due.length === 0 ? 'trim of nothing' : 'trim')
  }

  #dueIn(before: number, most: number): JournalEntry[] {
    return this.#kept.filter(({ id }, i) => timeOf(id) < before || i < this.#kept.length - most)
  }

  #remove(due: readonly JournalEntry[]): void {
    const ids = new Set(due.map(({ id }) => id))
    this.#kept = this.#kept.filter(({ id }) => !ids.has(id))
    this.#removed.push(...due)
  }

  /**
   * Two processes append and trim, and one reads all pages, at the same time. Entries that nothing may have removed are on
   * the pages, once and in order; in the end the newest of all entries are there, and no others.
   */
  async #rush(count: number, most: number, query: JournalQuery): Promise<void> {
    const added = [0, 1].map(() => Array.from({ length: 3 }, (_, i) => this.#entries(count, -i)))
    const before = this.#kept
    const [pages] = await Promise.all([
      this.#read(this.#journals[0], query),
      ...this.#journals.map(async (journal, i) => {
        for (const entries of added[i]!) {
          await journal.append(entries, this.#now + HOUR)
          await journal.trim(0, most, 'trail')
        }
      }),
    ])
    this.#keep(added.flat(2))
    const all = this.#kept
    for (const journal of this.#journals) while ((await journal.trim(0, most, 'trail')) > 0);
    this.#remove(this.#dueIn(0, most))
    const found = pages.map(({ id }) => id)
    expect(found, [...new Set(found)].sort().reverse(), 'pages during a rush, sorted and without duplicates')
    const matching = new Set(found)
    const stays = new Set(this.#kept.map(({ id }) => id))
    const missing = before.filter(entry => stays.has(entry.id) && isFound(entry, query) && !matching.has(entry.id))
    expect(missing, [], 'entries that a page during a rush leaves out')
    const known = new Set(all.filter(entry => isFound(entry, query)).map(({ id }) => id))
    expect(
      found.filter(id => !known.has(id)),
      [],
      'entries that a page during a rush must not have',
    )
    await this.comparePages({ size: 40 })
    this.#see('rush')
  }

  async comparePages(query: JournalQuery): Promise<void> {
    const expected = this.#kept.filter(entry => isFound(entry, query)).reverse()
    for (const journal of this.#journals) {
      expect(await this.#read(journal, query), expected.map(ordered), `pages of ${JSON.stringify(query)}`)
    }
    this.#see(expected.length > query.size ? 'several pages' : 'one page')
  }

  /** All pages of a query. Each is full but the last. */
  async #read(journal: JournalStore, query: JournalQuery): Promise<JournalEntry[]> {
    const read: JournalEntry[] = []
    for (let { before } = query; ; ) {
      const { entries, next } = await journal.page({ ...query, before })
      read.push(...entries.map(ordered))
      if (next === null) return read
      if (entries.length > query.size) throw new Error(`a page of ${entries.length} entries, not ${query.size}`)
      before = next
    }
  }

  #timeAt(part: number): number {
    const entry = this.#kept[Math.floor(part * this.#kept.length)]
    return entry === undefined ? 0 : timeOf(entry.id)
  }

  #queryOf({ cursor, since, until, ...query }: Query): JournalQuery {
    const entries: Readonly<Record<string, readonly JournalEntry[]>> = { kept: this.#kept, removed: this.#removed }
    const entry = entries[cursor ?? '']?.at(-3)
    const before = cursor === undefined ? undefined : (entry?.id ?? this.#idAt(this.#now - 3))
    return {
      ...query,
      ...(before !== undefined && { before }),
      ...(since !== undefined && { since: this.#timeAt(since) }),
      ...(until !== undefined && { until: this.#timeAt(until) }),
    }
  }
}

const byId = (one: JournalEntry, other: JournalEntry): number => (one.id < other.id ? -1 : 1)

/** The same fields in the same order, to be compared as text. */
const ordered = ({ id, event, type, login_id, reason = '' }: JournalEntry): JournalEntry => ({
  ...{ id, event, type, login_id, reason },
})

const isFound = (
  { id, ...entry }: JournalEntry,
  { before, since, until, login_id, type, event }: JournalQuery,
): boolean =>
  (before === undefined || id < before) &&
  (since === undefined || timeOf(id) >= since) &&
  (until === undefined || timeOf(id) <= until) &&
  (login_id === undefined || entry.login_id === login_id) &&
  (type === undefined || entry.type === type) &&
  (event === undefined || entry.event === event)
