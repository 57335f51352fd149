import type { LoginType } from '../../../session/sides.ts'
import { checkFactor, type FactorStore } from '../../factors.ts'
import { type EmbeddedFile, MAX_KEY_BYTES, type Rows } from '../file/lmdb-file.ts'
import { sideKey } from '../file/members.ts'

/** Second factors in the file of the credentials. One table: side, login id -> its text. */
export class EmbeddedFactors implements FactorStore {
  readonly #file: EmbeddedFile
  readonly #rows: Rows

  constructor(file: EmbeddedFile) {
    this.#file = file
    this.#rows = file.table('second-factors')
  }

  async read(type: LoginType, loginId: string): Promise<string | null> {
    const key = sideKey(type, loginId)
    return this.#file.read(() => (key.length > MAX_KEY_BYTES ? null : (this.#rows.get(key) ?? null)))
  }

  async replace(type: LoginType, loginId: string, from: string | null, to: string): Promise<boolean> {
    checkFactor(to)
    const key = sideKey(type, loginId)
    if (key.length > MAX_KEY_BYTES) throw new RangeError('the login id is too long to be stored')
    const verb = (): boolean => {
      if ((this.#rows.get(key) ?? null) !== from) return false
      this.#rows.putSync(key, to)
      return true
    }
    // On a full disk a lost telephone can be reset, and a used recovery code is used up.
    return from === null ? this.#file.add(verb) : this.#file.write(verb)
  }
}
