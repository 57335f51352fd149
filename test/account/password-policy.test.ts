import t from 'tap'
import { generatePassword } from '../../src/account/generate-password.ts'
import { createPasswordPolicy } from '../../src/account/password-policy.ts'
import { Refusal } from '../../src/base/refusal.ts'
import { failureMessage } from '../../src/http/server/failure-texts.ts'

const SHIPPED = { min_length: 10, classes: 0, common: 'refuse' } as const

const faultsOf = (password: string, settings: object = {}, username = 'jane') =>
  createPasswordPolicy({ ...SHIPPED, ...settings }).faultsOf({ username, password })

t.test('every fault of a new password is found at once', async t => {
  t.same(await faultsOf('password', { classes: 3 }, 'PASSWORD'), ['min_length', 'classes', 'common', 'username'])
  t.same(await faultsOf('long enough and not in a list'), [])
})

t.test('a password is as long as it has characters, and bcrypt reads 72 bytes of it', async t => {
  t.same(await faultsOf('𠮷野家𠮷野家𠮷野家'), ['min_length'])
  t.same(await faultsOf('𠮷野家𠮷野家𠮷野家𠮷'), [])
  t.same(await faultsOf('é'.repeat(36)), [])
  t.same(await faultsOf('é'.repeat(37)), ['max_bytes'])
})

t.test('kinds of characters are counted: lower case, upper case, digits and all others', async t => {
  const password = 'abcdefghijK7 é'
  t.same(await faultsOf('abcdefghijé', { classes: 2 }), ['classes'])
  t.same(await faultsOf('abcdefghijÉ', { classes: 2 }), [])
  t.same(await faultsOf('abcdefghij中', { classes: 2 }), [])
  t.same(await faultsOf(password, { classes: 4 }), [])
})

t.test(
  'a password from published leaks is refused in any case of its letters, unless the settings allow it',
  async t => {
    t.same(await faultsOf('Qwerty123456'), ['common'])
    t.same(await faultsOf('Qwerty123456', { common: 'allow' }), [])
  },
)

t.test('what bcrypt would read as another password is refused', async t => {
  t.same(await faultsOf('before\0behind the NUL'), ['characters'])
  t.same(await faultsOf('a lone surrogate \ud800'), ['characters'])
})

t.test('the user name is refused as a password, in any case of its letters', async t => {
  t.same(await faultsOf('Ann@Example.com', {}, 'ann@example.COM'), ['username'])
})

t.test('the password in use is refused only where the client has proven it', async t => {
  const policy = createPasswordPolicy(SHIPPED)
  const candidate = { username: 'jane', password: 'the present one' }
  const isInUse = async (password: string) => password === candidate.password
  t.same(await policy.faultsOf({ ...candidate, isInUse }), ['same'])
  t.same(await policy.faultsOf(candidate), [])
})

t.test('the refusal names every fault in its data and in a text of each language', async t => {
  const check = createPasswordPolicy({ ...SHIPPED, classes: 3 }).check({ username: 'jane7x', password: 'jane7x' })
  const refusal = (await check.catch(fault => fault)) as Refusal
  t.ok(refusal instanceof Refusal)
  t.same(refusal.data, { faults: ['min_length', 'classes', 'username'] })
  const { reason, params } = refusal
  t.equal(
    failureMessage(reason, params, 'en'),
    'The new password must have at least 10 characters, must contain at least 3 of these: lower case, upper case, digits, other characters, must not be the user name',
  )
  t.equal(
    failureMessage(reason, params, 'zh-CN'),
    '新密码不符合要求：至少需要 10 个字符；小写字母、大写字母、数字、其他字符中至少要包含 3 种；不能与用户名相同',
  )
  t.notMatch(`${refusal.stack}`, /jane7x/)
})

t.test('a generated password fulfils every policy', async t => {
  for (const min_length of [1, 10, 64]) {
    for (const classes of [0, 1, 2, 3, 4]) {
      const password = generatePassword({ min_length, classes })
      t.same(await faultsOf(password, { min_length, classes }), [], `${min_length} ${classes}`)
      t.ok(password.length >= 24)
    }
  }
})
