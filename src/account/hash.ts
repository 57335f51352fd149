import bcrypt from 'bcrypt'

/** Whether a password fits a bcrypt hash, in the calling thread. */
export const matchesHash = (password: string, hash: string): boolean => bcrypt.compareSync(password, hash)

/** The bcrypt hash of a password, computed outside the calling thread; `cost` is the binary logarithm of its rounds. */
export const makeHash = (password: string, cost: number): Promise<string> => bcrypt.hash(password, cost)
