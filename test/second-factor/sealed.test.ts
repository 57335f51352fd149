import t from 'tap'
import { createSeal, nameOf, newName, sealingKey } from '../../src/second-factor/sealed.ts'
import { KEY } from './factor-fixture.ts'

const FACTOR = { name: newName(), secret: 'GEZDGNBVGY3TQOJQ', codes: ['one', 'two'] }
const SM2_KEY = '3945208f7b2144b13f36e38ac6d39f95889393692860b51a42fb81ef4df7c5b8'

t.test('a sealed factor has the form of the accounts file, does not show its secret, and can be opened', async t => {
  const seal = createSeal('BUSINESS', KEY)
  const sealed = seal.seal('1', FACTOR)
  t.match(sealed, /^[\w-]{12}\.[\w-]+$/)
  t.equal(nameOf(sealed), FACTOR.name)
  t.notOk(Buffer.from(sealed.split('.')[1]!, 'base64url').includes(FACTOR.secret))
  t.strictSame(seal.open('1', sealed), FACTOR)
  t.not(seal.seal('1', FACTOR), sealed, 'no nonce is used twice')
})

t.test('the text of one account cannot be opened for another one, nor with another key, side or name', async t => {
  const sealed = createSeal('BUSINESS', KEY).seal('1', FACTOR)
  const [, text] = sealed.split('.')
  t.equal(createSeal('BUSINESS', KEY).open('2', sealed), null)
  t.equal(createSeal('CONSUMER', KEY).open('1', sealed), null)
  t.equal(createSeal('BUSINESS', sealingKey(undefined, SM2_KEY)).open('1', sealed), null)
  t.equal(createSeal('BUSINESS', KEY).open('1', `${newName()}.${text}`), null)
})

t.test('a damaged text cannot be opened', async t => {
  const seal = createSeal('BUSINESS', KEY)
  const [name, text] = seal.seal('1', FACTOR).split('.') as [string, string]
  const bytes = Buffer.from(text, 'base64url')
  for (let index = 0; index < bytes.length; index += 7) {
    const damaged = Buffer.from(bytes)
    damaged[index]! ^= 1
    t.equal(seal.open('1', `${name}.${damaged.toString('base64url')}`), null, `byte ${index}`)
  }
  for (const length of [0, 1, 12, 27, 28, bytes.length - 1]) {
    t.equal(seal.open('1', `${name}.${bytes.subarray(0, length).toString('base64url')}`), null, `${length} bytes`)
  }
  for (const other of ['', '.', name, `${name}.`]) t.equal(seal.open('1', other), null, other)
})

t.test(
  'the key is the configured one, or else derived from the private key of SM2, and not that key itself',
  async t => {
    t.equal(sealingKey('ab'.repeat(32), SM2_KEY).toString('hex'), 'ab'.repeat(32))
    const derived = sealingKey(undefined, SM2_KEY)
    t.equal(derived.length, 32)
    t.not(derived.toString('hex'), SM2_KEY)
    t.same(derived, sealingKey(undefined, SM2_KEY.toUpperCase()))
    t.notSame(derived, sealingKey(undefined, SM2_KEY.replace(/^./, '4')))
  },
)
