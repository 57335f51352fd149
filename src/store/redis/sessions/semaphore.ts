/** Starts work while capacity is free, first come, first served; work larger than the capacity runs alone. */
export class Semaphore {
  readonly #size: number
  #free: number
  readonly #line: { size: number; begin: () => void }[] = []

  constructor(size: number) {
    this.#size = size
    this.#free = size
  }

  async within<T>(size: number, work: () => Promise<T>): Promise<T> {
    const taken = Math.min(size, this.#size)
    if (this.#line.length > 0 || taken > this.#free) {
      await new Promise<void>(begin => this.#line.push({ size: taken, begin }))
    } else this.#free -= taken
    try {
      return await work()
    } finally {
      this.#free += taken
      this.#beginNext()
    }
  }

  #beginNext(): void {
    for (let next = this.#line[0]; next !== undefined && next.size <= this.#free; next = this.#line[0]) {
      this.#line.shift()
      this.#free -= next.size
      next.begin()
    }
  }
}
