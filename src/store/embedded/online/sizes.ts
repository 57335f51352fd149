/** How many users there are of each number of tokens. */
export type Sizes = ReadonlyMap<number, number>

export function usersIn(sizes: Sizes): number {
  let users = 0
  for (const count of sizes.values()) users += count
  return users
}

/** Adds to some sizes, in place; sizes without users are removed. */
export function addSizes(sizes: Map<number, number>, added: Sizes): Map<number, number> {
  for (const [size, users] of added) {
    const sum = (sizes.get(size) ?? 0) + users
    if (sum > 0) sizes.set(size, sum)
    else sizes.delete(size)
  }
  return sizes
}

export const sameSizes = (a: Sizes, b: Sizes): boolean =>
  a.size === b.size && [...a].every(([size, users]) => b.get(size) === users)

/** Written as `1:120 2:7`: 120 users of one token and 7 of two. */
export const writeSizes = (sizes: Sizes): string => Array.from(sizes, ([size, users]) => `${size}:${users}`).join(' ')

export function readSizes(text: string): Map<number, number> {
  const sizes = new Map<number, number>()
  if (text === '') return sizes
  for (const part of text.split(' ')) {
    const colon = part.indexOf(':')
    sizes.set(Number(part.slice(0, colon)), Number(part.slice(colon + 1)))
  }
  return sizes
}
