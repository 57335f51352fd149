import t from 'tap'
import { claimAt, completed, missingIn } from '../../src/provider/claim-path.ts'

t.test('a dot in the name of a claim leads into an object, and a claim of the whole name counts first', async t => {
  const claims = {
    groups: ['a'],
    'https://example.com/groups': ['b'],
    realm_access: { roles: ['c'], 'odd.name': 1 },
    'realm_access.other': 'whole',
    resource: { 'client.one': 'd' },
  }
  t.same(claimAt(claims, 'groups'), ['a'])
  t.same(claimAt(claims, 'https://example.com/groups'), ['b'])
  t.same(claimAt(claims, 'realm_access.roles'), ['c'])
  t.equal(claimAt(claims, 'realm_access.other'), 'whole')
  t.equal(claimAt(claims, 'realm_access.odd.name'), 1)
  t.equal(claimAt(claims, 'resource.client.one'), 'd')
  for (const name of ['', '.', 'groups.0', 'groups.length', 'realm_access.', 'constructor', 'realm_access.toString'])
    t.equal(claimAt(claims, name), undefined, name)
})

t.test('userinfo completes the ID token, and changes nothing of it', async t => {
  const idToken = { sub: 'ada', email: 'ada@example.com', hasgroups: true }
  const userinfo = JSON.parse(
    '{"sub":"ada","email":"eve@example.com","realm":{"roles":["a"]},"x":1,"hasgroups":false,"__proto__":{"y":1}}',
  )
  const missing = missingIn(idToken, ['email', 'realm.roles', 'realm.none', '__proto__'])
  t.same(missing, ['realm.roles', 'realm.none', '__proto__'])
  const all = completed(idToken, userinfo, missing)
  t.same(Object.entries(all).slice(0, 4), [...Object.entries(idToken), ['realm', { roles: ['a'] }]])
  t.equal((all as { y?: unknown }).y, undefined)
})
