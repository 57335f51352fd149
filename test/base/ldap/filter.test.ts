import t from 'tap'
import { ANY, type Filter, placesIn, readFilter } from '../../../src/base/ldap/filter.ts'

const equal = (attribute: string, value: string): Filter => ({ kind: 'equal', attribute, value })

t.test('every form of a filter is read (RFC 4515)', async t => {
  const read: [text: string, filter: Filter][] = [
    ['(uid=jane)', equal('uid', 'jane')],
    [' ( uid=jane ) ', equal('uid', 'jane ')],
    ['(uid=)', equal('uid', '')],
    ['(uid=*)', { kind: 'present', attribute: 'uid' }],
    ['(cn~=x)', { kind: 'approximate', attribute: 'cn', value: 'x' }],
    ['(a>=1)', { kind: 'at-least', attribute: 'a', value: '1' }],
    ['(a<=1=2)', { kind: 'at-most', attribute: 'a', value: '1=2' }],
    ['(cn=a*b*c)', { kind: 'substrings', attribute: 'cn', initial: 'a', any: ['b'], final: 'c' }],
    ['(cn=*b*)', { kind: 'substrings', attribute: 'cn', initial: '', any: ['b'], final: '' }],
    ['(cn:dn:2.5.13.5:=x)', { kind: 'rule', attribute: 'cn', rule: '2.5.13.5', dnAttributes: true, value: 'x' }],
    ['(:2.5.13.5:=x)', { kind: 'rule', attribute: '', rule: '2.5.13.5', dnAttributes: false, value: 'x' }],
    ['(cn:=x)', { kind: 'rule', attribute: 'cn', rule: '', dnAttributes: false, value: 'x' }],
    ['(cn;lang-de=x)', equal('cn;lang-de', 'x')],
    ['(cn=\\c4\\8de\\2a\\28)', equal('cn', 'če*(')],
    ['(!(a=1))', { kind: 'not', filter: equal('a', '1') }],
    [
      '(&(a=1)\n  (|(b=2)(c=3)))',
      { kind: 'and', filters: [equal('a', '1'), { kind: 'or', filters: [equal('b', '2'), equal('c', '3')] }] },
    ],
  ]
  for (const [text, filter] of read) t.same(readFilter(text), filter, text)
})

t.test('a text that is no filter is refused with what is wrong', async t => {
  const wrong: [text: string, fault: RegExp][] = [
    ['', /needs \( at 1/],
    ['uid=jane', /needs \( at 1/],
    ['(uid=jane', /needs \) at 10/],
    ['(uid=jane))', /does not end where/],
    ['(uid)', /no comparison .* at 2/],
    ['(=x)', /no comparison/],
    ['(&)', /needs \( at 3/],
    ['(u id=x)', /names no attribute: u id/],
    ['(uid=a\\2)', /followed by two hex digits/],
    ['(uid=\\ff)', /not UTF-8/],
    ['(:=x)', /invalid rule/],
    [`${'(!'.repeat(40)}(a=1)${')'.repeat(40)}`, /deeper than 32/],
  ]
  for (const [text, fault] of wrong) t.throws(() => readFilter(text), { message: fault }, text)
})

t.test('what fills a placeholder stays a value, whatever it contains', async t => {
  const values = ['*', '(uid=*)', ')(uid=*', '\\2a', '\\', '\0', '#x', ' x ', '{username}', 'a=b', '😀', '\\c4\\8d']
  for (const value of values) {
    t.same(readFilter('(uid={username})', { '{username}': value }), equal('uid', value), JSON.stringify(value))
    t.same(
      readFilter('(mail={username}@a\\2ab)', { '{username}': value }),
      equal('mail', `${value}@a*b`),
      JSON.stringify(value),
    )
  }
})

t.test('any value of a placeholder is a presence', async t => {
  t.same(readFilter('(&(objectClass=user)(mail={username}@x))', { '{username}': ANY }), {
    kind: 'and',
    filters: [equal('objectClass', 'user'), { kind: 'present', attribute: 'mail' }],
  })
})

t.test('the places of a placeholder are known, with how it is compared there', async t => {
  const place = (attribute: string, isWhole: boolean, isCompared: boolean) => ({ attribute, isWhole, isCompared })
  const places: [filter: string, expected: object[]][] = [
    ['(&(a=1)(uid={u}))', [place('uid', true, true)]],
    ['(|(uid={u})(mail={u}@x))', [place('uid', true, true), place('mail', false, true)]],
    ['(m:1.2:={u})', [place('m', true, true)]],
    ['(uid={u}*)', [place('uid', false, false)]],
    ['(uid>={u})', [place('uid', false, false)]],
    ['(!(uid={u}))', [place('uid', false, false)]],
    ['(uid=x)', []],
  ]
  for (const [filter, expected] of places) t.same(placesIn(filter, '{u}'), expected, filter)
})
