import { createHash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { AttemptStore, Attempts } from '../store.ts'
import type { EmbeddedFile } from './file/file.ts'
import type { Expiries, ExpiringTable } from './file/table.ts'

/** Longer names are counted under their digest: they may hold whatever a client sent. */
const MAX_NAME_BYTES = 256
/** Begin the key of a name and of a digest; the second never occurs in UTF-8, so no name can pose as a digest. */
const NAME = Buffer.from([0x00])
const DIGEST = Buffer.from([0xff])

function keyOf(name: string): Buffer {
  const bytes = Buffer.from(name)
  if (bytes.length <= MAX_NAME_BYTES) return Buffer.concat([NAME, bytes])
  return Buffer.concat([DIGEST, createHash('sha256').update(bytes).digest()])
}

/** One table: name -> the count; ends with the window. */
export class EmbeddedAttempts implements AttemptStore {
  readonly #file: EmbeddedFile
  readonly #clock: Clock
  readonly #windows: ExpiringTable

  constructor(file: EmbeddedFile, expiries: Expiries, clock: Clock) {
    this.#file = file
    this.#clock = clock
    this.#windows = expiries.table(file, 'attempts', 'a')
  }

  async count(name: string, window: number): Promise<Attempts> {
    const key = keyOf(name)
    return this.#file.write(() => this.#countOne(key, window))
  }

  async countUpTo(name: string, window: number, most: number): Promise<boolean> {
    const key = keyOf(name)
    return this.#file.write(() => {
      if ((this.#open(key)?.count ?? 0) >= most) return false
      this.#countOne(key, window)
      return true
    })
  }

  async takeBack(name: string): Promise<void> {
    const key = keyOf(name)
    await this.#file.write(() => {
      const open = this.#open(key)
      if (open === null) return
      if (open.count > 1) this.#windows.put(key, String(open.count - 1), open.resetsAt)
      else this.#windows.remove(key)
    })
  }

  /** Within a write. */
  #countOne(key: Buffer, window: number): Attempts {
    const open = this.#open(key)
    const next = { count: (open?.count ?? 0) + 1, resetsAt: open?.resetsAt ?? this.#clock.now() + window }
    this.#windows.put(key, String(next.count), next.resetsAt)
    return next
  }

  async read(name: string): Promise<Attempts | null> {
    return this.#file.read(() => this.#open(keyOf(name)))
  }

  async set(name: string, count: number, resetsAt: number): Promise<void> {
    return this.#file.write(() => this.#windows.put(keyOf(name), String(count), resetsAt))
  }

  async raise(name: string, count: number, window: number): Promise<boolean> {
    const key = keyOf(name)
    return this.#file.write(() => {
      if (count <= (this.#open(key)?.count ?? 0)) return false
      this.#windows.put(key, String(count), this.#clock.now() + window)
      return true
    })
  }

  async clear(name: string): Promise<void> {
    await this.#file.write(() => this.#windows.remove(keyOf(name)))
  }

  #open(key: Buffer): Attempts | null {
    const entry = this.#windows.get(key)
    return entry === null ? null : { count: Number(entry.text), resetsAt: entry.expiresAt }
  }
}
