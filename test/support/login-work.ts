import bcrypt from 'bcrypt'
import { sm2 } from 'sm-crypto-v2'
import { WORK } from '../../src/login/helpers/helper-work.ts'
import type { Helpers } from '../../src/login/helpers/helpers.ts'

/*
 * The work of logins, as cheap as tests can have it. Tests of the helper processes, of passwords and of their costs do without
 * this file, and gateways that tests start as processes do the whole work.
 */

/** Keeps the results of work by its arguments. */
function remembered<R>(work: (...words: [string, string]) => Promise<R>): (...words: [string, string]) => Promise<R> {
  const results = new Map<string, Promise<R>>()
  return (...words) => {
    const key = JSON.stringify(words)
    const result = results.get(key) ?? work(...words)
    results.set(key, result)
    return result
  }
}

/** Of all captchas: to draw one takes six milliseconds, and tests read the answers in the store. */
let picture: Promise<string> | undefined

/**
 * What helper processes do, in this process: helpers of the lowest priority would not even start while other tests want the
 * core. The decoys of a comparison cost time only.
 */
export const loginWork: Helpers = {
  decrypt: remembered((ciphertext, privateKey) => WORK.decrypt({ ciphertext, privateKey })),
  draw: text => {
    picture ??= WORK.draw({ text })
    return picture
  },
  compare: remembered((password, hash) => WORK.compare({ password, hash, decoys: [] })),
  close: async () => undefined,
}

const hash = bcrypt.hash

/** From now on new passwords are hashed at the lowest cost in this process: one of 10 takes 60 milliseconds. */
export function hashAtLowestCost(): void {
  Object.assign(bcrypt, { hash: (password: string) => hash(password, 4) })
}

const ciphertexts = new Map<string, string>()

/** SM2 of a password, as clients send it; the same one each time. */
export function encrypt(password: string, publicKey: string): string {
  const key = `${publicKey} ${password}`
  const ciphertext = ciphertexts.get(key) ?? sm2.doEncrypt(password, publicKey, 1)
  ciphertexts.set(key, ciphertext)
  return ciphertext
}
