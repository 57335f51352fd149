import type { SessionRecord } from '../../../session/record.ts'
import { type LoginType, SIDES } from '../../../session/sides.ts'
import type { Ages } from '../../age.ts'
import { type EmbeddedFile, MAX_KEY_BYTES, type Rows } from './lmdb-file.ts'

/** A token in its user's set. */
export interface Member {
  /** The creation in seconds, its text in the configured zone read as if in UTC: so files keep their keys. 0 when it is unknown. */
  created: number
  token: string
}

export interface OwnedMember {
  userId: string
  member: Member
}

const CREATED_AT = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)$/

/** Ends the user id in a member's key; no id holds it, so no two users can be confused. */
const END_OF_ID = '\u0000'
const AFTER_END_OF_ID = '\u0001'
const CREATED_BYTES = 5

/** A key on one side: the first letter of the login type comes first. */
export const sideKey = (type: LoginType, id: string): Buffer => Buffer.from(SIDES[type].letter + id)

export const readSideKey = (key: Buffer): { type: LoginType; id: string } => ({
  type: key[0] === SIDES.BUSINESS.letter.charCodeAt(0) ? 'BUSINESS' : 'CONSUMER',
  id: key.toString('utf8', 1),
})

/** One table: side, user id, second of creation, token -> nothing. The sets of the users, in the order of age. */
export class EmbeddedMembers {
  /** Before the first member of every side. */
  readonly start: OwnedMember = { userId: '', member: { created: 0, token: '' } }
  readonly #rows: Rows
  readonly #ages: Ages

  constructor(file: EmbeddedFile, ages: Ages) {
    this.#rows = file.table('members')
    this.#ages = ages
  }

  /** The place of a token in its user's set; the same for as long as its record is. */
  memberOf(token: string, record: SessionRecord): Member {
    const parts = CREATED_AT.exec(this.#ages.createdAt({ token, record }))
    if (parts === null) return { created: 0, token }
    const [year, month, day, hour, minute, second] = parts.slice(1).map(Number) as [number, ...number[]]
    return { created: Math.max(0, Date.UTC(year, (month ?? 1) - 1, day, hour, minute, second) / 1000), token }
  }

  /** Whether a token of a user can be stored here. */
  fits(userId: string, token: string): boolean {
    return memberKey('BUSINESS', userId, { created: 0, token }).length <= MAX_KEY_BYTES
  }

  has(type: LoginType, userId: string, member: Member): boolean {
    return this.#rows.get(memberKey(type, userId, member)) !== undefined
  }

  /** Within a write. */
  put(type: LoginType, userId: string, member: Member): void {
    this.#rows.putSync(memberKey(type, userId, member), '')
  }

  /** `false` when there was no such member. Within a write. */
  remove(type: LoginType, userId: string, member: Member): boolean {
    return this.#rows.removeSync(memberKey(type, userId, member))
  }

  /** Some members of a user after one, or from the first, oldest first; expired ones that no sweep has met yet included. */
  after(type: LoginType, userId: string, member: Member | null, limit: number): Member[] {
    const { start, end } = rangeOf(type, userId)
    const from = member === null ? { start } : { start: memberKey(type, userId, member), exclusiveStart: true }
    return Array.from(this.#rows.getKeys({ ...from, end, limit }), readKey)
  }

  /** Some members of a user before one, or from the last, newest first. */
  before(type: LoginType, userId: string, member: Member | null, limit: number): Member[] {
    const { start, end } = rangeOf(type, userId)
    const from = member === null ? { start: end } : { start: memberKey(type, userId, member), exclusiveStart: true }
    return Array.from(this.#rows.getKeys({ ...from, end: start, reverse: true, limit }), readKey)
  }

  newest(type: LoginType, userId: string): Member | null {
    return this.before(type, userId, null, 1)[0] ?? null
  }

  /** How many members a user has. */
  count(type: LoginType, userId: string): number {
    return this.#rows.getKeysCount(rangeOf(type, userId))
  }

  /** The members of all users of a side after one. */
  allAfter(type: LoginType, { userId, member }: OwnedMember, limit: number): OwnedMember[] {
    const start = memberKey(type, userId, member)
    const end = Buffer.from([type.charCodeAt(0) + 1])
    const keys = this.#rows.getKeys({ start, end, exclusiveStart: true, limit })
    return Array.from(keys, key => ({
      userId: key.toString('latin1', 1, key.indexOf(END_OF_ID)),
      member: readKey(key),
    }))
  }

  /** The user ids after one that have members, in the order of their bytes. */
  usersAfter(type: LoginType, userId: string, limit: number): string[] {
    const found: string[] = []
    const end = Buffer.from([type.charCodeAt(0) + 1])
    for (let last = userId; found.length < limit; ) {
      const [key] = this.#rows.getKeys({ start: sideKey(type, last + AFTER_END_OF_ID), end, limit: 1 })
      if (key === undefined) break
      last = key.toString('latin1', 1, key.indexOf(END_OF_ID))
      found.push(last)
    }
    return found
  }
}

function memberKey(type: LoginType, userId: string, { created, token }: Member): Buffer {
  const start = SIDES[type].letter + userId + END_OF_ID
  const key = Buffer.alloc(start.length + CREATED_BYTES + Buffer.byteLength(token))
  key.write(start, 'latin1')
  key.writeUIntBE(created, start.length, CREATED_BYTES)
  key.write(token, start.length + CREATED_BYTES)
  return key
}

const rangeOf = (type: LoginType, userId: string): { start: Buffer; end: Buffer } => ({
  start: sideKey(type, userId + END_OF_ID),
  end: sideKey(type, userId + AFTER_END_OF_ID),
})

function readKey(key: Buffer): Member {
  const at = key.indexOf(END_OF_ID) + 1
  return { created: key.readUIntBE(at, CREATED_BYTES), token: key.toString('utf8', at + CREATED_BYTES) }
}
