/** Until V8 has compiled `process.nextTick`: 500 calls were not enough in any start, 10 000 in all. They take some 10 ms. */
const CALLS = 10_000

/**
 * Lets V8 compile `process.nextTick` before the program is loaded. Each call makes an object with computed keys, some six for a
 * request. V8 compiles that well only while all these objects have had the same hidden class. While the program loads and opens
 * an embedded store, they get another one; V8 compiled the function afterwards, and each call went through V8's runtime for
 * the life of the process: 3 µs of 45 for each request. With Redis that happened in one start of four.
 */
export function settleTicks(): void {
  for (let i = 0; i < CALLS / 2; i++) {
    // With and without an argument, as Node calls it.
    process.nextTick(nothing)
    process.nextTick(nothing, i)
  }
}

const nothing = (): void => undefined
