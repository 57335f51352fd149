import bcrypt from 'bcrypt'

/** Whether a password matches a bcrypt hash, in the calling thread. If not, it is also compared with the decoys. */
export function matchesHash(
  password: string,
  hash: string,
  decoys: readonly string[] = [],
  compare: (password: string, hash: string) => boolean = bcrypt.compareSync,
): boolean {
  if (compare(password, hash)) return true
  for (const decoy of decoys) compare(password, decoy)
  return false
}

/** The bcrypt hash of a password, computed outside the calling thread; `cost` is the binary logarithm of its rounds. */
export const makeHash = (password: string, cost: number): Promise<string> => bcrypt.hash(password, cost)
