/*
 * Seen in: Node 20.20.2. Each call of `process.nextTick` makes an object with computed keys. Compiled after the program had
 * opened an embedded store, V8's runtime defines each of these keys (`DefineKeyedOwnPropertyInLiteral`) for the life of the
 * process. That was so in every start with the embedded store, and in one of four with Redis.
 * Upstream: no issue is known.
 * Gains: 4.6 and 6.1 % of a request on Node 20.20.2 (43.0 to 41.1 µs, 47.5 to 44.6 µs, medians of five starts each). On Node 24.21.0
 * 8.1 % by instructions (216 110 to 198 537, `npm run bench -- instructions`, least window; why, was not examined). Nothing on Node
 * 22.23.3 (202 952 to 202 117) and 26.12.1 (181 050 to 181 893).
 * Until: Node 20 and 24 are no longer supported.
 */

/** Until V8 has compiled `process.nextTick`: 500 calls were not enough in any start, 10 000 in all. They take some 10 ms. */
const CALLS = 10_000

/** The versions of Node that gain. */
const GAINING = /^(?:20|24)\./

/** Lets V8 compile `process.nextTick` before the program is loaded. */
export function settleTicks(): void {
  if (!GAINING.test(process.versions.node)) return
  for (let i = 0; i < CALLS / 2; i++) {
    // With and without an argument, as Node calls it.
    process.nextTick(nothing)
    process.nextTick(nothing, i)
  }
}

const nothing = (): void => undefined
