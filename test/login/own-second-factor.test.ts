import t from 'tap'
import type { Account } from '../../src/account/source.ts'
import { Refusal } from '../../src/base/refusal.ts'
import { createOwnSecondFactor, type OwnSecondFactorOptions } from '../../src/login/own-account/own-second-factor.ts'
import type { Session } from '../../src/side/side.ts'

const session = { claims: { jti: 'j' }, record: { user_id: '1', type: 'BUSINESS', extra: {} } } as unknown as Session

/** The second factor of a user with a set-up that waits for its code; what `parts` does not replace succeeds. */
function open(parts: { checkDisable?: () => Promise<void>; take?: () => Promise<string | null> }) {
  const done = { checked: 0, stored: 0 }
  const account = { id: '1', username: 'ann', status: 'ACTIVE', extra: {} } as Account
  const store = async (): Promise<boolean> => ++done.stored > 0
  const options = {
    accounts: {},
    side: { type: 'BUSINESS', checkDisable: parts.checkDisable ?? (async () => undefined) },
    current: { accountOf: async () => account },
    factors: {
      async confirm() {
        done.checked++
        return { recoveryCodes: ['a'], update: { store } }
      },
    },
    tickets: { read: async () => 'sealed', take: parts.take ?? (async () => 'sealed') },
    rateLimit: async () => undefined,
    clock: { now: () => 0 },
    publish: () => undefined,
  } as unknown as OwnSecondFactorOptions
  return { done, confirm: () => createOwnSecondFactor(options).confirm(session, '123456', {}) }
}

t.test('a set-up is confirmed and stored', async t => {
  const { done, confirm } = open({})
  t.same(await confirm(), ['a'])
  t.same(done, { checked: 1, stored: 1 })
})

t.test('a disabled user confirms no second factor, and no code of theirs is checked', async t => {
  const refuse = async (): Promise<void> => {
    throw new Refusal('DISABLED')
  }
  const { done, confirm } = open({ checkDisable: refuse })
  await t.rejects(confirm(), { message: 'DISABLED' })
  t.same(done, { checked: 0, stored: 0 })
})

t.test('a set-up that another confirmation has taken, or another set-up has replaced, is not stored', async t => {
  for (const taken of [null, 'another']) {
    const { done, confirm } = open({ take: async () => taken })
    await t.rejects(confirm(), { message: 'SETUP_GONE' })
    t.equal(done.stored, 0)
  }
})
