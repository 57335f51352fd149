import t from 'tap'
import { claimOf } from '../../src/token/claim.ts'

t.test('a dot in the name of a claim leads into an object, and a claim of the whole name counts first', async t => {
  const claims = {
    groups: ['a'],
    'https://example.com/groups': ['b'],
    realm_access: { roles: ['c'], 'odd.name': 1 },
    'realm_access.other': 'whole',
    resource: { 'client.one': 'd' },
    absent: null,
  }
  t.same(claimOf(claims, 'groups'), ['a'])
  t.same(claimOf(claims, 'https://example.com/groups'), ['b'])
  t.same(claimOf(claims, 'realm_access.roles'), ['c'])
  t.equal(claimOf(claims, 'realm_access.other'), 'whole')
  t.equal(claimOf(claims, 'realm_access.odd.name'), 1)
  t.equal(claimOf(claims, 'resource.client.one'), 'd')
  const none = ['', '.', 'groups.0', 'groups.length', 'realm_access.', 'constructor', 'realm_access.toString', 'absent']
  for (const name of none) t.equal(claimOf(claims, name), undefined, name)
})
