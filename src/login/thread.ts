import { platform, setPriority } from 'node:os'
import { matchesHash } from '../account/hash.ts'
import { drawCaptcha } from './captcha/image.ts'
import { decryptCiphertext } from './sm2/ciphertext.ts'
import type { ThreadWork } from './threads.ts'

/*
 * The code of a worker thread. Its priority is lower than that of the event loop, so that requests come before logins.
 * Only Linux has a priority per thread; elsewhere this would slow down the whole process.
 */
const NICENESS = 10
if (platform() === 'linux') setPriority(NICENESS)

export const decrypt: ThreadWork['decrypt'] = ({ ciphertext, privateKey }) => decryptCiphertext(ciphertext, privateKey)
export const draw: ThreadWork['draw'] = ({ text }) => drawCaptcha(text)
export const compare: ThreadWork['compare'] = ({ password, hash, decoys }) => matchesHash(password, hash, decoys)
