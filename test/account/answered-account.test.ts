import t from 'tap'
import { readAccount } from '../../src/account/answered-account.ts'

const FIELDS = { id: '1', username: 'ann', password: '$2b$04$x', status: 'ACTIVE', nickname: 'Ann' }
const read = (fields: object) => readAccount(Object.entries({ ...FIELDS, ...fields }), 'sql')

t.test('second factor, age and required change of a password are read, and never go into the session', async t => {
  const account = read({
    second_factor: 'abcdefghijkl.SEALED',
    PASSWORD_CHANGED_AT: '2026-01-31T08:00:00Z',
    must_change_password: true,
  })
  t.match(account, {
    secondFactor: 'abcdefghijkl.SEALED',
    passwordChangedAt: Date.UTC(2026, 0, 31, 8),
    mustChangePassword: true,
  })
  t.same(account.extra, { nickname: 'Ann' })
})

t.test('without these fields, or with null, the account has none of it', async t => {
  for (const none of [{}, { second_factor: null, password_changed_at: null, must_change_password: null }]) {
    const { secondFactor, passwordChangedAt, mustChangePassword } = read(none)
    t.same([secondFactor, passwordChangedAt, mustChangePassword], [undefined, undefined, undefined])
  }
})

t.test('times are read in the forms of drivers, of ISO 8601, and as seconds', async t => {
  const expected = Date.UTC(2026, 0, 31, 8)
  const forms = [
    '2026-01-31 08:00:00',
    '2026-01-31 08:00:00.000000',
    '2026-01-31 16:00:00+08',
    '2026-01-31 16:00:00.5+08:00',
    '2026-01-31T08:00:00Z',
    '2026-01-31T08:00:00.000Z',
    expected / 1000,
    String(expected / 1000),
    BigInt(expected / 1000),
    new Date(expected),
    Buffer.from('2026-01-31 08:00:00'),
  ]
  for (const form of forms) {
    const { passwordChangedAt = 0 } = read({ password_changed_at: form })
    t.ok(passwordChangedAt >= expected && passwordChangedAt < expected + 1000, String(form))
  }
})

t.test('switches are read in the forms of databases', async t => {
  for (const yes of [true, 1, '1', 'true', 'T', Buffer.from([1])])
    t.equal(read({ must_change_password: yes }).mustChangePassword, true)
  for (const no of [false, 0, '0', 'f', 'FALSE', '', Buffer.from([0])])
    t.notOk(Object.hasOwn(read({ must_change_password: no }), 'mustChangePassword'))
})

t.test('what is neither is a fault of the source, and is not quoted', async t => {
  for (const wrong of [
    { second_factor: 'JBSWY3DPEHPK3PXP' },
    { second_factor: 7 },
    { password_changed_at: 'last week' },
    { password_changed_at: Date.UTC(2026, 0, 31) },
    { must_change_password: 'perhaps' },
    { must_change_password: 2 },
  ]) {
    const [[name, value]] = Object.entries(wrong) as [[string, unknown]]
    try {
      read(wrong)
      t.fail(`${name} ${value}`)
    } catch (fault) {
      t.match((fault as Error).message, name)
      t.notMatch((fault as Error).message, String(value))
    }
  }
})

t.test('a service account is one with `service` in any form of true, and without a password', async t => {
  for (const yes of [true, 1, '1', 'true', Buffer.from([1])]) {
    for (const none of [null, '']) {
      const account = read({ password: none, SERVICE: yes, Added: '2026-01-31 08:00:00', second_factor: null })
      t.match(account, { service: true, added: '2026-01-31 08:00:00', passwordHash: '' })
      t.same(account.extra, { nickname: 'Ann' })
    }
  }
  t.notOk(Object.hasOwn(read({ password: null, service: true }), 'added'))
})

t.test('without `service` an account is that of a person, and `added` a field like any other', async t => {
  for (const no of [{}, { service: false }, { service: 0 }, { service: null }]) {
    const account = read({ ...no, added: 'last week' })
    t.notOk(Object.hasOwn(account, 'service') || Object.hasOwn(account, 'added'))
    t.same(account.extra, { nickname: 'Ann', added: 'last week' })
    t.notOk(
      Object.hasOwn(read({ ...no, password: null }), 'service'),
      'an account without a password is not one for it',
    )
  }
})

t.test('a service account that has something to sign in with is a fault of the source, and is not quoted', async t => {
  for (const [name, value] of Object.entries({
    password: '$2b$04$x',
    second_factor: 'abcdefghijkl.SEALED',
    must_change_password: true,
  })) {
    const fields = { password: null, service: true, [name]: value }
    t.throws(() => read(fields), { message: `the field "service" is true, and so "${name}" must be null` })
  }
  t.throws(() => read({ password: null, service: 'billing' }), { message: /^the field "service" is neither true nor/ })
})
