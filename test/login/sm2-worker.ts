import { parentPort, workerData } from 'node:worker_threads'
import { sm2 } from 'sm-crypto-v2'
import { decryptCiphertext } from '../../src/login/sm2/ciphertext.ts'
import { publicKeyOf } from '../../src/login/sm2/sm2.ts'

/** Encrypts and decrypts `count` texts, every other ciphertext with `04` in front; answers what came out wrong. */
const { privateKey, count } = workerData as { privateKey: string; count: number }
const publicKey = sm2.precomputePublicKey(await publicKeyOf(privateKey))
const lost: string[] = []
for (let i = 0; i < count; i++) {
  const text = `päss-${i}-${'x'.repeat(i % 40)}`
  const ciphertext = sm2.doEncrypt(text, publicKey, 1)
  const sent = i % 2 === 0 ? ciphertext : `04${ciphertext}`
  if (decryptCiphertext(sent, privateKey) !== text) lost.push(sent)
}
parentPort!.postMessage({ lost })
