import { once } from 'node:events'
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, readFileSync, watch, writeSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { launch } from '../support/command-line.ts'
import type { History } from './history.ts'
import { fileIn, noteOf } from './people-file.ts'

/** Runs `dualgate account` beside the gateway, in a process of its own. Returns its errors; `null` when it succeeded. */
export async function runAccountCommand(folder: string, words: readonly string[], input = ''): Promise<string | null> {
  const child = launch(folder, ['account', ...words])
  child.stdin!.end(input)
  child.stdout!.resume()
  const [errors, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  return code === 0 ? null : `${code}: ${errors}`
}

const NOTE = /note:\d{6}/
/** Saves that may be lost, of all: those that come within some microseconds before the gateway replaces the file. */
const LOST_SHARE = 0.05
/** Of few saves one may be lost by chance. */
const LOST_BY_CHANCE = 1
/** Of the edits of others, so many meet a change by the editor, so many milliseconds after their beginning at most. */
const MET = 0.4
const WITHIN = 10
/** So many saves empty the file before they write it, so many milliseconds before at most. */
const EMPTIED = 0.5
const EMPTY_FOR = 10
/** A file that was empty for longer may be read like this: the machine has stalled the editor. In milliseconds. */
const TOO_LONG = 60

/** This process does nothing else meanwhile: it reads no half file itself. */
const stand = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/**
 * An editor that saves one text of the accounts file in place. It sees when the gateway has replaced the file that it has
 * open; then it has saved nothing.
 */
export class Editor {
  readonly #path: string
  readonly #history: History
  #saved = 0

  constructor(folder: string, history: History) {
    this.#path = fileIn(folder)
    this.#history = history
  }

  /** From now on it saves while others edit the file, which they show by their lock. The result ends it. */
  meet(): () => void {
    const lock = `${this.#path}.lock`
    const watcher = watch(dirname(lock), (_, name) => {
      if (name !== basename(lock) || Math.random() > MET || !existsSync(lock)) return
      setTimeout(() => this.save(), Math.random() * WITHIN)
    })
    return () => watcher.close()
  }

  /** Saves another text of the same length, at once. `false` when the file was replaced meanwhile. */
  save(): boolean {
    const file = openSync(this.#path, 'r+')
    try {
      const content = readFileSync(file)
      const found = NOTE.exec(content.toString('latin1'))!
      this.#compare(found[0])
      const next = this.#saved + 1
      if (Math.random() < EMPTIED) {
        ftruncateSync(file)
        const emptied = this.#history.now()
        stand(Math.random() * EMPTY_FOR)
        content.write(noteOf(next), found.index)
        writeSync(file, content, 0, content.length, 0)
        if (this.#history.now() - emptied > TOO_LONG) this.#history.counts.pauses++
      } else writeSync(file, noteOf(next), found.index)
      // A file without a name is one that was replaced.
      if (fstatSync(file).nlink === 0) return false
      this.#saved = next
      this.#history.counts.saves++
      return true
    } finally {
      closeSync(file)
    }
  }

  /** When nothing happens any more: of what was saved as good as nothing was lost. */
  settle(): void {
    this.#compare(NOTE.exec(readFileSync(this.#path, 'latin1'))![0])
    const { saves, lost } = this.#history.counts
    if (lost > Math.max(LOST_BY_CHANCE, LOST_SHARE * saves))
      this.#history.violated(`${lost} of ${saves} changes of an editor were lost`)
  }

  #compare(found: string): void {
    if (found === noteOf(this.#saved)) return
    this.#history.counts.lost++
    this.#saved = Number(found.slice('note:'.length))
  }
}
