import t from 'tap'
import { changeBetween, versionOf } from '../../src/account/version.ts'

t.test('a reset of the second factor changes the version of an account, and ends its sessions', async t => {
  const account = { passwordHash: 'a hash', extra: { roles: ['a'] } }
  const never = versionOf(account)
  const once = versionOf({ ...account, secondFactorResetAt: '2026-01-01 00:00:00' })
  const twice = versionOf({ ...account, secondFactorResetAt: '2026-01-02 00:00:00' })
  t.equal(new Set([never, once, twice]).size, 3)
  t.equal(changeBetween(never, once), 'account-changed')
  t.equal(changeBetween(once, twice), 'account-changed')
})
