import { type LoginType, SIDES } from '../../../session/sides.ts'
import type { BinaryRows, EmbeddedFile } from '../file/lmdb-file.ts'

/*
 * Where a text may be found: for each group of blocks of names, which of its blocks may hold a text. One table: side,
 * group, row -> bits. Every part of one to three characters of a name marks its block under two of 8192 slots; a slot
 * is 64 bytes, one bit for each block of the group, and a row holds 16 slots. In blocks of 32 users, some 18 of 100
 * bits are set: for a single character one block in 30 is read in vain, for three characters one in thousands.
 */

export const BLOCKS_PER_GROUP = 512
const SLOTS = 8192
const SLOT_BYTES = BLOCKS_PER_GROUP / 8
const SLOTS_PER_ROW = 16
const ROW_BYTES = SLOTS_PER_ROW * SLOT_BYTES
const ROWS = SLOTS / SLOTS_PER_ROW

const LONGEST_PART = 3
/** Parts of a keyword that are checked; each has two slots, and each slot narrows the result about five times. */
const MAX_ASKED = 6

/** The filter of one group, while it is made. */
export class FilterDraft {
  readonly bits = Buffer.alloc(ROWS * ROW_BYTES)

  /** Marks a block, counted within its group, with a name in it. */
  add(block: number, name: string): void {
    const [byte, bit] = [block >> 3, 1 << (block & 7)]
    for (let length = 1; length <= LONGEST_PART; length++) {
      for (let i = 0; i + length <= name.length; i++) {
        for (const slot of slotsOf(name, i, length)) {
          const at = slot * SLOT_BYTES + byte
          this.bits[at] = (this.bits[at] ?? 0) | bit
        }
      }
    }
  }
}

export class NameFilters {
  readonly #rows: BinaryRows

  constructor(file: EmbeddedFile) {
    this.#rows = file.binaryTable('filters')
  }

  has(type: LoginType, group: number): boolean {
    return this.#rows.get(keyOf(type, group, 0)) !== undefined
  }

  /** Within a write. */
  put(type: LoginType, group: number, { bits }: FilterDraft): void {
    for (let row = 0; row < ROWS; row++) {
      this.#rows.putSync(keyOf(type, group, row), bits.subarray(row * ROW_BYTES, (row + 1) * ROW_BYTES))
    }
  }

  /** Within a write. */
  remove(type: LoginType, group: number): void {
    for (let row = 0; row < ROWS; row++) this.#rows.removeSync(keyOf(type, group, row))
  }

  /** The blocks of a group that may hold a text, the last first; `null` when the group has no filter. */
  blocks(type: LoginType, group: number, text: string): number[] | null {
    if (!this.has(type, group)) return null
    const left = Buffer.alloc(SLOT_BYTES, 0xff)
    for (const slot of askedSlots(text)) {
      const row = this.#rows.get(keyOf(type, group, Math.floor(slot / SLOTS_PER_ROW)))
      const at = (slot % SLOTS_PER_ROW) * SLOT_BYTES
      let any = 0
      for (let i = 0; i < SLOT_BYTES; i++) any |= left[i] = (left[i] ?? 0) & (row?.[at + i] ?? 0)
      if (any === 0) return []
    }
    return setBits(left)
  }
}

function setBits(bits: Buffer): number[] {
  const found: number[] = []
  for (let i = BLOCKS_PER_GROUP - 1; i >= 0; i--) if ((bits[i >> 3] ?? 0) & (1 << (i & 7))) found.push(i)
  return found
}

/** The slots of the longest parts of a text, which say most, and of shorter ones when it has few. */
function askedSlots(text: string): number[] {
  const slots: number[] = []
  let asked = 0
  for (let length = LONGEST_PART; length > 0; length--) {
    for (let i = 0; i + length <= text.length && asked < MAX_ASKED; i++, asked++)
      slots.push(...slotsOf(text, i, length))
  }
  return slots
}

/** The two slots of a part of a text (FNV-1a over its code units, and a last mixing). */
function slotsOf(text: string, from: number, length: number): [number, number] {
  let hash = 0x811c9dc5 ^ length
  for (let i = from; i < from + length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash ^= hash >>> 13
  return [hash & (SLOTS - 1), (hash >>> 16) & (SLOTS - 1)]
}

function keyOf(type: LoginType, group: number, row: number): Buffer {
  const key = Buffer.alloc(7)
  key.write(SIDES[type].letter, 'latin1')
  key.writeUInt32BE(group, 1)
  key.writeUInt16BE(row, 5)
  return key
}
