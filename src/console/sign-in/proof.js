/*
 * SHA-256 (FIPS 180-4) of one block, for proofs of work: the browser's own is asynchronous, which takes longer than the digest
 * itself, and absent on pages without HTTPS.
 */

/** The first 64 primes. */
const PRIMES = Array.from({ length: 312 }, (_, number) => number).filter(
  number => number > 1 && !Array.from({ length: number - 2 }, (_, at) => at + 2).some(part => number % part === 0),
)

/** @param {number} root The first 32 bits of its fraction. */
const fraction = root => ((root - Math.floor(root)) * 2 ** 32) | 0

const CONSTANTS = Int32Array.from(PRIMES, prime => fraction(Math.cbrt(prime)))
const START = Int32Array.from(PRIMES.slice(0, 8), prime => fraction(Math.sqrt(prime)))

/**
 * @param {number} word
 * @param {number} bits
 */
const rotated = (word, bits) => (word >>> bits) | (word << (32 - bits))

const words = new Int32Array(64)
const state = new Int32Array(8)

/**
 * The digest of a padded block, in `state`.
 *
 * @param {DataView} block
 */
function digest(block) {
  for (let i = 0; i < 16; i++) words[i] = block.getInt32(4 * i)
  for (let i = 16; i < 64; i++) {
    const [early, late] = [at(words, i - 15), at(words, i - 2)]
    const low = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const high = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    words[i] = at(words, i - 16) + low + at(words, i - 7) + high
  }
  state.set(START)
  let a = at(state, 0)
  let b = at(state, 1)
  let c = at(state, 2)
  let d = at(state, 3)
  let e = at(state, 4)
  let f = at(state, 5)
  let g = at(state, 6)
  let last = at(state, 7)
  for (let i = 0; i < 64; i++) {
    const high = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const one = (last + high + ((e & f) ^ (~e & g)) + at(CONSTANTS, i) + at(words, i)) | 0
    const low = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0
    last = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  const sums = [a, b, c, d, e, f, g, last]
  for (let i = 0; i < 8; i++) state[i] = at(state, i) + /** @type {number} */ (sums[i])
}

/**
 * @param {Int32Array} array
 * @param {number} index
 */
const at = (array, index) => /** @type {number} */ (array[index])

function leadingZeros() {
  const first = state.findIndex(word => word !== 0)
  return first === -1 ? 256 : 32 * first + Math.clz32(at(state, first))
}

/**
 * The least number that, written behind the challenge, makes the digest of both begin with so many zero bits.
 *
 * @param {string} challenge 32 hex digits.
 * @param {number} difficulty
 */
export function solve(challenge, difficulty) {
  const bytes = new Uint8Array(64)
  const block = new DataView(bytes.buffer)
  const encoder = new TextEncoder()
  for (let number = 0; ; number++) {
    const { written } = encoder.encodeInto(challenge + number, bytes)
    bytes.fill(0, written)
    bytes[written] = 0x80
    block.setUint32(60, 8 * written)
    digest(block)
    if (leadingZeros() >= difficulty) return String(number)
  }
}
