import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../base/clock.ts'
import { isLoginId, readRecord, type SessionRecord } from '../../../session/record.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { Ages } from '../../age.ts'
import { fold, namesOf } from '../../names.ts'
import type { OnlineUsers, PageQuery, Tally, UserPage } from '../../online.ts'
import type { EmbeddedFile } from '../file/lmdb-file.ts'
import { EmbeddedMembers, type Member, sideKey } from '../file/members.ts'
import type { Expiries, ExpiringTable } from '../file/table.ts'
import { DisabledIds } from './disabled.ts'
import { Filtering } from './filtering.ts'
import { LoginCounters } from './logins.ts'
import { NameIndex, sameNames } from './names.ts'
import { OnlineOrder, type Place } from './order.ts'
import { Reindexing } from './reindex.ts'
import { usersIn } from './sizes.ts'
import { People, type Person } from './users.ts'

/** Users whom a keyword finds at most. */
const MAX_FOUND = 1000
/** Expired sessions that a question removes at most before it is answered, and how many in one transaction. */
const MAX_SETTLED = 1000
const SETTLE_BATCH = 100
/** Users that are listed from one snapshot: below a millisecond. */
const USERS_AT_ONCE = 100

/**
 * The sets of the users, and who is online as it follows from them: kept in the transactions of the verbs, so that it is
 * always exact. Sessions that have expired leave it when they are swept: by the store, or by a question about
 * the online users before it is answered, up to `MAX_SETTLED` of them.
 */
export class EmbeddedOnline implements OnlineUsers {
  readonly members: EmbeddedMembers
  readonly #file: EmbeddedFile
  readonly #ages: Ages
  readonly #tokens: ExpiringTable
  readonly #disabled: DisabledIds
  readonly #order: OnlineOrder
  readonly #names: NameIndex
  readonly #people: People
  readonly #logins: LoginCounters
  readonly #filtering: Filtering

  constructor(
    file: EmbeddedFile,
    expiries: Expiries,
    clock: Clock,
    tokens: ExpiringTable,
    disables: ExpiringTable,
    ages: Ages,
  ) {
    this.members = new EmbeddedMembers(file, ages)
    this.#ages = ages
    this.#file = file
    this.#tokens = tokens
    this.#disabled = new DisabledIds(file, disables)
    this.#order = new OnlineOrder(file)
    this.#names = new NameIndex(file)
    this.#filtering = new Filtering(file, this.#names)
    this.#people = new People(expiries, clock, (type, userId, person) => this.#leaveIndex(type, userId, person))
    this.#logins = new LoginCounters(expiries, clock)
  }

  /** A token has been stored: it enters its user's set. Within a write. */
  enter(type: LoginType, token: string, record: SessionRecord): void {
    const { user_id: userId } = record
    const member = this.members.memberOf(token, record)
    const before = this.#people.get(type, userId)
    this.members.put(type, userId, member)
    const tokens = (before?.tokens ?? 0) + 1
    const person = this.#isNewest(type, userId, member, before)
      ? { tokens, created: member.created, names: namesOf(record.extra) }
      : { created: 0, names: [], ...before, tokens }
    this.#follow(type, userId, before, person)
  }

  #isNewest(type: LoginType, userId: string, member: Member, before: Person | null): boolean {
    const newest = before !== null && before.tokens > 0 ? before.created : -1
    if (member.created !== newest) return member.created > newest
    return this.members.newest(type, userId)?.token === member.token
  }

  /** How many tokens a user has, expired ones that no sweep has met yet included. */
  tokensOf(type: LoginType, userId: string): number {
    return this.#people.get(type, userId)?.tokens ?? 0
  }

  /** Within a write. */
  countLogin(type: LoginType, token: string, record: SessionRecord): void {
    this.#logins.count(type, this.#ages.createdAt({ token, record }))
  }

  /** Tokens of a user have been removed: they leave the set. Within a write. */
  leave(type: LoginType, userId: string, tokens: readonly Member[]): void {
    const removed = tokens.filter(member => this.members.remove(type, userId, member))
    const before = this.#people.get(type, userId)
    if (removed.length === 0 || before === null) return
    const left = Math.max(0, before.tokens - removed.length)
    const wasNewest = removed.some(({ created }) => created === before.created)
    const person = wasNewest && left > 0 ? this.#newestOf(type, userId) : before
    this.#follow(type, userId, before, { ...before, ...person, tokens: left })
  }

  /** What the newest token of a user says. */
  #newestOf(type: LoginType, userId: string): Pick<Person, 'created' | 'names'> | null {
    const newest = this.members.newest(type, userId)
    if (newest === null) return null
    const text = this.#tokens.peek(sideKey(type, newest.token))?.text
    const record = text === undefined ? null : readRecord(text, type)
    return { created: newest.created, names: record === null ? [] : namesOf(record.extra) }
  }

  /** A user was kept as `before`, and is to be kept as `now`. Within a write. */
  #follow(type: LoginType, userId: string, before: Person | null, now: Omit<Person, 'block'>): void {
    this.#order.move(type, userId, before?.tokens ? before : null, now.tokens > 0 ? now : null)
    this.#people.put(type, userId, { ...now, block: this.#index(type, userId, before, now.names) })
  }

  /** Keeps the names of a user in the index, and answers in which block. */
  #index(type: LoginType, userId: string, before: Person | null, names: readonly string[]): number {
    if (before !== null && sameNames(before.names, names)) return before.block
    if (before !== null) this.#leaveIndex(type, userId, before)
    if (names.length === 0) return 0
    const last = this.#names.lastBlock(type)
    const block = this.#names.enter(type, { userId, names })
    // Left to the sweep if this process ends before, or cannot do it.
    if (this.#names.isFirstOfGroup(block) && block !== last) setImmediate(() => this.filter().catch(() => undefined))
    return block
  }

  #leaveIndex(type: LoginType, userId: string, { names, block }: Person): void {
    if (names.length === 0) return
    this.#names.leave(type, userId, block, (moved, to) => this.#people.moveTo(type, moved.userId, to))
  }

  /** Makes the filters that the index lacks. */
  filter(): Promise<void> {
    return this.#filtering.run()
  }

  disabled(type: LoginType, query: Pick<PageQuery, 'offset' | 'limit'>): Promise<UserPage> {
    return this.#disabled.page(type, query)
  }

  page(type: LoginType, { offset, limit, keyword = '' }: PageQuery): Promise<UserPage> {
    return this.#ask(() => {
      if (keyword === '') {
        return { total: usersIn(this.#order.sizes(type)), userIds: this.#order.slice(type, offset, limit) }
      }
      const found = this.#find(type, keyword)
      return { total: found.length, userIds: found.slice(offset, offset + limit).map(({ userId }) => userId) }
    })
  }

  /**
   * Those whom a keyword finds, the newest login first. Beyond `MAX_FOUND` it takes those whose names have come last into
   * the index. Costs some microseconds for each user found, and about a millisecond for each million in the index.
   */
  #find(type: LoginType, keyword: string): Place[] {
    const folded = fold(keyword)
    const found = new Map<string, Place>()
    const look = (userId: string): void => {
      const person = this.#people.get(type, userId)
      if (person !== null && person.tokens > 0) found.set(userId, { userId, created: person.created })
    }
    if (isLoginId(keyword)) look(keyword)
    for (const userId of this.#names.find(type, folded)) {
      if (found.size >= MAX_FOUND) break
      look(userId)
    }
    return [...found.values()].toSorted(byPlace)
  }

  tally(type: LoginType): Promise<Tally> {
    return this.#ask(() => {
      const sizes = [...this.#order.sizes(type)]
      return {
        users: sizes.reduce((sum, [, users]) => sum + users, 0),
        tokens: sizes.reduce((sum, [size, users]) => sum + size * users, 0),
        maxTokensPerUser: Math.max(0, ...sizes.map(([size]) => size)),
      }
    })
  }

  async *users(type: LoginType): AsyncGenerator<string[]> {
    for (let last = ''; ; ) {
      const from = last
      const userIds = this.#file.read(() => this.members.usersAfter(type, from, USERS_AT_ONCE))
      if (userIds.length > 0) yield userIds
      if (userIds.length < USERS_AT_ONCE) return
      last = userIds.at(-1)!
      await nextTurn()
    }
  }

  async loginsOn(type: LoginType, days: readonly string[]): Promise<number[]> {
    return this.#file.read(() => days.map(day => this.#logins.on(type, day)))
  }

  async loginsSince(type: LoginType, timestamp: number): Promise<number> {
    return this.#file.read(() => this.#logins.since(type, timestamp))
  }

  async reindex(type: LoginType, progress: (done: number, total: number) => void): Promise<number> {
    const { tokens: total } = await this.tally(type)
    const indexed = {
      file: this.#file,
      tokens: this.#tokens,
      members: this.members,
      order: this.#order,
      names: this.#names,
      people: this.#people,
      enter: this.enter.bind(this),
      truthOf: this.#truthOf.bind(this),
      index: this.#index.bind(this),
      leaveIndex: this.#leaveIndex.bind(this),
      filtering: this.#filtering,
    }
    await new Reindexing(indexed, type, share => progress(Math.floor(total * share), total)).run()
    return (await this.tally(type)).tokens
  }

  /** The entry of a user, computed from the members; 0 tokens if there are no members. */
  #truthOf(type: LoginType, userId: string): Omit<Person, 'block'> {
    const newest = this.#newestOf(type, userId)
    if (newest === null) return { created: 0, names: [], ...this.#people.get(type, userId), tokens: 0 }
    return { ...newest, tokens: this.members.count(type, userId) }
  }

  /** Answers from one snapshot, in which no session that has expired is left, unless very many did at once. */
  async #ask<T>(question: () => T): Promise<T> {
    // A file that takes no change, because the disk is full or its lock is held, can still be asked.
    await this.#settle().catch(() => undefined)
    return this.#file.read(question)
  }

  async #settle(): Promise<void> {
    for (let settled = 0; settled < MAX_SETTLED; settled += SETTLE_BATCH) {
      if (!this.#file.read(() => this.#tokens.anyDue())) break
      await this.#file.write(() => this.#tokens.removeDue(SETTLE_BATCH))
    }
  }
}

const byPlace = (a: Place, b: Place): number => b.created - a.created || (a.userId < b.userId ? -1 : 1)
