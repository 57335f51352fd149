import { setImmediate as nextTurn } from 'node:timers/promises'
import { LOGIN_TYPES, type LoginType } from '../../../session/sides.ts'
import type { EmbeddedFile } from '../file/lmdb-file.ts'
import { FilterDraft } from './filters.ts'
import type { NameIndex } from './names.ts'

/** Blocks of names that go into a filter before others get a turn: some milliseconds. */
const DRAFT_BLOCKS = 16

/** Makes the filters of the full groups of names, beside everything else that the process does. */
export class Filtering {
  readonly #file: EmbeddedFile
  readonly #names: NameIndex
  #running: Promise<void> | null = null

  constructor(file: EmbeddedFile, names: NameIndex) {
    this.#file = file
    this.#names = names
  }

  /** Makes the filters that the index lacks. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #run(): Promise<void> {
    for (const type of LOGIN_TYPES) {
      const groups = this.#file.read(() => this.#names.fullGroups(type))
      for (const group of groups) {
        if (!this.#file.read(() => this.#names.hasFilter(type, group))) await this.group(type, group)
      }
    }
  }

  /** Makes the filter of a full group anew. */
  async group(type: LoginType, group: number): Promise<void> {
    const draft = new FilterDraft()
    for (let from: number | null = 0; from !== null; ) {
      const here: number = from
      from = this.#file.read(() => this.#names.draft(type, group, draft, here, DRAFT_BLOCKS))
      await nextTurn()
    }
    await this.#file.add(() => this.#names.putFilter(type, group, draft))
  }
}
