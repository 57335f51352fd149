import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { addAccount, listAccounts, removeAccount, setPassword } from '../../src/account/file/source.ts'
import { refusalOf } from '../support/login-fixture.ts'
import { until } from '../support/until.ts'
import { entry, FACTOR, HASH, open, SERVICE } from './file-fixture.ts'

/* Accounts of programs in the accounts file: they have no password. */

t.test(
  'a service account is added without a password and with the time, and has other versions when it is added again',
  async t => {
    const { path, find, source } = open(t.testdir())
    const add = () => addAccount(path, { username: 'Robot', service: true, roles: ['operator'], id: 'r' })
    await add()
    const { accounts } = parse(readFileSync(path, 'utf8'))
    t.match(accounts, [
      { id: 'r', username: 'Robot', service: true, added: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/, nickname: 'Robot' },
    ])
    t.notMatch(readFileSync(path, 'utf8'), /^ *(?:password|must_change_password)/m)
    t.match(await find('robot'), { id: 'r', service: true, passwordHash: '', added: accounts[0].added })
    t.match(await listAccounts(path), [{ id: 'r', service: true, passwordChangedAt: null, mustChangePassword: false }])

    const versions = () => {
      const { version, credentialVersion } = source.changes!.accountOf('r')!
      return [version, credentialVersion]
    }
    const before = versions()
    t.equal(await removeAccount(path, 'robot'), true)
    // The time has milliseconds.
    await until(() => Date.now() > Date.parse(accounts[0].added))
    await add()
    await find('robot')
    for (const [index, version] of versions().entries()) t.not(version, before[index])
  },
)

t.test('a service account gets neither a password nor a second factor, by whomever', async t => {
  const { path, source } = open(t.testdir(), `accounts:\n${SERVICE}`)
  const before = readFileSync(path, 'utf8')
  const hashed = { hash: HASH, changedAt: 0, mustChange: false }
  const refusal = { reason: 'INVALID', params: { field: 'id', fault: /^belongs to a service account/ } }
  for (const set of [{ password: hashed }, { secondFactor: null }] as const) {
    t.match(await refusalOf(source.management!.edit(() => ({ edit: { id: '1', set }, result: null }))), refusal)
  }
  t.match(await refusalOf(setPassword(path, 'robot', 'correct horse')), refusal)
  t.equal(await source.updates!.setPassword('1', hashed), false)
  t.equal(await source.updates!.setSecondFactor('1', FACTOR, null), false, 'as after another change')
  t.equal(readFileSync(path, 'utf8'), before)
  const set = { nickname: 'R', roles: ['x'], permissions: ['y'], status: 'LOCKED' } as const
  t.match(await source.management!.edit(() => ({ edit: { id: '1', set }, result: null })), { changed: true })
  t.match(await listAccounts(path), [{ ...set, service: true }])
})

t.test('further keys of a person may be named `added`, and go into the session', async t => {
  const { find } = open(t.testdir(), `accounts:\n${entry('1', 'a', ', service: false, added: yesterday')}`)
  const account = (await find('a'))!
  t.equal(account.extra.added, 'yesterday')
  t.notOk(
    Object.hasOwn(account, 'added') || Object.hasOwn(account, 'service') || Object.hasOwn(account.extra, 'service'),
  )
})
