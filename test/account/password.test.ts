import bcrypt from 'bcrypt'
import t from 'tap'
import { matchesHash } from '../../src/account/hash.ts'
import { createPasswords, hashPassword, isBcryptHash } from '../../src/account/password.ts'
import { createTaskQueue } from '../../src/base/task-queue.ts'
import { refusalOf } from '../support/login-fixture.ts'

const hash = (password: string, cost = 4): string => bcrypt.hashSync(password, cost)
const HASH = hash('correct horse')

/** Passwords with a record of what bcrypt was asked to compare. */
function watched() {
  const asked: { password: string; cost: number }[] = []
  const compare = (password: string, against: string): boolean => {
    asked.push({ password, cost: Number(against.slice(4, 6)) })
    return bcrypt.compareSync(password, against)
  }
  const passwords = createPasswords(async (password, hash, decoys) => matchesHash(password, hash, decoys, compare))
  return {
    asked,
    verify: (stored: string | null, plain: string | null, failureCost = 4) =>
      passwords.verifyPassword(stored, plain, failureCost),
    /** The rounds of bcrypt since it was last asked. */
    rounds: () => asked.splice(0).reduce((sum, { cost }) => sum + 2 ** cost, 0),
  }
}

const ROWS: readonly (readonly [string, string | null, string | null, boolean])[] = [
  ['the right password', HASH, 'correct horse', true],
  ['$2y$ is read as $2b$', HASH.replace('$2b$', '$2y$'), 'correct horse', true],
  ['$2a$', HASH.replace('$2b$', '$2a$'), 'correct horse', true],
  ['72 bytes', hash('é'.repeat(36)), 'é'.repeat(36), true],
  ['a wrong password', HASH, 'wrong', false],
  ['73 bytes of which the first 72 fit', hash('x'.repeat(72)), 'x'.repeat(73), false],
  ['37 characters of 74 bytes', hash('é'.repeat(36)), 'é'.repeat(37), false],
  ['a NUL after the right password', HASH, 'correct horse\0', false],
  ['a lone surrogate where the hash has its replacement', hash('\ufffd'), '\ud800', false],
  ['an empty password, and a hash of one', hash(''), '', false],
  ['no password', HASH, null, false],
  ['no account', null, 'correct horse', false],
  ['neither', null, null, false],
  ['a hash that is the password', 'correct horse', 'correct horse', false],
  ['an empty hash', '', 'correct horse', false],
  ['a hash of another kind', `$argon2id$v=19$m=65536,t=3,p=4$${'a'.repeat(43)}`, 'correct horse', false],
  ['$2x$', HASH.replace('$2b$', '$2x$'), 'correct horse', false],
  ['a hash that is cut', HASH.slice(0, -1), 'correct horse', false],
  ['a cost that would take days', HASH.replace('$04$', '$31$'), 'correct horse', false],
  ['a hash with a line end', `${HASH}\n`, 'correct horse', false],
]

for (const [what, stored, plain, fits] of ROWS) {
  t.test(`a password against its hash: ${what}`, async t => {
    const { asked, verify } = watched()
    t.equal(await verify(stored, plain), fits)
    t.equal(asked.length, 1, 'one comparison, whatever is wrong')
    t.not(asked[0]!.password, '')
    t.ok(Buffer.byteLength(asked[0]!.password) <= 72)
  })
}

t.test('every failure costs the same, whatever the cost of the hash', async t => {
  const { verify, rounds } = watched()
  const failures: [string, string | null, string | null][] = [
    ['an unknown name', null, 'x'],
    ['a wrong password at the highest cost', hash('y', 8), 'x'],
    ['one step below', hash('y', 7), 'x'],
    ['at a cheap cost', hash('y', 4), 'x'],
    ['$2y$', hash('y', 5).replace('$2b$', '$2y$'), 'x'],
    ['an undecryptable password', hash('y', 4), null],
    ['73 bytes', hash('y', 4), 'x'.repeat(73)],
    ['a stored password that is not a hash', 'x', 'x'],
    ['a cost that would take days', hash('y', 4).replace('$04$', '$31$'), 'x'],
  ]
  for (const [what, stored, plain] of failures) {
    t.notOk(await verify(stored, plain, 8), what)
    t.equal(rounds(), 2 ** 8, what)
  }
})

t.test('a failed comparison with the most expensive hash so far costs as much as that hash', async t => {
  const { verify, rounds } = watched()
  for (const plain of ['x', null]) {
    t.notOk(await verify(hash('y', 6), plain, 4))
    t.equal(rounds(), 2 ** 6)
  }
})

t.test('the right password costs one comparison with its own hash', async t => {
  const { verify, rounds } = watched()
  t.ok(await verify(hash('x', 5), 'x', 10))
  t.equal(rounds(), 2 ** 5)
})

t.test('tasks run in order, and a failed task passes its turn on', async t => {
  const inTurn = createTaskQueue(1, 8)
  const order: number[] = []
  const works = [1, 2, 3].map(n =>
    inTurn(async () => {
      order.push(n)
      if (n === 2) throw new Error('two')
      return n
    }),
  )
  t.match(await Promise.allSettled(works), [{ value: 1 }, { reason: { message: 'two' } }, { value: 3 }])
  t.same(order, [1, 2, 3])
})

t.test('a new password becomes a bcrypt hash of cost 10', async t => {
  const made = await hashPassword('correct horse')
  t.match(made, /^\$2b\$10\$/)
  t.ok(isBcryptHash(made))
  t.ok(matchesHash('correct horse', made))
  t.not(await hashPassword('correct horse'), made, 'with a salt of its own')
})

t.test('a password that bcrypt would truncate is refused', async t => {
  const rows = ['', 'x'.repeat(73), 'é'.repeat(37), 'correct\0horse', 'correct \ud800 horse']
  for (const password of rows) {
    const refusal = await refusalOf(hashPassword(password))
    t.match(refusal, { reason: 'INVALID', params: { field: 'password' } })
    if (password !== '') t.notOk(JSON.stringify(refusal.params).includes(password), 'it is not quoted')
  }
  t.ok(await hashPassword('x'.repeat(72)))
  t.ok(await hashPassword('密码密码密码密码'))
})
