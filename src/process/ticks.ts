/** Until V8 has compiled `process.nextTick`: 500 calls were not enough in any start, 10 000 in all. They take some 10 ms. */
const CALLS = 10_000

/**
 * Lets V8 compile `process.nextTick` before the program is loaded. Each call makes an object with computed keys. Compiled
 * after the program had opened an embedded store, each of these keys was defined by V8's runtime
 * (`DefineKeyedOwnPropertyInLiteral`) for the life of the process: 3 µs of 45 for each request. That was so in every start with
 * the embedded store, and in one of four with Redis. Why V8 compiles it differently then is not known.
 */
export function settleTicks(): void {
  for (let i = 0; i < CALLS / 2; i++) {
    // With and without an argument, as Node calls it.
    process.nextTick(nothing)
    process.nextTick(nothing, i)
  }
}

const nothing = (): void => undefined
