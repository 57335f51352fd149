import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import smCrypto from 'sm-crypto'
import { sm2 as other } from 'sm-crypto-v2'
import t from 'tap'
import { decryptCiphertext, derivePublicKey } from '../../src/login/sm2/ciphertext.ts'
import { publicKeyOf } from '../../src/login/sm2/sm2.ts'
import { generateSm2PrivateKey } from '../../src/settings/sm2-key.ts'
import { RARE, RARE_KEY } from './sm2-rare.ts'

const KEY = generateSm2PrivateKey()
const PUBLIC = await publicKeyOf(KEY)
const encrypt = (text: string | number[], mode: 0 | 1 = 1): string => smCrypto.sm2.doEncrypt(text, PUBLIC, mode)
const read = (hex: string): string | null => decryptCiphertext(hex, KEY)

t.test('a key pair works with clients and other implementations', async t => {
  t.match(KEY, /^[0-9a-f]{64}$/)
  t.match(PUBLIC, /^04[0-9a-f]{128}$/)
  t.equal(other.getPublicKeyFromPrivateKey(KEY), PUBLIC)
  t.equal(await publicKeyOf(KEY.toUpperCase()), PUBLIC)
  t.equal(derivePublicKey(KEY), PUBLIC, 'without the help of OpenSSL')
  t.not(generateSm2PrivateKey(), KEY)
})

t.test('an invalid private key is refused without quoting it', async t => {
  const order = 'fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123'
  for (const key of [
    '',
    '0'.repeat(64),
    'f'.repeat(64),
    order,
    `${order.slice(0, -1)}2`,
    'g'.repeat(64),
    KEY.slice(1),
  ]) {
    await t.rejects(publicKeyOf(key), { message: /^the SM2 private key must be/ })
  }
  t.match(await publicKeyOf(`${order.slice(0, -1)}1`), /^04/, 'n - 2 is the last')
})

t.test('texts of every kind are decrypted unchanged, with a leading 04 and without', async t => {
  for (const text of ['a', 'correct horse', 'Пароль 密码 🔑', '\ufeffmark', '\0', 'x'.repeat(8192)]) {
    const ciphertext = encrypt(text)
    t.equal(read(ciphertext), text)
    t.equal(read(`04${ciphertext}`), text)
    t.equal(read(ciphertext.toUpperCase()), text)
  }
})

const good = encrypt('correct horse')
const flip = (hex: string, digit: number): string =>
  hex.slice(0, digit) + (Number.parseInt(hex[digit]!, 16) ^ 1).toString(16) + hex.slice(digit + 1)

const HOSTILE: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['no hex', 'correct horse'],
  ['hex with a space', `${good.slice(0, 10)} ${good.slice(11)}`],
  ['hex with a line end', `${good}\n`],
  ['0x in front', `0x${good}`],
  ['other digits', good.replace(/^./, '１')],
  ['an odd number of digits', good.slice(1)],
  ['a lone 04', '04'],
  ['C1 alone', good.slice(0, 128)],
  ['no C2', good.slice(0, 192)],
  ['no C2, with 04', `04${good.slice(0, 192)}`],
  ['the last byte cut', good.slice(0, -2)],
  ['a byte more', `${good}00`],
  ['C1C2C3', encrypt('correct horse', 0)],
  ['C1C2C3 with 04', `04${encrypt('correct horse', 0)}`],
  ['a bit of x flipped', flip(good, 5)],
  ['a bit of y flipped', flip(good, 70)],
  ['a bit of C3 flipped', flip(good, 130)],
  ['a bit of C2 flipped', flip(good, 192)],
  ['the last bit flipped', flip(good, good.length - 1)],
  ['C1 at infinity', '00'.repeat(64) + good.slice(128)],
  ['C1 beyond the field', 'ff'.repeat(64) + good.slice(128)],
  ['a compressed C1', `02${good.slice(0, 64)}${good.slice(128)}`],
  ['05 in front', `05${good}`],
  ['04 twice in front', `0404${good}`],
  ['for another key', smCrypto.sm2.doEncrypt('correct horse', await publicKeyOf(generateSm2PrivateKey()), 1)],
  ['no text', encrypt('')],
  ['a text that is not UTF-8', encrypt([0xc3, 0x28])],
  ['a lone surrogate in CESU-8', encrypt([0xed, 0xa0, 0x80])],
  ['a text over 8 KiB', encrypt('x'.repeat(8193))],
  ['a megabyte', 'ab'.repeat(500_000)],
]

for (const [what, hex] of HOSTILE) t.test(`undecryptable: ${what}`, async t => t.equal(read(hex), null))

/** Each takes twelve milliseconds to decrypt. */
const COMMON = 50

t.test(`${COMMON} ciphertexts of another implementation are decrypted, with 04 and without`, async t => {
  const key = other.precomputePublicKey(PUBLIC)
  for (let i = 0; i < COMMON; i++) {
    const text = `päss-${i}-${'x'.repeat(i % 40)}`
    const ciphertext = other.doEncrypt(text, key, 1)
    t.same([read(ciphertext), read(`04${ciphertext}`)], [text, text], ciphertext)
  }
})

for (const [what, ciphertexts] of Object.entries(RARE)) {
  t.test(`a ciphertext with ${what} is decrypted, and not cut, with another 04 in front and without`, async t => {
    for (const [text, ciphertext] of ciphertexts) {
      const found = [ciphertext, `04${ciphertext}`].map(sent => decryptCiphertext(sent, RARE_KEY))
      t.same(found, [text, text], ciphertext)
    }
  })
}

const openssl = spawnSync('openssl', ['version'])
t.test('ciphertexts of OpenSSL are read', { skip: openssl.error ? 'LEFT OUT: no openssl on PATH' : false }, async t => {
  // SubjectPublicKeyInfo of an EC key on the curve sm2p256v1 (RFC 8998, GM/T 0006).
  const spki = Buffer.from(`3059301306072a8648ce3d020106082a811ccf5501822d034200${PUBLIC}`, 'hex')
  const pem = `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----\n`
  const file = join(t.testdir({ 'key.pem': pem }), 'key.pem')
  for (const text of ['correct horse', '密码 12345']) {
    const der = execFileSync('openssl', ['pkeyutl', '-encrypt', '-pubin', '-inkey', file], { input: text })
    t.equal(read(fromDer(der)), text)
    t.equal(read(`04${fromDer(der)}`), text)
  }
})

/** OpenSSL writes SEQUENCE { x INTEGER, y INTEGER, C3 OCTET STRING, C2 OCTET STRING } (GM/T 0009). */
function fromDer(der: Buffer): string {
  const parts: Buffer[] = []
  let at = der[1]! > 128 ? 2 + (der[1]! & 127) : 2
  while (at < der.length) {
    const length = der[at + 1]!
    parts.push(der.subarray(at + 2, at + 2 + length))
    at += 2 + length
  }
  const [x, y, c3, c2] = parts.map(part => part.toString('hex')) as [string, string, string, string]
  const coordinate = (hex: string): string => hex.slice(-64).padStart(64, '0')
  return coordinate(x) + coordinate(y) + c3 + c2
}
