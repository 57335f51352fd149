/** A bounded map that drops the least recently used half: two generations, without a list to maintain on each hit. */
export function createRecent<V>(limit: number): { get(key: string): V | undefined; set(key: string, value: V): void } {
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  function set(key: string, value: V): void {
    if (young.size >= limit / 2) {
      old = young
      young = new Map()
    }
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
  }
}
