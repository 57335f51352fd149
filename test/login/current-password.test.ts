import t from 'tap'
import { Refusal } from '../../src/base/refusal.ts'
import { type CurrentPasswordOptions, createCurrentPassword } from '../../src/login/own-account/current-password.ts'
import type { Session } from '../../src/side/side.ts'

t.test('an address with too many failures is refused before its password costs anything', async t => {
  const asked: string[] = []
  const ask = (what: string) => async () => void asked.push(what)
  const options = {
    side: { type: 'BUSINESS', checkDisable: ask('disable') },
    accounts: { find: ask('find'), verify: ask('verify') },
    sm2: { decrypt: ask('decrypt') },
    lockout: {
      async checkAddress() {
        throw new Refusal('TOO_MANY_ATTEMPTS')
      },
      subject: () => ({ key: 'k', loginId: '1' }),
      counted: ask('counted'),
    },
    rateLimit: async () => undefined,
    publish: () => undefined,
  } as unknown as CurrentPasswordOptions
  const session = { record: { user_id: '1', extra: { username: 'ann' } } } as unknown as Session
  await t.rejects(createCurrentPassword(options).verify(session, '04ab', { address: '192.0.2.1' }), {
    message: 'TOO_MANY_ATTEMPTS',
  })
  t.same(asked, [])
})
