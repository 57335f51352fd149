/** The work of a login that would block the event loop for milliseconds. A helper process does it. */
export interface HelperWork {
  decrypt(task: { ciphertext: string; privateKey: string }): Promise<string | null>
  draw(task: { text: string }): Promise<string>
  compare(task: { password: string; hash: string; decoys: readonly string[] }): Promise<boolean>
}

export type WorkName = keyof HelperWork
export type WorkTask<K extends WorkName> = Parameters<HelperWork[K]>[0]
export type WorkResult<K extends WorkName> = Awaited<ReturnType<HelperWork[K]>>

/** Each kind of work loads only its own libraries, at the first task of its kind. */
export const WORK: HelperWork = {
  async decrypt({ ciphertext, privateKey }) {
    const { decryptCiphertext } = await import('../sm2/ciphertext.ts')
    return decryptCiphertext(ciphertext, privateKey)
  },
  async draw({ text }) {
    const { drawCaptcha } = await import('../captcha/image.ts')
    return drawCaptcha(text)
  },
  async compare({ password, hash, decoys }) {
    const { matchesHash } = await import('../../account/hash.ts')
    return matchesHash(password, hash, decoys)
  },
}
