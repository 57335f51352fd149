import type { Clock } from '../../clock.ts'
import { LOGIN_TYPES } from '../../session.ts'
import type { ChangeHearer, Changes } from '../changes.ts'
import type { Keys } from './keys.ts'
import type { KeyListener } from './tracking/tracking.ts'

/** Hands on what Redis announces, to whoever watches sessions. */
export class RedisChanges implements Changes {
  readonly #clock: Clock
  #hearer: ChangeHearer | null = null
  /** `null` while announcements may be missed. */
  #provenUntil: number | null = null
  /** Whether announcements may have been missed since it was last asked. */
  #wasInterrupted = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  tell(hearer: ChangeHearer | null): void {
    this.#hearer = hearer
  }

  look(): boolean {
    const isTold = !this.#wasInterrupted && this.#provenUntil !== null && this.#clock.now() < this.#provenUntil
    this.#wasInterrupted = false
    return isTold
  }

  /** What listens for it, and below which prefix. */
  listeners(keys: Keys): { prefix: string; listener: KeyListener }[] {
    return LOGIN_TYPES.flatMap(type => [
      { prefix: keys.token(type, ''), listener: this.#listener(token => this.#hearer?.session(type, token)) },
      { prefix: keys.disable(type, ''), listener: this.#listener(userId => this.#hearer?.bar(type, userId)) },
    ])
  }

  #listener(changed: (name: string) => void): KeyListener {
    return {
      evict: changed,
      clear: () => this.#hearer?.anything(),
      switchOff: () => {
        this.#provenUntil = null
        this.#wasInterrupted = true
      },
      beginProof: () => until => {
        this.#provenUntil = until
      },
    }
  }
}
