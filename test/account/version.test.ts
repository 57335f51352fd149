import t from 'tap'
import { changeBetween, credentialVersionOf, versionOf } from '../../src/account/version.ts'

t.test('a reset of the second factor changes the version of an account, and ends its sessions', async t => {
  const account = { passwordHash: 'a hash', extra: { roles: ['a'] } }
  const never = versionOf(account)
  const once = versionOf({ ...account, secondFactorResetAt: '2026-01-01 00:00:00' })
  const twice = versionOf({ ...account, secondFactorResetAt: '2026-01-02 00:00:00' })
  t.equal(new Set([never, once, twice]).size, 3)
  t.equal(changeBetween(never, once), 'account-changed')
  t.equal(changeBetween(once, twice), 'account-changed')
})

t.test('a service account that is added again has other versions, and so has one that was a person', async t => {
  const extra = { roles: ['a'] }
  const accounts = [
    { passwordHash: '', service: true as const, added: '2026-01-01T00:00:00.000Z', extra },
    { passwordHash: '', service: true as const, added: '2026-01-02T00:00:00.000Z', extra },
    { passwordHash: '', service: true as const, extra },
    { passwordHash: '', extra },
    { passwordHash: 'a hash', extra },
  ]
  for (const of of [versionOf, credentialVersionOf]) t.equal(new Set(accounts.map(of)).size, accounts.length)
})

t.test(
  'the credential version changes with the stored password and with each reset of a second factor, and not otherwise',
  async t => {
    const account = { passwordHash: 'a hash', extra: { roles: ['a'] } }
    const others = [
      { ...account, passwordHash: 'another hash' },
      { ...account, secondFactorResetAt: '2026-01-01 00:00:00' },
      { ...account, secondFactorResetAt: '2026-01-02 00:00:00' },
    ]
    const same = [
      { ...account, extra: { roles: ['b'], permissions: ['c:d'], nickname: 'other' } },
      { ...account, secondFactor: 'abcdefghijkl.sealed' },
      { ...account, secondFactor: 'another-name.sealed' },
    ]
    const present = credentialVersionOf(account)
    t.equal(new Set([account, ...others].map(credentialVersionOf)).size, 4)
    for (const changed of same) t.equal(credentialVersionOf(changed), present)
    t.notMatch(present, 'hash')
  },
)
