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

t.test('a session of a service account has no account of its own, and no password to prove', async t => {
  const robot = { id: '1', username: 'robot', status: 'ACTIVE', service: true, extra: {} }
  const verified: unknown[] = []
  const options = {
    side: { type: 'BUSINESS', checkDisable: async () => undefined },
    accounts: {
      find: async () => robot,
      async verify(account: unknown) {
        verified.push(account)
        return true
      },
    },
    sm2: { decrypt: async () => 'a password' },
    lockout: {
      checkAddress: async () => undefined,
      subject: (name: string) => ({ key: name, loginId: '1' }),
      async counted(_subject: unknown, _address: string, _origin: unknown, verify: () => Promise<object | null>) {
        if ((await verify()) === null) throw new Refusal('WRONG_CREDENTIALS')
      },
    },
    rateLimit: async () => undefined,
    publish: () => undefined,
  } as unknown as CurrentPasswordOptions
  const current = createCurrentPassword(options)
  const session = { record: { user_id: '1', extra: { username: 'robot' } } } as unknown as Session
  t.equal(await current.accountOf(session), null)
  await t.rejects(current.verify(session, '04ab', { address: '192.0.2.1' }), { message: 'WRONG_CREDENTIALS' })
  t.same(verified, [null], 'at the cost of an unknown name')
})
