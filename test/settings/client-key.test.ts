import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readClientKey } from '../../src/settings/client-key.ts'

const folder = mkdtempSync(join(tmpdir(), 'dualgate-client-key-'))
function file(content: string | KeyObject): string {
  const path = join(folder, 'key.pem')
  writeFileSync(path, typeof content === 'string' ? content : content.export({ type: 'pkcs8', format: 'pem' }))
  return path
}

t.test('a client key signs with its own algorithm', async t => {
  const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey
  t.equal(readClientKey(file(ec('P-256'))).algorithm, 'ES256')
  t.equal(readClientKey(file(ec('P-384'))).algorithm, 'ES384')
  t.equal(readClientKey(file(ec('P-521'))).algorithm, 'ES512')
  t.equal(readClientKey(file(generateKeyPairSync('ed25519').privateKey)).algorithm, 'EdDSA')
  t.equal(readClientKey(file(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)).algorithm, 'RS256')
  const sec1 = ec('P-256').export({ type: 'sec1', format: 'pem' }).toString()
  t.equal(readClientKey(file(sec1)).algorithm, 'ES256')
})

t.test('a file without a usable private key is a fault that names it', async t => {
  t.throws(() => readClientKey(join(folder, 'absent.pem')), /absent\.pem: no such file; key names it/)
  t.throws(() => readClientKey(file('text')), /holds no private key/)
  const { publicKey } = generateKeyPairSync('ed25519')
  t.throws(
    () => readClientKey(file(publicKey.export({ type: 'spki', format: 'pem' }).toString())),
    /holds no private key/,
  )
  t.throws(
    () => readClientKey(file(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)),
    /RSA of 2048 bits/,
  )
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
  t.throws(() => readClientKey(file(privateKey)), /EC P-256/)
})
