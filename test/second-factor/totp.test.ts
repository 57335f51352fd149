import { Secret } from 'otpauth'
import t from 'tap'
import { newSecret, stepOf, uriOf } from '../../src/second-factor/totp.ts'

/** RFC 6238, appendix B, SHA-1: seconds, and the last six of the eight digits. */
const VECTORS = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
] as const
const SECRET = Secret.fromLatin1('12345678901234567890').base32

t.test('codes are those of RFC 6238', async t => {
  for (const [seconds, code] of VECTORS) {
    t.equal(stepOf(code, SECRET, seconds * 1000), Math.floor(seconds / 30), `${seconds}`)
  }
})

t.test('a code is accepted one step before and one step after its own, and no longer', async t => {
  const [seconds, code] = VECTORS[3]
  const begin = Math.floor(seconds / 30) * 30
  const step = begin / 30
  for (const [at, found] of [
    [begin - 31, null],
    [begin - 30, step],
    [begin, step],
    [begin + 59, step],
    [begin + 60, null],
  ] as const) {
    t.equal(stepOf(code, SECRET, at * 1000), found, `${at - begin} s`)
  }
})

t.test('a code of another length is invalid', async t => {
  for (const code of ['', '05924', '0059240', '89005924']) {
    t.equal(stepOf(code, SECRET, 1_234_567_890_000), null, code)
  }
})

t.test('a secret has 160 random bits, and its address is what apps read', async t => {
  const secrets = Array.from({ length: 20 }, newSecret)
  t.equal(new Set(secrets).size, 20)
  for (const secret of secrets) t.match(secret, /^[A-Z2-7]{32}$/)
  const uri = new URL(uriOf(SECRET, 'Müller & Söhne', 'ann:b@x.de'))
  t.equal(uri.protocol + uri.host, 'otpauth:totp')
  t.equal(decodeURIComponent(uri.pathname), '/Müller & Söhne:ann:b@x.de')
  t.strictSame(Object.fromEntries(uri.searchParams), {
    secret: SECRET,
    issuer: 'Müller & Söhne',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
