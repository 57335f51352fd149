/** Bytes. Shorter chunks are copied into pages: a chunk of one byte that is kept as it came costs 150 bytes of memory. */
const SMALL = 1024
const PAGE = 4096

/** Bytes that wait. In pieces of one size they take about as much memory as they are; of small pieces between large ones, five times. */
export class KeptChunks {
  #chunks: Buffer[] = []
  #page: Buffer | null = null
  /** Bytes of the page that are filled. */
  #filled = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(chunk: Buffer): void {
    // Most bodies are one chunk.
    const staysAsItCame = chunk.length >= SMALL || this.#bytes === 0
    this.#bytes += chunk.length
    if (staysAsItCame || chunk.length > PAGE - this.#filled) this.#endPage()
    if (staysAsItCame) {
      this.#chunks.push(chunk)
      return
    }
    this.#page ??= Buffer.allocUnsafeSlow(PAGE)
    this.#filled += chunk.copy(this.#page, this.#filled)
  }

  /** Returns all of them, and keeps nothing. */
  take(): Buffer[] {
    this.#endPage()
    const chunks = this.#chunks
    this.#chunks = []
    this.#bytes = 0
    return chunks
  }

  #endPage(): void {
    if (this.#page !== null) this.#chunks.push(this.#page.subarray(0, this.#filled))
    this.#page = null
    this.#filled = 0
  }
}
