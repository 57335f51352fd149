/** How many results one function caches: clients choose the arguments, so their number and length are limited. */
const MAX_REMEMBERED = 1000
const MAX_REMEMBERED_LENGTH = 64

/**
 * The same pure function with a cache, for texts that repeat from request to request: header names, hosts, addresses.
 */
export function memoize<T>(compute: (text: string) => T): (text: string) => T {
  const remembered = new Map<string, T>()
  return text => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    const result = compute(text)
    if (remembered.size < MAX_REMEMBERED && text.length <= MAX_REMEMBERED_LENGTH) remembered.set(text, result)
    return result
  }
}
