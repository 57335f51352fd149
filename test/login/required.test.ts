import t from 'tap'
import type { Account } from '../../src/account/source.ts'
import { createRequired } from '../../src/login/sign-in/steps/required.ts'
import { clockOf } from '../support/clock.ts'

t.test('no other step of a login stands in for the second factor', async t => {
  const account = { id: '1', username: 'ann', status: 'ACTIVE', extra: {}, mustChangePassword: true } as Account
  const clock = clockOf(() => 0)
  const accounts = { updates: { can: new Set(['password']) } } as never
  for (const hasFactor of [true, false]) {
    const factors = { canSetUp: true, isAsked: () => hasFactor, isRequired: () => true }
    const required = createRequired({ accounts, factors, maxAge: 'off', clock })
    const factor = hasFactor ? 'second-factor' : 'second-factor-setup'
    t.equal(required(account, []), factor)
    t.equal(required(account, ['password']), factor)
    t.equal(required(account, [factor]), 'password')
    t.equal(required(account, [factor, 'password']), null)
  }
})
