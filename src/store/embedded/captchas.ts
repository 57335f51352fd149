import type { LoginType } from '../../session/sides.ts'
import type { CaptchaStore } from '../store.ts'
import type { EmbeddedFile, Rows } from './file/lmdb-file.ts'
import { sideKey } from './file/members.ts'
import { type Expiries, type ExpiringTable, MAX_ENTRY_KEY_BYTES } from './file/table.ts'

/** Two tables: side, id -> the answer; side -> how many answers there are. */
export class EmbeddedCaptchas implements CaptchaStore {
  readonly #file: EmbeddedFile
  readonly #answers: ExpiringTable
  readonly #counts: Rows

  constructor(file: EmbeddedFile, expiries: Expiries) {
    this.#file = file
    this.#answers = expiries.table('captchas', 'c', key => this.#add(key, -1))
    this.#counts = file.table('captcha_counts')
  }

  async put(type: LoginType, id: string, answer: string, expiresAt: number): Promise<void> {
    const key = sideKey(type, id)
    if (key.length > MAX_ENTRY_KEY_BYTES) throw new RangeError('the captcha id is too long to be stored')
    return this.#file.add(() => {
      if (this.#answers.peek(key) === null) this.#add(key, 1)
      this.#answers.put(key, answer, expiresAt)
    })
  }

  async take(type: LoginType, id: string): Promise<string | null> {
    const key = sideKey(type, id)
    // Most wrong ids are recognized here, without the lock, so that guesses do not delay other clients.
    if (this.#file.read(() => this.#answers.get(key)) === null) return null
    return this.#file.write(() => {
      // An expired one stays for the sweep, which counts it.
      const entry = this.#answers.get(key)
      if (entry === null) return null
      this.#answers.remove(key)
      this.#add(key, -1)
      return entry.text
    })
  }

  async outstanding(type: LoginType): Promise<number> {
    return this.#file.read(() => this.#count(sideKey(type, '')))
  }

  #count(side: Buffer): number {
    return Number(this.#counts.get(side) ?? 0)
  }

  /** Within a write. A file of an earlier version holds captchas that were not counted: never below 0. */
  #add(key: Buffer, change: 1 | -1): void {
    const side = key.subarray(0, 1)
    const count = this.#count(side) + change
    if (count > 0) this.#counts.putSync(side, String(count))
    else this.#counts.removeSync(side)
  }
}
