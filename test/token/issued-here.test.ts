import t from 'tap'
import { createOwnTokens } from '../../src/token/issued-here.ts'

const OWN = `${'h'.repeat(20)}.${'p'.repeat(20)}.${'s'.repeat(43)}`
const OTHER = `${'h'.repeat(20)}.${'p'.repeat(20)}.${'o'.repeat(43)}`

function open() {
  const checked: string[] = []
  const isSigned = (token: string): boolean => {
    checked.push(token)
    return token === OWN
  }
  return { ...createOwnTokens({ isSigned }), checked }
}

t.test('no signature is checked where nothing has the form of a token', async t => {
  const { isIn, removedFrom, checked } = open()
  const values = ['', 'Basic YTpi', 'Bearer opaque', `Bearer ${'x'.repeat(5000)}`, `${OWN.repeat(50)}`, 'Bearer a.b.c']
  for (const value of values) t.equal(isIn(value), false, value.slice(0, 40))
  const queries = ['', '?', '?token=a.b.c', `?access=${OWN}`, `?a=${'x'.repeat(200)}`, `?xtoken=${OWN}&tokens=${OWN}`]
  for (const query of queries) t.equal(removedFrom(query), query, query.slice(0, 40))
  t.same(checked, [])
})

t.test('a value that would cost many checks counts as one that holds a token', async t => {
  const { isIn, checked } = open()
  t.equal(isIn(`Bearer ${Array(8).fill(OTHER).join(', ')}`), false)
  t.equal(isIn(`Bearer ${Array(200).fill(OTHER).join(', ')}`), true)
  t.equal(checked.length, 16)
})

t.test('only a token of ours loses its scheme', async t => {
  const { bareOf } = open()
  for (const value of [OWN, `Bearer ${OWN}`, `bEARER ${OWN}`]) t.equal(bareOf(value), OWN, value)
  for (const value of [OTHER, `Bearer ${OTHER}`, 'Basic YTpi', `Token ${OWN}`, `Bearer  ${OWN}`, '', 'Bearer ']) {
    t.equal(bareOf(value), value, value)
  }
})

t.test('only the parameter that holds a token is removed', async t => {
  const { removedFrom } = open()
  t.equal(removedFrom(`?a=%2F&token=${OWN}&token=${OTHER}&b=;`), `?a=%2F&token=${OTHER}&b=;`)
  t.equal(removedFrom(`?to=${OWN}&token=${OWN}`), `?to=${OWN}`)
  t.equal(removedFrom(`?token=%C3%A4${OWN}`), '', 'a character that no token has separates')
})
