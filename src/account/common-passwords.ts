import { dictionary } from '@zxcvbn-ts/language-common'

/*
 * Passwords that were found most often in published leaks, in lower case. The list takes 20 ms to read and 4 MB of memory:
 * only the first new password of a process loads it.
 */
const COMMON: ReadonlySet<string> = new Set(dictionary['passwords-common'])

export const isCommonPassword = (password: string): boolean => COMMON.has(password.toLowerCase())
