import t from 'tap'
import {
  hashesOf,
  hashOf,
  isAmong,
  newRecoveryCodes,
  readRecoveryCode,
} from '../../src/second-factor/recovery-codes.ts'
import { inFullWidth } from '../support/full-width.ts'

t.test('ten codes of 80 random bits, in groups that can be read aloud', async t => {
  const codes = Array.from({ length: 200 }, newRecoveryCodes)
  for (const ten of codes) t.equal(ten.length, 10)
  const all = codes.flat()
  t.equal(new Set(all).size, 2000)
  for (const code of all) t.match(code, /^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/)
  // 32 000 characters of an alphabet of 32: each occurs about a thousand times.
  const counts = new Map<string, number>()
  for (const character of all.join('').replaceAll('-', '')) counts.set(character, (counts.get(character) ?? 0) + 1)
  t.equal(counts.size, 32)
  for (const [character, count] of counts) t.ok(count > 800 && count < 1200, `${character}: ${count}`)
})

t.test('a code is read as people write it', async t => {
  for (const text of [
    '7K2M-9QXD-0F41-VW8A',
    '7k2m 9qxd of41 vw8a',
    ' 7K2M9QXDOF4LVW8A ',
    '7K2M-9QXD-0F4i-VW8A',
    inFullWidth('7k2m-9QXD-0F41-VW8A'),
  ]) {
    t.equal(readRecoveryCode(text), '7K2M9QXD0F41VW8A', text)
  }
  for (const text of [
    '',
    '123456',
    '7K2M-9QXD-0F41-VW8',
    '7K2M-9QXD-0F41-VW8A2',
    '7K2M-9QXD-0F41-VW8U',
    '7K2M–9QXD–0F41–VW8A',
  ]) {
    t.equal(readRecoveryCode(text), null, text)
  }
})

t.test('a code is found among hashes, and only itself', async t => {
  const codes = newRecoveryCodes()
  const hashes = hashesOf(codes)
  for (const code of codes) t.ok(isAmong(hashOf(readRecoveryCode(code)!), hashes))
  t.notOk(isAmong(hashOf('7K2M9QXD0F41VW8A'), hashes))
  t.notOk(isAmong(hashOf('7K2M9QXD0F41VW8A'), []))
  t.notOk(isAmong(hashes[0]!, [hashes[0]!.slice(1), `${hashes[0]}x`]), 'of another length')
  for (const code of codes) t.notOk(JSON.stringify(hashes).includes(code.replaceAll('-', '')))
})
