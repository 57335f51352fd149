import { type LoginType, SIDES } from '../../../session/sides.ts'
import type { EmbeddedFile, Rows } from '../file/lmdb-file.ts'
import { BLOCKS_PER_GROUP, type FilterDraft, NameFilters } from './filters.ts'

/** Users whose names stand together in one row. */
const BLOCK_USERS = 32
/** A block that has lost all but so many is given up, and they move to the last one. */
const FEW_USERS = 8
/** Blocks that a search reads at most: some milliseconds. */
const MAX_BLOCKS = 4000

/** A user in a block. */
export interface NamedUser {
  userId: string
  names: readonly string[]
}

/*
 * The names of all users, for a search by any part of them.
 * One table: side, block -> the users of the block, each on a line: the id and the names, parted by tabs.
 * A new user comes into the last block. 512 blocks are a group; a group that is full gets a filter, which tells which of
 * its blocks may hold a text. So a search reads, from the newest on, a few bits of each group of 16384 users, the blocks
 * that hold the text, and the blocks of the last group. A login writes one row, and only if the names are new; what is
 * stored of a user is some 100 bytes.
 */
export class NameIndex {
  readonly #blocks: Rows
  readonly #filters: NameFilters

  constructor(file: EmbeddedFile) {
    this.#blocks = file.table('names')
    this.#filters = new NameFilters(file)
  }

  /** Enters a user, and answers in which block. Within a write. */
  enter(type: LoginType, user: NamedUser): number {
    const last = this.lastBlock(type)
    const users = this.usersIn(type, last).filter(({ userId }) => userId !== user.userId)
    const block = users.length < BLOCK_USERS ? last : last + 1
    this.#put(type, block, block === last ? [...users, user] : [user])
    return block
  }

  /** Removes a user from a block; `moved` is called for each other user who moves to another block. Within a write. */
  leave(type: LoginType, userId: string, block: number, moved: (user: NamedUser, block: number) => void): void {
    const users = this.usersIn(type, block)
    const left = users.filter(user => user.userId !== userId)
    if (left.length === users.length) return
    // The last block stays, so that no number is given twice.
    if (left.length > FEW_USERS || block === this.lastBlock(type)) this.#put(type, block, left)
    else this.#giveUp(type, block, left, moved)
  }

  #giveUp(
    type: LoginType,
    block: number,
    left: readonly NamedUser[],
    moved: (user: NamedUser, block: number) => void,
  ): void {
    this.#blocks.removeSync(keyOf(type, block))
    const group = groupOf(block)
    if (this.#blocksIn(type, group, 1).length === 0) this.#filters.remove(type, group)
    for (const user of left) moved(user, this.enter(type, user))
  }

  /** The users whose names may contain a folded text, the newest in the index first. */
  *find(type: LoginType, text: string): Iterable<string> {
    let read = 0
    for (let group = groupOf(this.lastBlock(type)); group >= 0; group = this.#groupBefore(type, group)) {
      for (const block of this.#blocksThatMayHold(type, group, text)) {
        if (++read > MAX_BLOCKS) return
        const row = this.#blocks.get(keyOf(type, block)) ?? ''
        if (!row.includes(text)) continue
        const users = readUsers(row).filter(({ names }) => names.some(name => name.includes(text)))
        for (const { userId } of users.reverse()) yield userId
      }
    }
  }

  #blocksThatMayHold(type: LoginType, group: number, text: string): number[] {
    const filtered = this.#filters.blocks(type, group, text)
    if (filtered === null) return this.#blocksIn(type, group, BLOCKS_PER_GROUP)
    return filtered.map(block => group * BLOCKS_PER_GROUP + block)
  }

  /** The users of a block, in the order in which they came. */
  usersIn(type: LoginType, block: number): NamedUser[] {
    return readUsers(this.#blocks.get(keyOf(type, block)) ?? '')
  }

  /** Whether a user stands in a block with just these names. */
  holds(type: LoginType, block: number, { userId, names }: NamedUser): boolean {
    return this.usersIn(type, block).some(user => user.userId === userId && sameNames(user.names, names))
  }

  /** The block that users enter; 0 when there was none yet. */
  lastBlock(type: LoginType): number {
    const [key] = this.#blocks.getKeys({
      start: keyOf(type, LAST_BLOCK),
      end: keyBefore(type, 0),
      reverse: true,
      limit: 1,
    })
    return key === undefined ? 0 : blockIn(key)
  }

  /** The next block that there is after one. */
  blockAfter(type: LoginType, block: number): number | null {
    const [key] = this.#blocks.getKeys({ start: keyOf(type, block + 1), end: keyOf(type, LAST_BLOCK), limit: 1 })
    return key === undefined ? null : blockIn(key)
  }

  /** The groups that no user enters any more, the last first. */
  fullGroups(type: LoginType): number[] {
    const groups: number[] = []
    for (let group = groupOf(this.lastBlock(type)); ; ) {
      group = this.#groupBefore(type, group)
      if (group < 0) return groups
      groups.push(group)
    }
  }

  isFirstOfGroup(block: number): boolean {
    return block % BLOCKS_PER_GROUP === 0
  }

  hasFilter(type: LoginType, group: number): boolean {
    return this.#filters.has(type, group)
  }

  /** Marks some blocks of a group in the draft of its filter, and answers where to go on; `null` at the end. */
  draft(type: LoginType, group: number, draft: FilterDraft, from: number, count: number): number | null {
    for (let i = from; i < Math.min(from + count, BLOCKS_PER_GROUP); i++) {
      for (const { names } of this.usersIn(type, group * BLOCKS_PER_GROUP + i)) {
        for (const name of names) draft.add(i, name)
      }
    }
    return from + count < BLOCKS_PER_GROUP ? from + count : null
  }

  /** Gives a full group its filter, unless its blocks are gone meanwhile. Within a write. */
  putFilter(type: LoginType, group: number, draft: FilterDraft): void {
    if (this.#blocksIn(type, group, 1).length > 0) this.#filters.put(type, group, draft)
  }

  #put(type: LoginType, block: number, users: readonly NamedUser[]): void {
    const lines = users.map(({ userId, names }) => [userId, ...names].join(BETWEEN_NAMES))
    this.#blocks.putSync(keyOf(type, block), lines.join(BETWEEN_USERS))
  }

  /** The blocks that there are of a group, the last first. */
  #blocksIn(type: LoginType, group: number, limit: number): number[] {
    const first = group * BLOCKS_PER_GROUP
    const range = { start: keyOf(type, first + BLOCKS_PER_GROUP - 1), end: keyBefore(type, first) }
    return Array.from(this.#blocks.getKeys({ ...range, reverse: true, limit }), blockIn)
  }

  /** The previous group with blocks; -1 without one. */
  #groupBefore(type: LoginType, group: number): number {
    if (group === 0) return -1
    const start = keyOf(type, group * BLOCKS_PER_GROUP - 1)
    const [key] = this.#blocks.getKeys({ start, end: keyBefore(type, 0), reverse: true, limit: 1 })
    return key === undefined ? -1 : groupOf(blockIn(key))
  }
}

/** No folded name holds control characters. */
const BETWEEN_NAMES = '\t'
const BETWEEN_USERS = '\n'

function readUsers(row: string): NamedUser[] {
  if (row === '') return []
  return row.split(BETWEEN_USERS).map(line => {
    const [userId = '', ...names] = line.split(BETWEEN_NAMES)
    return { userId, names }
  })
}

export const sameNames = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, i) => name === b[i])

const LAST_BLOCK = 2 ** 32 - 1
const KEY_BYTES = 5

const groupOf = (block: number): number => Math.floor(block / BLOCKS_PER_GROUP)

function keyOf(type: LoginType, block: number): Buffer {
  const key = Buffer.alloc(KEY_BYTES)
  key.write(SIDES[type].letter, 'latin1')
  key.writeUInt32BE(block, 1)
  return key
}

/** Just before a block: the end of a range that is read backwards is not part of it. */
const keyBefore = (type: LoginType, block: number): Buffer =>
  block === 0 ? Buffer.from(SIDES[type].letter) : keyOf(type, block - 1)

const blockIn = (key: Buffer): number => key.readUInt32BE(1)
