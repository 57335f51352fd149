import t from 'tap'
import { fold, namesOf } from '../../src/store/names.ts'

t.test('names and keywords that people read as the same are the same', async t => {
  for (const [one, other] of [
    ['Ada', 'aDA'],
    ['ÉLODIE', 'élodie'],
    ['e\u0301lodie', 'élodie'],
    ['ΟΔΥΣΣΕΥΣ', 'Οδυσσευς'],
    ['ВАСЯ', 'вася'],
    ['straße', 'STRASSE'],
    ['李雷', '李雷'],
  ] as const) {
    t.equal(fold(one), fold(other), `${one} ${other}`)
  }
  for (const [one, other] of [
    ['Ada', 'Ado'],
    ['李雷', '李'],
    ['a b', 'ab'],
  ] as const) {
    t.not(fold(one), fold(other), `${one} ${other}`)
  }
})

t.test('a folded text survives being stored as UTF-8 between separators', async t => {
  for (const text of ['a\tb\nc\u0000d\u007f\u0085', '\ud83e', 'x\udd8ay', '🦊', '\u2028']) {
    const folded = fold(text)
    t.ok(Buffer.from(folded).toString() === folded, encodeURI(folded))
    t.ok(!/[\t\n\0]/.test(folded), encodeURI(folded))
  }
  t.equal(fold('🦊'), '🦊')
})

t.test('usernames and nicknames are searched, also numbers, and no other field', async t => {
  t.strictSame(namesOf({ username: 'ada', nickname: 'Countess', email: 'a@b', avatar: 'x' }), ['ADA', 'COUNTESS'])
  t.strictSame(namesOf({ username: 13800138000, nickname: null }), ['13800138000'])
  t.strictSame(namesOf({ username: 'ada', nickname: 'ADA' }), ['ADA'])
  t.strictSame(namesOf({ username: '', nickname: ['ada'] }), [])
  t.strictSame(namesOf({}), [])
})

t.test('only the first 64 characters of a long name are indexed, without splitting one', async t => {
  t.strictSame(namesOf({ username: 'a'.repeat(5000) }), ['A'.repeat(64)])
  t.strictSame(namesOf({ username: '🦊'.repeat(5000) }), ['🦊'.repeat(64)])
})
