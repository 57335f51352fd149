import t from 'tap'
import { comparableName, domainOf } from '../../../src/base/ldap/distinguished-name.ts'

const isSame = (one: string, other: string): boolean =>
  comparableName(one) !== null && comparableName(one) === comparableName(other)

t.test('names are the same that directories take for the same (RFC 4514)', async t => {
  const pairs: [one: string, other: string][] = [
    ['CN=Ops,DC=example,DC=com', 'cn=ops, dc=EXAMPLE , Dc=com'],
    ['2.5.4.3=Ops,0.9.2342.19200300.100.1.25=com', 'CN=Ops,DC=com'],
    ['CN=a\\,b,DC=x', 'CN=a\\2Cb,DC=x'],
    ['CN=Lu\\C4\\8Di\\C4\\87', 'CN=Lučić'],
    ['CN=č', 'CN=c\u030c'],
    ['CN=a+OU=b,DC=x', 'OU=b + CN=a,DC=x'],
    ['CN=a  b', 'CN=A B'],
    ['CN=#0403416263', 'CN=Abc'],
    ['CN=\\#x', 'CN=\\23x'],
    ['CN="x"'.replaceAll('"', '\\"'), 'CN=\\22x\\22'],
    ['CN=x\\ ', 'CN=x'],
  ]
  for (const [one, other] of pairs) t.ok(isSame(one, other), `${one} ${other}`)
})

t.test('other names are others', async t => {
  const pairs: [one: string, other: string][] = [
    ['CN=Ops,OU=a,DC=x', 'CN=Ops,OU=b,DC=x'],
    ['CN=Ops,DC=x', 'CN=Ops,OU=a,DC=x'],
    ['CN=a\\,CN=b', 'CN=a,CN=b'],
    ['CN=a\\+OU=b', 'CN=a+OU=b'],
    ['CN=a', 'OU=a'],
    ['CN=a,DC=b', 'DC=b,CN=a'],
    ['CN=ops', 'CN=ｏｐｓ'],
    ['CN=#0201FF', 'CN=\\#0201FF1'],
  ]
  for (const [one, other] of pairs) t.notOk(isSame(one, other), `${one} ${other}`)
})

t.test('what is not a name is known as such', async t => {
  for (const text of [
    '',
    'jane',
    'CN=a,',
    ',CN=a',
    'CN',
    '=a',
    'CN=a;b',
    'CN=a"b',
    'CN=a\\',
    'CN=#0',
    'CN=\\FF',
    '1a=b',
  ])
    t.equal(comparableName(text), null, text)
})

t.test('the domain of an entry is the end of its name', async t => {
  t.equal(domainOf('OU=Staff,DC=example,DC=com'), 'DC=example,DC=com')
  t.equal(domainOf('OU=a\\,DC=x, DC=example , dc=com'), 'DC=example,dc=com')
  t.equal(domainOf('OU=Staff,O=Example'), 'OU=Staff,O=Example')
  t.equal(domainOf('DC=com,OU=Staff'), 'DC=com,OU=Staff')
})
