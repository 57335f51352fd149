import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../base/clock.ts'
import { Unavailable } from '../../base/refusal.ts'
import { decode } from '../../settings/notation/yaml.ts'
import { ABSENT } from './read-accounts.ts'

/** How long a file must be unchanged before it is read, in milliseconds. */
export const SETTLED = 100
/** Looks at a file that changes all the time. */
export const MAX_LOOKS = 10

/** Digests of contents, by the paths of their files: the last that this process has put there, or found there unchanged. */
const whole = new Map<string, string>()

const digestOf = (content: string | Buffer): string => createHash('sha256').update(content).digest('base64')

/** This process has just put the content there. */
export const noteWhole = (path: string, content: string | Buffer): void => void whole.set(path, digestOf(content))

/**
 * The text of a file that no program is writing: it has been unchanged for `SETTLED`, or is known to be whole. `null` for a file
 * that has been missing for as long: some editors remove a file before they write it anew. A program that pauses for longer
 * within a file can defeat this. Throws `Unavailable` for a file that changes all the time, and `ConfigurationError` for one that
 * is not UTF-8.
 */
export async function settledText(path: string): Promise<string | null> {
  let before: string | null = null
  for (let look = 0; look < MAX_LOOKS; look++) {
    const { bytes, state, age } = lookAt(path)
    // An editor empties a file before it writes it. Linux does so before it changes the time, so an empty file may look old.
    const isEmpty = bytes?.length === 0
    if (bytes !== null && !isEmpty && whole.get(path) === digestOf(bytes)) return decode(bytes, path)
    if (state !== null && (state === before || (age >= SETTLED && !isEmpty))) {
      if (bytes === null) return null
      noteWhole(path, bytes)
      return decode(bytes, path)
    }
    before = state
    await pause(age > 0 && age < SETTLED ? SETTLED - age : SETTLED)
  }
  throw new Unavailable(`${path} is saved by another program all the time; try again`)
}

interface Look {
  /** `null` for a missing file. */
  bytes: Buffer | null
  /** `null` for a file that has changed while it was read. */
  state: string | null
  /** Milliseconds since its last change, by the clock of its file system; negative if that is ahead. */
  age: number
}

function lookAt(path: string): Look {
  const { state, age } = stateOf(path)
  const bytes = readIfAny(path)
  return { bytes, state: stateOf(path).state === state ? state : null, age }
}

function stateOf(path: string): { state: string; age: number } {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (found === undefined) return { state: ABSENT, age: 0 }
  const { ino, size, mtimeNs, ctimeNs } = found
  return { state: `${ino} ${size} ${mtimeNs} ${ctimeNs}`, age: systemClock.now() - Number(ctimeNs / 1_000_000n) }
}

/** Synchronous, so that nothing of this process comes between a last look and the replacement. `null` stands for a missing file. */
export function isStill(path: string, text: string | null): boolean {
  const bytes = readIfAny(path)
  return text === null || bytes === null ? text === bytes : bytes.equals(Buffer.from(text))
}

/** `null` for a missing file. */
function readIfAny(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw fault
  }
}
