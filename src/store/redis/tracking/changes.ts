import type { Clock } from '../../../base/clock.ts'
import { LOGIN_TYPES } from '../../../session/sides.ts'
import type { ChangeListener, Changes } from '../../changes.ts'
import type { Keys } from '../commands/key-names.ts'
import type { KeyListener } from './heartbeat.ts'

/** Passes announcements of Redis to the listener. */
export class RedisChanges implements Changes {
  readonly #clock: Clock
  #listener: ChangeListener | null = null
  /** In the time of `Clock.elapsed`; `null` while announcements may be missed. */
  #provenUntil: number | null = null
  /** Whether announcements may have been missed since the last poll. */
  #wasInterrupted = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  notify(listener: ChangeListener | null): void {
    this.#listener = listener
  }

  poll(): boolean {
    const isComplete = !this.#wasInterrupted && this.#provenUntil !== null && this.#clock.elapsed() < this.#provenUntil
    this.#wasInterrupted = false
    return isComplete
  }

  /** The listeners of the keys that are announced, each with the prefix of its keys. */
  listeners(keys: Keys): { prefix: string; listener: KeyListener }[] {
    return LOGIN_TYPES.flatMap(type => [
      { prefix: keys.token(type, ''), listener: this.#keyListener(token => this.#listener?.session(type, token)) },
      {
        prefix: keys.disable(type, ''),
        listener: this.#keyListener(userId => this.#listener?.disabled(type, userId)),
      },
      { prefix: keys.credential(type, ''), listener: this.#keyListener(id => this.#listener?.credential(type, id)) },
    ])
  }

  #keyListener(changed: (name: string) => void): KeyListener {
    return {
      evict: changed,
      clear: () => this.#listener?.anything(),
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
