/** A bounded map of what was used of late. */
export interface Recent<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  /** Drops what was not used since the last call. */
  age(): void
}

/** Drops the least recently used half when `limit` is reached: two generations, without a list to maintain on each hit. */
export function createRecent<V>(limit: number): Recent<V> {
  let young = new Map<string, V>()
  let old = new Map<string, V>()

  function age(): void {
    old = young
    young = new Map()
  }

  function set(key: string, value: V): void {
    if (young.size >= limit / 2) age()
    young.set(key, value)
  }

  return {
    get(key) {
      const value = young.get(key)
      if (value !== undefined) return value
      const kept = old.get(key)
      if (kept !== undefined) set(key, kept)
      return kept
    },
    set,
    age,
  }
}
