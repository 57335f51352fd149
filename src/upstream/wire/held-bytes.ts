/** Bytes. Below that, an allocation costs more than what it keeps. */
const LEAST = 256

/**
 * The beginning of what is not complete yet, in memory of its own: that of one read of a socket has up to 64 KiB, however few bytes
 * of it are held. The memory doubles when it is full, so that a beginning in pieces of one byte is not copied for each of them.
 */
export class HeldBytes {
  #memory: Buffer
  #length = 0

  constructor(bytes: Buffer) {
    this.#memory = Buffer.allocUnsafeSlow(Math.max(LEAST, bytes.length))
    this.add(bytes)
  }

  /** Adds further bytes, and returns all. */
  add(bytes: Buffer): Buffer {
    const length = this.#length + bytes.length
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#memory.length))
      this.#memory.copy(larger, 0, 0, this.#length)
      this.#memory = larger
    }
    bytes.copy(this.#memory, this.#length)
    this.#length = length
    return this.#memory.subarray(0, length)
  }
}
