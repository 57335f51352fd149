import { setImmediate as nextTurn } from 'node:timers/promises'
import { readRecord, type SessionRecord } from '../../../session/record.ts'
import type { LoginType } from '../../../session/sides.ts'
import type { EmbeddedFile } from '../file/lmdb-file.ts'
import { type EmbeddedMembers, type Member, type OwnedMember, sideKey } from '../file/members.ts'
import type { ExpiringTable } from '../file/table.ts'
import type { Filtering } from './filtering.ts'
import { type NameIndex, sameNames } from './names.ts'
import { LEVELS, type OnlineOrder, type Place, type Span } from './order.ts'
import { usersIn } from './sizes.ts'
import type { People, Person } from './users.ts'

/** Rows read in one turn of the event loop: some milliseconds. */
const BATCH = 200
const WALKS = 7 + LEVELS.length
const BEFORE_BLOCKS = -1

/** Which part of the online users is read. */
export interface Indexed {
  file: EmbeddedFile
  tokens: ExpiringTable
  members: EmbeddedMembers
  order: OnlineOrder
  names: NameIndex
  people: People
  filtering: Filtering
  /** Takes a stored token into its user's set and all that follows from it. Within a write. */
  enter(type: LoginType, token: string, record: SessionRecord): void
  /** What is to be kept of a user, by the members. */
  truthOf(type: LoginType, userId: string): Omit<Person, 'block'>
  /** Takes the names of a user, who was kept as `before`, into the index, and answers the block. Within a write. */
  index(type: LoginType, userId: string, before: Person | null, names: readonly string[]): number
  /** Takes a user out of a block of the index. Within a write. */
  leaveIndex(type: LoginType, userId: string, kept: Pick<Person, 'names' | 'block'>): void
}

/** A user in a block of the index. */
interface Indexing {
  userId: string
  names: readonly string[]
  block: number
}

/** The result of checking some rows: where to continue, how many there were, and the wrong ones. */
interface Look<Cursor, Wrong> {
  next: Cursor | null
  looked: number
  wrong: Wrong[]
}

/**
 * Compares the online users with the tokens and repairs what differs. Looking is done in short snapshots, mending in short
 * transactions that look again, and a right row is left as it is: so it may run beside everything else, end anywhere, and
 * run again. What is counted comes after what it counts.
 */
export class Reindexing {
  readonly #all: Indexed
  readonly #type: LoginType
  readonly #progress: (share: number) => void
  #finished = 0

  /** `progress` is called with the completed share, from 0 to 1. */
  constructor(all: Indexed, type: LoginType, progress: (share: number) => void) {
    this.#all = all
    this.#type = type
    this.#progress = progress
  }

  async run(): Promise<void> {
    const type = this.#type
    const { file, members, order, people } = this.#all
    const users = file.read(() => usersIn(order.sizes(type)))
    await this.#walk(sideKey(type, ''), users, this.#lookAtTokens, this.#mendToken)
    await this.#walk(members.start, users, this.#lookAtMembers, this.#mendMember)
    for (const source of [members.usersAfter.bind(members), people.after.bind(people)]) {
      await this.#walk('', users, cursor => this.#lookAtUsers(source(type, cursor, BATCH)), this.#mendUser)
    }
    await this.#walk(order.start, users, this.#lookAtPlaces, this.#mendPlace)
    await this.#walk(BEFORE_BLOCKS, users, this.#lookAtBlock, this.#mendIndexing)
    for (const level of LEVELS) {
      await this.#walk({ type, level, start: 0 }, users, this.#lookAtSpan, this.#mendSpan)
    }
    await this.#makeFilters()
  }

  async #makeFilters(): Promise<void> {
    const { file, names, filtering } = this.#all
    const groups = file.read(() => names.fullGroups(this.#type))
    for (const [i, group] of groups.entries()) {
      await filtering.group(this.#type, group)
      this.#report((i + 1) / groups.length)
    }
  }

  async #walk<Cursor, Wrong>(
    from: Cursor,
    expected: number,
    look: (cursor: Cursor) => Look<Cursor, Wrong>,
    mend: (wrong: Wrong) => void,
  ): Promise<void> {
    const { file } = this.#all
    let looked = 0
    let cursor: Cursor | null = from
    while (cursor !== null) {
      const here: Cursor = cursor
      const seen = file.read(() => look(here))
      if (seen.wrong.length > 0) await file.write(() => seen.wrong.forEach(mend))
      else await nextTurn()
      looked += seen.looked
      this.#report(Math.min(1, looked / Math.max(1, expected)))
      cursor = seen.next
    }
    this.#finished++
  }

  #report(share: number): void {
    this.#progress((this.#finished + share) / WALKS)
  }

  readonly #lookAtTokens = (cursor: Buffer): Look<Buffer, string> => {
    const keys = this.#all.tokens.keysAfter(cursor, BATCH).filter(key => key[0] === cursor[0])
    const missing = keys.map(key => key.toString('utf8', 1)).filter(token => this.#missing(token) !== null)
    return lookAt(keys, missing)
  }

  /** The record of a live token that is not in its user's set. */
  #missing(token: string): SessionRecord | null {
    const entry = this.#all.tokens.get(sideKey(this.#type, token))
    const record = entry === null ? null : readRecord(entry.text, this.#type)
    if (record === null) return null
    const { members } = this.#all
    return members.has(this.#type, record.user_id, members.memberOf(token, record)) ? null : record
  }

  readonly #mendToken = (token: string): void => {
    const record = this.#missing(token)
    if (record !== null) this.#all.enter(this.#type, token, record)
  }

  #lookAtUsers(userIds: string[]): Look<string, string> {
    return lookAt(
      userIds,
      userIds.filter(userId => !this.#isRight(userId)),
    )
  }

  #isRight(userId: string): boolean {
    const { people, order } = this.#all
    const kept = people.get(this.#type, userId)
    const truth = this.#all.truthOf(this.#type, userId)
    return (
      kept?.tokens === truth.tokens &&
      kept.created === truth.created &&
      sameNames(kept.names, truth.names) &&
      order.tokensAt(this.#type, { ...truth, userId }) === truth.tokens &&
      (kept.names.length === 0 || this.#all.names.holds(this.#type, kept.block, { userId, ...kept }))
    )
  }

  readonly #lookAtMembers = (cursor: OwnedMember): Look<OwnedMember, OwnedMember> => {
    const owned = this.#all.members.allAfter(this.#type, cursor, BATCH)
    return lookAt(
      owned,
      owned.filter(({ member }) => this.#isDead(member)),
    )
  }

  /** Whether the token of a member is not stored. */
  #isDead({ token }: Member): boolean {
    return this.#all.tokens.peek(sideKey(this.#type, token)) === null
  }

  readonly #mendMember = ({ userId, member }: OwnedMember): void => {
    if (this.#isDead(member)) this.#all.members.remove(this.#type, userId, member)
  }

  readonly #mendUser = (userId: string): void => {
    const { people, order, names } = this.#all
    const type = this.#type
    const truth = this.#all.truthOf(type, userId)
    const listed = order.tokensAt(type, { ...truth, userId })
    const isListed = listed > 0 ? { created: truth.created, tokens: listed } : null
    order.move(type, userId, isListed, truth.tokens > 0 ? truth : null)
    const kept = people.get(type, userId)
    const indexed = kept !== null && names.holds(type, kept.block, { userId, ...kept }) ? kept : null
    people.put(type, userId, { ...truth, block: this.#all.index(type, userId, indexed, truth.names) })
  }

  readonly #lookAtPlaces = (cursor: Place): Look<Place, Place> => {
    const places = this.#all.order.placesAfter(this.#type, cursor, BATCH)
    const wrong = places.filter(place => !this.#isTaken(place))
    return lookAt(places, wrong)
  }

  #isTaken({ userId, created }: Place): boolean {
    const person = this.#all.people.get(this.#type, userId)
    return person !== null && person.tokens > 0 && person.created === created
  }

  readonly #mendPlace = (place: Place): void => {
    if (this.#isTaken(place)) return
    const { order } = this.#all
    const listed = { created: place.created, tokens: order.tokensAt(this.#type, place) }
    if (listed.tokens > 0) order.move(this.#type, place.userId, listed, null)
  }

  readonly #lookAtBlock = (cursor: number): Look<number, Indexing> => {
    const block = this.#all.names.blockAfter(this.#type, cursor)
    if (block === null) return { next: null, looked: 0, wrong: [] }
    const users = this.#all.names.usersIn(this.#type, block).map(user => ({ ...user, block }))
    return { next: block, looked: users.length, wrong: users.filter(user => !this.#belongs(user)) }
  }

  #belongs({ userId, names, block }: Indexing): boolean {
    const person = this.#all.people.get(this.#type, userId)
    return person !== null && person.block === block && sameNames(person.names, names)
  }

  readonly #mendIndexing = (user: Indexing): void => {
    if (!this.#belongs(user)) this.#all.leaveIndex(this.#type, user.userId, user)
  }

  readonly #lookAtSpan = (span: Span): Look<Span, Span> => {
    const { right, users, next } = this.#all.order.check(span)
    return { next, looked: users, wrong: right ? [] : [span] }
  }

  readonly #mendSpan = (span: Span): void => this.#all.order.recount(span)
}

function lookAt<Cursor, Wrong>(seen: Cursor[], wrong: Wrong[]): Look<Cursor, Wrong> {
  return { next: seen.length < BATCH ? null : (seen.at(-1) ?? null), looked: seen.length, wrong }
}
