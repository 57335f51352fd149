import { createHash } from 'node:crypto'
import { type Clock, endsTooLate } from '../../base/clock.ts'
import type { AttemptStore, Attempts } from '../store.ts'
import type { EmbeddedFile } from './file/lmdb-file.ts'
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

type UnderWay = [id: string, endsAt: number, lifetime: number]

/**
 * Two tables: name -> the count, which ends with the window; name -> the attempts under way, which end with the last of them.
 */
export class EmbeddedAttempts implements AttemptStore {
  readonly #file: EmbeddedFile
  readonly #clock: Clock
  readonly #windows: ExpiringTable
  readonly #attempts: ExpiringTable

  constructor(file: EmbeddedFile, expiries: Expiries, clock: Clock) {
    this.#file = file
    this.#clock = clock
    this.#windows = expiries.table('attempts', 'a')
    this.#attempts = expiries.table('attempts-under-way', 'u')
  }

  async count(name: string, window: number): Promise<Attempts> {
    const key = keyOf(name)
    return this.#file.add(() => {
      const open = this.#open(key)
      const next = { count: (open?.count ?? 0) + 1, resetsAt: open?.resetsAt ?? this.#clock.now() + window }
      this.#windows.put(key, String(next.count), next.resetsAt)
      return next
    })
  }

  async begin(name: string, id: string, lifetime: number, most: number): Promise<number | null> {
    const key = keyOf(name)
    return this.#file.add(() => {
      const others = this.#underWay(key).filter(([other]) => other !== id)
      if (others.length >= most) return null
      this.#putUnderWay(key, [...others, [id, this.#clock.now() + lifetime, lifetime]])
      return others.length + 1
    })
  }

  async end(name: string, id: string): Promise<void> {
    const key = keyOf(name)
    await this.#file.write(() =>
      this.#putUnderWay(
        key,
        this.#underWay(key).filter(([other]) => other !== id),
      ),
    )
  }

  /**
   * Without those of before the clock was set back, which would last for as much longer. A step back by less than its lifetime ends
   * none: while it is really under way, no other one may begin beside it.
   */
  #underWay(key: Buffer): UnderWay[] {
    const entry = this.#attempts.get(key)
    const all = entry === null ? [] : (JSON.parse(entry.text) as UnderWay[])
    const now = this.#clock.now()
    return all.filter(([, endsAt, lifetime]) => endsAt > now && !endsTooLate(endsAt, 2 * lifetime, now))
  }

  #putUnderWay(key: Buffer, attempts: readonly UnderWay[]): void {
    if (attempts.length === 0) this.#attempts.remove(key)
    else this.#attempts.put(key, JSON.stringify(attempts), Math.max(...attempts.map(([, endsAt]) => endsAt)))
  }

  async read(name: string): Promise<Attempts | null> {
    return this.#file.read(() => this.#open(keyOf(name)))
  }

  async set(name: string, count: number, resetsAt: number): Promise<void> {
    return this.#file.add(() => this.#windows.put(keyOf(name), String(count), resetsAt))
  }

  async raise(name: string, count: number, window: number): Promise<boolean> {
    const key = keyOf(name)
    return this.#file.add(() => {
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
