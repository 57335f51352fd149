import t from 'tap'
import {
  asKey,
  containsKey,
  digestOfSecret,
  hintOf,
  makeKey,
  partsOf,
  readBearerKey,
} from '../../src/token/key-form.ts'
import { keyChecksum } from '../support/keys.ts'

t.test('a key names its side, its id, its secret, and ends with the checksum of all before', async t => {
  for (const [type, letter] of [
    ['BUSINESS', 'b'],
    ['CONSUMER', 'c'],
  ] as const) {
    const { key, id } = makeKey(type)
    t.match(key, new RegExp(`^dg${letter}_${id}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$`))
    t.equal(key.slice(-6), keyChecksum(key.slice(0, -6)))
    t.same(partsOf(key), { type, id, secret: key.slice(17, -6) })
    t.equal(asKey(key), key)
    t.equal(hintOf(type, id), key.slice(0, 8))
  }
  t.equal(new Set(Array.from({ length: 200 }, () => makeKey('BUSINESS').key)).size, 200)
})

t.test('a text with another form or another checksum is no key', async t => {
  const { key } = makeKey('BUSINESS')
  const swapped = key.replace(/.(?=.{6}$)/, last => (last === 'a' ? 'b' : 'a'))
  const others = [
    swapped,
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    key.replace('dgb', 'dgc'),
    key.replace('dgb', 'DGB'),
    key.toUpperCase(),
    '',
    'dgb_',
    'a.b.c',
    null,
    12,
    [key],
  ]
  for (const other of others) t.equal(asKey(other), null, JSON.stringify(other))
})

t.test('a header holds a key with the scheme Bearer in any case, or alone', async t => {
  const { key } = makeKey('CONSUMER')
  for (const value of [key, `Bearer ${key}`, `bearer ${key}`]) t.equal(readBearerKey(value), key)
  for (const value of [`Bearer  ${key}`, `Basic ${key}`, `${key}, ${key}`, [key], undefined])
    t.equal(readBearerKey(value), null, String(value))
})

t.test('a key is found within a text, and what only looks like one is not', async t => {
  const { key } = makeKey('BUSINESS')
  for (const text of [key, `Key ${key}`, `token=${key}&a=b`, `"${key}"`]) t.equal(containsKey(text), true, text)
  for (const text of ['', key.slice(0, -1), `${key.slice(0, -1)}_`, 'Bearer a.b.c'])
    t.equal(containsKey(text), false, text)
})

t.test('only a digest of the secret is kept', async t => {
  const { secret } = partsOf(makeKey('BUSINESS').key)
  t.equal(digestOfSecret(secret).length, 32)
  t.notMatch(digestOfSecret(secret).toString('latin1'), secret)
})
