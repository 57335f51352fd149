import type { LoginType } from '../../session/sides.ts'
import type { ChangeListener } from '../changes.ts'
import type { Kept, Remembered } from '../remembered-values.ts'
import type { ChangeRing, FollowedChanges } from './changes.ts'
import type { EmbeddedFile } from './file/lmdb-file.ts'

export interface MemoryOptions<V> {
  file: EmbeddedFile
  /** The changes of the file. */
  ring: ChangeRing
  /** Which of them are changes of these values. */
  kind: 'session' | 'credential'
  remembered: Readonly<Record<LoginType, Remembered<V>>>
  /** Reads a value from the file. Within a read. */
  read(type: LoginType, name: string): Kept<V> | null
}

/**
 * What a file holds, remembered by this process until any process has changed it. Each change is noted in its own
 * transaction, so one row tells whether a remembered value still stands in the snapshot that every other process shares.
 */
export class EmbeddedMemory<V> {
  readonly #file: EmbeddedFile
  readonly #remembered: Readonly<Record<LoginType, Remembered<V>>>
  readonly #read: MemoryOptions<V>['read']
  /** Evicts what any process has changed. */
  readonly #followed: FollowedChanges

  constructor({ file, ring, kind, remembered, read }: MemoryOptions<V>) {
    this.#file = file
    this.#remembered = remembered
    this.#read = read
    const ignore = (): void => undefined
    const listener: ChangeListener = {
      session: ignore,
      disabled: ignore,
      credential: ignore,
      anything: () => {
        for (const values of Object.values(remembered)) values.clear()
      },
    }
    this.#followed = ring.follow({
      ...listener,
      [kind]: (type: LoginType, name: string) => remembered[type].evict(name),
    })
  }

  find(type: LoginType, name: string): V | null {
    const remembered = this.#remembered[type]
    const known = this.#followed.isCurrent() ? remembered.get(name) : null
    if (known !== null) return remembered.counted(known)
    return this.#file.read(() => {
      this.#followed.passOn()
      return remembered.counted(remembered.get(name)) ?? this.#recall(type, name)
    })
  }

  #recall(type: LoginType, name: string): V | null {
    const kept = this.#read(type, name)
    this.#remembered[type].set(name, kept)
    return kept?.value ?? null
  }
}
