import fc from 'fast-check'

/* Chance in tests. A test file that failed says with which seed; `SEED=123 npx tap FILE` takes the same choices. */

export const SEED = process.env.SEED === undefined ? Math.trunc(Math.random() * 0x7fffffff) : Number(process.env.SEED)

fc.configureGlobal({ seed: SEED })
process.once('exit', () => {
  if (process.exitCode) console.log(`# chosen at random: repeat with SEED=${SEED}`)
})

let state = SEED

/** A number from 0 to 1, without 1, as of Math.random (Mulberry32). */
export function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** A whole number below `limit`. */
export const randomBelow = (limit: number): number => Math.floor(random() * limit)

export { fc }
