import { randomInt } from 'node:crypto'

/** Letters and digits without look-alikes: 24 out of 57 are 139 bits. */
const UNAMBIGUOUS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789'
const LENGTH = 24
/** The kinds of characters that a policy can demand; the last one is in none of the alphabet. */
const KINDS = ['abcdefghijkmnopqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-']

const oneOf = (characters: string): string => characters[randomInt(characters.length)]!

/** A random password that fulfils any policy with this minimum and so many kinds of characters. */
export function generatePassword({ min_length = 0, classes = 0 } = {}): string {
  const random = Array.from({ length: Math.max(LENGTH, min_length) - classes }, () => oneOf(UNAMBIGUOUS))
  for (const kind of KINDS.slice(0, classes)) random.splice(randomInt(random.length + 1), 0, oneOf(kind))
  return random.join('')
}
