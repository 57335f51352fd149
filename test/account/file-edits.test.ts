import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import t from 'tap'
import { AccountsReader } from '../../src/account/file/accounts-reader.ts'
import { edit } from '../../src/account/file/edit-file.ts'
import { addAccount, listAccounts, readAccounts, removeAccount, setPassword } from '../../src/account/file/source.ts'
import { createHashAccounts } from '../../src/account/hash-accounts.ts'
import { clockOf } from '../support/clock.ts'
import { refusalOf } from '../support/login-fixture.ts'
import { addBy, entry, FACTOR, HASH, OTHER_HASH, open } from './file-fixture.ts'

/* An accounts file is edited, by the command line and by the gateway. */

t.test('accounts are added, listed, given a password and removed; the gateway follows', async t => {
  const { path, find } = open(t.testdir())
  const { id } = await addAccount(path, { username: 'Alice', password: 'correct horse', roles: ['operator'] })
  t.match(id, /^\d{19}$/)
  await addAccount(path, { username: '12345', password: 'correct horse', id: '7', status: 'LOCKED' })
  const rest = { secondFactor: false, mustChangePassword: false, passwordChangedAt: Number }
  t.match(await listAccounts(path), [
    { id, username: 'Alice', nickname: 'Alice', status: 'ACTIVE', roles: ['operator'], permissions: [], ...rest },
    { id: '7', username: '12345', nickname: '12345', status: 'LOCKED', roles: [], permissions: [], ...rest },
  ])
  const before = (await find('alice'))!
  t.ok(await bcrypt.compare('correct horse', before.passwordHash))
  t.equal(await setPassword(path, 'ALICE', 'battery staple'), true)
  t.ok(await bcrypt.compare('battery staple', (await find('alice'))!.passwordHash))
  t.equal(await removeAccount(path, 'alice'), true)
  t.equal(await find('alice'), null)
  t.ok(await find('12345'))
  t.equal(await removeAccount(path, 'alice'), false)
  t.equal(await setPassword(path, 'alice', 'battery staple'), false)
})

t.test('an invalid account is refused with its field, and the file does not change', async t => {
  const { path } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const before = readFileSync(path, 'utf8')
  const rows = [
    [{ username: 'A' }, 'username'],
    [{ username: '' }, 'username'],
    [{ username: ' b' }, 'username'],
    [{ username: 'b\n' }, 'username'],
    [{ id: '1' }, 'id'],
    [{ id: 'a b' }, 'id'],
    [{ password: '' }, 'password'],
    [{ password: 'x'.repeat(73) }, 'password'],
  ] as const
  for (const [rest, field] of rows) {
    const account = { username: 'b', password: 'correct horse', ...rest }
    t.match(await refusalOf(addAccount(path, account)), { reason: 'INVALID', params: { field } })
  }
  t.match(await refusalOf(setPassword(path, 'a', 'x\0')), { reason: 'INVALID', params: { field: 'password' } })
  t.equal(readFileSync(path, 'utf8'), before)
})

t.test('comments and the order of the file survive an edit', async t => {
  const text = `# Our people\naccounts:\n  # the boss\n${entry('1', 'a')}  - id: "2" # by hand\n    username: b\n    password: "${HASH}"\n`
  const { path } = open(t.testdir(), text)
  await addAccount(path, { username: 'c', password: 'correct horse' })
  await setPassword(path, 'b', 'battery staple')
  const after = readFileSync(path, 'utf8')
  for (const kept of ['# Our people', '# the boss', '# by hand', `{ id: "1", username: a, password: "${HASH}" }`]) {
    t.ok(after.includes(kept), kept)
  }
  t.same(
    (await listAccounts(path)).map(({ username }) => username),
    ['a', 'b', 'c'],
  )
})

t.test(
  'an edit beside blocks of text changes no line of another account, nor a value or a comment of its own',
  async t => {
    const folded = '    note: >- # where\n      first\n      second\n\n      - id: "9"\n    # below\n'
    const account = (id: string, rest: string): string =>
      `  # above ${id}\n  - id: "${id}"\n    username: n${id}\n${rest}    password: "${HASH}"\n`
    const empty = ['|', '>-', '|+'].map((header, index) => `    empty${index}: ${header} # nothing ${index}\n`).join('')
    const kept = account('1', folded)
    const { path } = open(t.testdir(), `accounts:\n${kept}${account('2', folded + empty)}`)
    const entries = () => new AccountsReader(path).readWhole(readFileSync(path, 'utf8')).entries
    const note = 'first second\n- id: "9"'
    await setPassword(path, 'n2', 'battery staple')
    await addAccount(path, { username: 'c', password: 'correct horse' })
    const after = readFileSync(path, 'utf8')
    t.ok(after.startsWith(`accounts:\n${kept}`))
    t.match(entries(), [{ note }, { note, empty0: '', empty1: '', empty2: '' }, { username: 'c' }])
    for (const comment of ['# above 2', '# where', '# below', '# nothing 0', '# nothing 1', '# nothing 2'])
      t.ok(after.includes(comment, kept.length), comment)
    await removeAccount(path, 'n2')
    await removeAccount(path, 'c')
    t.equal(readFileSync(path, 'utf8'), `accounts:\n${kept}`)
  },
)

t.test('after an edit only the owner can read the file, and no temporary file remains', async t => {
  const folder = t.testdir()
  const { path } = open(folder)
  await addAccount(path, { username: 'a', password: 'correct horse' })
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.same(readdirSync(folder), ['accounts.yaml'])
})

t.test('an edit keeps a symbolic link to the file', async t => {
  const folder = t.testdir({ real: {} })
  symlinkSync('real/people.yaml', join(folder, 'accounts.yaml'))
  writeFileSync(join(folder, 'real/people.yaml'), 'accounts: []\n')
  await addAccount(join(folder, 'accounts.yaml'), { username: 'a', password: 'correct horse' })
  t.match(readFileSync(join(folder, 'real/people.yaml'), 'utf8'), /username: a/)
})

t.test('a file with faults is not edited', async t => {
  const { path } = open(t.testdir(), 'accounts:\n  - { id: 1 }\n')
  await t.rejects(addAccount(path, { username: 'a', password: 'correct horse' }), { name: 'ConfigurationError' })
  t.equal(readFileSync(path, 'utf8'), 'accounts:\n  - { id: 1 }\n')
  t.notOk(existsSync(`${path}.lock`))
})

t.test(
  'a file in another encoding than UTF-8 is a fault, no edit touches it, and the accounts before it stay',
  async t => {
    const { path, source, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
    t.ok(await source.find('a'))
    /** A comment in GBK. */
    const bytes = Buffer.concat([
      Buffer.from('# '),
      Buffer.from([0xd5, 0xca, 0xba, 0xc5]),
      Buffer.from(`\naccounts:\n${entry('1', 'a')}`),
    ])
    writeFileSync(path, bytes)
    const fault = { name: 'ConfigurationError', message: `${path}: is not UTF-8 text; save it in this encoding` }
    await t.rejects(readAccounts(path), fault)
    await t.rejects(setPassword(path, 'a', 'battery staple'), fault)
    t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' })
    t.ok(readFileSync(path).equals(bytes))
    t.ok(await source.find('a'))
    t.equal(logged.length, 1)
    t.match(JSON.stringify(logged), /is not UTF-8 text.*last valid version stay/)
    writeFileSync(path, bytes.subarray(bytes.indexOf('\n')))
    t.ok(await setPassword(path, 'a', 'battery staple'))
  },
)

t.test('simultaneous writers lose no change', async t => {
  const { path } = open(t.testdir())
  const names = Array.from({ length: 12 }, (_, i) => `user${i}`)
  await Promise.all(names.map(username => addAccount(path, { username, password: 'correct horse' })))
  const left = async () => (await listAccounts(path)).map(({ username }) => username).sort()
  t.same(await left(), names.toSorted())
  // Without turns, all of them would read before the first has written.
  const removed = names.slice(0, 9).map(name =>
    edit({ path, reader: new AccountsReader(path) }, async entries => {
      await setTimeout(1)
      const at = entries.findIndex(({ username }) => username === name)
      return { change: { at, remove: true }, result: name }
    }),
  )
  t.same(
    await Promise.all(removed),
    names.slice(0, 9).map(result => ({ changed: true, result })),
  )
  t.same(await left(), names.slice(9).toSorted())
})

t.test('the gateway stores nothing in a file with faults, which is a failure of the source', async t => {
  const { path, source, find } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  writeFileSync(path, 'accounts:\n  - { id: 1 }\n')
  const { setPassword, setSecondFactor } = source.updates!
  const update = { hash: OTHER_HASH, changedAt: 0, mustChange: false }
  t.match(await refusalOf(setPassword('1', update)), { reason: 'UNAVAILABLE' })
  t.match(await refusalOf(setSecondFactor('1', FACTOR, null)), { reason: 'UNAVAILABLE' })
  t.match(await refusalOf(addBy(source)), { reason: 'UNAVAILABLE' })
  t.equal(readFileSync(path, 'utf8'), 'accounts:\n  - { id: 1 }\n')
})

t.test('a second factor that was prepared before another password is not stored after it', async t => {
  const { source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const memory = { read: async () => null, set: async () => undefined }
  const passwords = { verifyPassword: async () => true }
  const clock = clockOf(() => 0)
  const log = { error: () => undefined }
  const accounts = createHashAccounts(source, { type: 'BUSINESS', passwords, memory, clock, log })
  const prepared = accounts.updates!.secondFactor((await accounts.find('a'))!, FACTOR)
  t.ok(await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 0, mustChange: false }))
  t.equal(await prepared.store(), false)
  t.equal((await source.find('a'))!.secondFactor, undefined)
  t.ok(await accounts.updates!.secondFactor((await accounts.find('a'))!, FACTOR).store())
})

t.test('a password and a second factor are stored beside the comments, and stay out of the session', async t => {
  const { path, source } = open(t.testdir(), `# staff\naccounts:\n${entry('1', 'a', ', must_change_password: true')}`)
  t.match(await source.find('a'), { mustChangePassword: true, passwordChangedAt: undefined, secondFactor: undefined })
  t.equal(
    await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 1_700_000_000_000, mustChange: false }),
    true,
  )
  t.equal(await source.updates!.setSecondFactor('1', FACTOR, 'other'), false, 'it has none')
  t.equal(await source.updates!.setSecondFactor('1', FACTOR, null), true)
  const found = (await source.find('a'))!
  t.match(found, { passwordHash: OTHER_HASH, passwordChangedAt: 1_700_000_000_000, secondFactor: FACTOR })
  t.equal(found.mustChangePassword, undefined)
  t.same(Object.keys(found.extra).sort(), ['avatar', 'nickname', 'permissions', 'roles', 'status'])
  t.match(readFileSync(path, 'utf8'), /^# staff\n/)
  t.equal(await source.updates!.setSecondFactor('1', null, FACTOR), true)
  t.equal((await source.find('a'))!.secondFactor, undefined)
  t.equal(await source.updates!.setSecondFactor('2', FACTOR, null), false)
  t.equal(await source.updates!.setPassword('2', { hash: HASH, changedAt: 0, mustChange: true }), false)
  t.equal(await source.updates!.setPassword('1', { hash: HASH, changedAt: 0, mustChange: true }), true)
  t.match(await source.find('a'), { mustChangePassword: true, passwordChangedAt: 0 })
})
