import type { LoginType } from '../../side/record.ts'
import type { CaptchaStore } from '../store.ts'
import type { EmbeddedFile } from './file.ts'
import { sideKey } from './members.ts'
import { type Expiries, type ExpiringTable, MAX_ENTRY_KEY_BYTES } from './table.ts'

/** One table: side, id -> the answer. */
export class EmbeddedCaptchas implements CaptchaStore {
  readonly #file: EmbeddedFile
  readonly #answers: ExpiringTable

  constructor(file: EmbeddedFile, expiries: Expiries) {
    this.#file = file
    this.#answers = expiries.table(file, 'captchas', 'c')
  }

  async put(type: LoginType, id: string, answer: string, expiresAt: number): Promise<void> {
    const key = sideKey(type, id)
    if (key.length > MAX_ENTRY_KEY_BYTES) throw new RangeError('the captcha id is too long to be stored')
    return this.#file.write(() => this.#answers.put(key, answer, expiresAt))
  }

  async take(type: LoginType, id: string): Promise<string | null> {
    const key = sideKey(type, id)
    // Most wrong ids are told here, without the lock: nobody has to wait for those who guess.
    if (this.#file.read(() => this.#answers.get(key)) === null) return null
    return this.#file.write(() => this.#answers.remove(key)?.text ?? null)
  }
}
