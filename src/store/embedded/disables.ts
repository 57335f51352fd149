import type { Clock } from '../../base/clock.ts'
import { bySide, type LoginType } from '../../session/sides.ts'
import { type Disable, Remembered } from '../remembered-values.ts'
import type { ChangeRing } from './changes.ts'
import type { EmbeddedFile } from './file/lmdb-file.ts'
import { sideKey } from './file/members.ts'
import type { ExpiringTable } from './file/table.ts'

/**
 * How long an answer is used for requests by key, in milliseconds, unless this process changes it: each of them would read a second
 * file otherwise, which costs as much as all the rest of what a key costs.
 */
const REMEMBERED_FOR = 100

/** The disabled login ids: side, user id -> nothing; ends when the login id is no longer disabled. */
export class EmbeddedDisables {
  readonly #file: EmbeddedFile
  readonly #table: ExpiringTable
  readonly #changes: ChangeRing
  readonly #clock: Clock
  readonly #remembered: Readonly<Record<LoginType, Remembered<Disable>>>

  /** `maxEntries`: how many answers of a side the process remembers. */
  constructor(file: EmbeddedFile, table: ExpiringTable, changes: ChangeRing, clock: Clock, maxEntries: number) {
    this.#file = file
    this.#table = table
    this.#changes = changes
    this.#clock = clock
    this.#remembered = bySide(() => new Remembered<Disable>(() => clock.elapsed(), maxEntries))
  }

  /** Within a read or a write. */
  find(type: LoginType, userId: string): number | null {
    return this.#table.get(sideKey(type, userId))?.expiresAt ?? null
  }

  until(type: LoginType, userId: string): number | null {
    return this.#file.read(() => this.find(type, userId))
  }

  remembered(type: LoginType, userId: string): number | null {
    const remembered = this.#remembered[type]
    const known = remembered.get(userId)
    if (known !== null) return known.until
    const until = this.until(type, userId)
    const left = until === null ? REMEMBERED_FOR : Math.min(until - this.#clock.now(), REMEMBERED_FOR)
    remembered.set(userId, { value: { userId, until }, expiresAt: this.#clock.elapsed() + left })
    return until
  }

  disable(type: LoginType, userId: string, until: number): Promise<void> {
    return this.#change(type, userId, () => {
      this.#table.put(sideKey(type, userId), '', until)
      this.#changes.noteDisabled(type, userId)
    })
  }

  untie(type: LoginType, userId: string): Promise<boolean> {
    return this.#change(type, userId, () => {
      if (this.#table.remove(sideKey(type, userId)) === null) return false
      this.#changes.noteDisabled(type, userId)
      return true
    })
  }

  async #change<T>(type: LoginType, userId: string, verb: () => T): Promise<T> {
    try {
      return await this.#file.write(verb)
    } finally {
      this.#remembered[type].evict(userId)
    }
  }
}
