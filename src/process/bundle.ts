import { createHash } from 'node:crypto'
import { channel, subscribe } from 'node:diagnostics_channel'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { readCodeCache, writeCodeCache } from './code-cache.ts'

/*
 * The gateway in one file, which `.build/bundle.mjs` makes of the compiled modules and most packages. One file that V8 has
 * compiled before starts in half the time of a thousand. The modules stand beside it, for programs that embed the gateway,
 * and run where no bundle was made.
 */

/** The folder of the compiled modules; for the sources themselves, which have no bundle, that of the sources. */
const MODULES = new URL('../', import.meta.url)
const BUNDLE = fileURLToPath(new URL('bundle/gateway.cjs', MODULES))

/** How long after a start the compiled form is kept, in milliseconds: with what the first requests need. */
const SETTLED = 1000

/** The entries of the bundle by their names; see `.build/bundle.mjs`. */
type Entries = Readonly<Record<string, () => Promise<unknown>>>

/** Published when the command of the start handles signals itself. */
const STARTING = 'dualgate:starting'
export const announceStarting = (): void => channel(STARTING).publish({})
export const onStarting = (listener: () => void): void => subscribe(STARTING, listener)

/** Published when the process serves, or sees its workers serve. */
const SERVING = 'dualgate:serving'
export const announceServing = (): void => channel(SERVING).publish({})
export const onServing = (listener: () => void): void => subscribe(SERVING, listener)

/** Loads an entry from the bundle; `otherwise` loads the same from its module. */
export async function load<T>(entry: string, otherwise: () => Promise<T>): Promise<T> {
  if (!existsSync(BUNDLE)) return otherwise()
  const bytes = readFileSync(BUNDLE)
  // Computed: V8 itself compares only the length, so a change of the same length would not run.
  const identity = createHash('sha256').update(bytes).digest('hex')
  const source = bytes.toString('latin1')
  const cache = join(dirname(BUNDLE), `${entry}-${process.version}-${process.arch}.cache`)
  const cachedData = readCodeCache(cache, BUNDLE, identity)
  const script = new Script(`(function (exports, require, urlOf) {${source}\n})`, {
    filename: BUNDLE,
    ...(cachedData !== undefined && { cachedData }),
  })
  if (cachedData === undefined || script.cachedDataRejected === true) {
    onServing(() => {
      setTimeout(() => void writeCodeCache(cache, identity, script.createCachedData()), SETTLED).unref()
    })
  }
  const entries: Entries = {}
  script.runInThisContext()(entries, createRequire(BUNDLE), (file: string) => new URL(file, MODULES).href)
  return (await entries[entry]!()) as T
}
