import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { stringify } from 'yaml'
import { createFileAccounts } from '../../src/account/file/source.ts'
import { refusalOf } from '../support/login-fixture.ts'
import { entry, HASH, open } from './file-fixture.ts'
import { hashContract } from './source-contract.ts'

/* An accounts file is read, and read again when it changes. */

hashContract(t, 'file', async (t, accounts) => {
  const path = join(t.testdir(), 'accounts.yaml')
  writeFileSync(path, stringify({ accounts }, { defaultStringType: 'QUOTE_DOUBLE' }))
  return createFileAccounts({ kind: 'file', path }, { error: () => undefined, info: () => undefined })
})

t.test('an account is found by its name in any case, with all fields except its hash', async t => {
  const { find } = open(
    t.testdir(),
    `accounts:\n${entry('1923000000000000001', 'Admin', ', nickname: Boss, roles: [SUPER_ADMIN], team: { name: a }')}`,
  )
  t.same(await find('ADMIN'), {
    id: '1923000000000000001',
    username: 'Admin',
    passwordHash: HASH,
    status: 'ACTIVE',
    extra: {
      nickname: 'Boss',
      avatar: null,
      roles: ['SUPER_ADMIN'],
      permissions: [],
      team: { name: 'a' },
      status: 'ACTIVE',
    },
  })
  for (const name of ['', 'admi', 'admin ', '__proto__', 'constructor']) t.equal(await find(name), null)
})

t.test('a missing file and an empty list contain no accounts', async t => {
  for (const text of [undefined, 'accounts: []\n']) t.equal(await open(t.testdir(), text).find('admin'), null)
})

t.test('a file that has no list when it is first read is unavailable, and nothing is compared with it', async t => {
  for (const text of ['', '# nothing yet\n', 'accounts:\n']) {
    const { path, find, logged, source } = open(t.testdir(), text)
    const changed: unknown[] = []
    source.changes!.follow(found => void changed.push(found))
    t.teardown(() => source.close())
    t.match(await refusalOf(find('a')), { reason: 'UNAVAILABLE' }, JSON.stringify(text))
    t.match(JSON.stringify(logged), /the list of accounts is missing; write `accounts: \[\]`/)
    t.match(source.changes!.warnings(), [/no login is possible until it is corrected/])
    t.same(changed, [], 'no session and no key ends')
    writeFileSync(path, `accounts:\n${entry('1', 'a')}`)
    t.ok(await find('a'))
    t.same(changed, [null])
  }
})

t.test('a changed file is read again, written anew or replaced, in the next look-up', async t => {
  const { path, find } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
  writeFileSync(path, `accounts:\n${entry('1', 'b')}`)
  t.equal(await find('a'), null)
  t.ok(await find('b'))
  writeFileSync(`${path}.new`, `accounts:\n${entry('1', 'c')}`)
  renameSync(`${path}.new`, path)
  t.ok(await find('c'))
})

t.test('a removed file is unavailable, not empty, until it is there again', async t => {
  const { path, find, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
  for (const text of [`accounts:\n${entry('1', 'a')}`, 'accounts: []\n']) {
    rmSync(path)
    logged.length = 0
    for (let i = 0; i < 2; i++) t.match(await refusalOf(find('a')), { reason: 'UNAVAILABLE' })
    t.equal(logged.length, 1)
    t.match(JSON.stringify(logged), /the accounts file was removed/)
    writeFileSync(path, text)
    t.equal((await find('a')) === null, text === 'accounts: []\n')
  }
})

t.test('a file that other processes have had is unavailable from the start when it is missing', async t => {
  const { path, logged, log } = open(t.testdir())
  const source = createFileAccounts({ kind: 'file', path, wasThere: true }, log)
  t.match(await refusalOf(source.find('a')), { reason: 'UNAVAILABLE' })
  t.match(source.changes!.warnings(), [/the accounts file was removed/])
  t.equal(logged.length, 1)
  writeFileSync(path, `accounts:\n${entry('1', 'a')}`)
  t.ok(await source.find('a'))
  t.same(source.changes!.warnings(), [])
})

t.test('a file that is being written is not read before it is whole', async t => {
  const { path, find, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`)
  t.ok(await find('b'))
  const changed: unknown[] = []
  source.changes!.follow(found => void changed.push(found && [...found]))
  t.teardown(() => source.close())
  // Each part is a valid file in which accounts are missing.
  writeFileSync(path, '')
  const found = find('b')
  for (const name of ['a', 'b', 'c']) {
    await setTimeout(30)
    appendFileSync(path, `${name === 'a' ? 'accounts:\n' : ''}${entry(name, name)}`)
  }
  t.match(await found, { id: 'b' })
  t.same(changed, [
    null,
    [
      ['1', 'account-changed'],
      ['2', 'account-changed'],
    ],
  ])
})

t.test('a file that has lost its list keeps the accounts, and an empty list removes them', async t => {
  const { path, find, logged, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
  for (const text of ['', '# nothing\n', 'accounts:\n']) {
    logged.length = 0
    writeFileSync(path, text)
    t.ok(await find('a'), text)
    t.match(JSON.stringify(logged), /the list of accounts is missing; write `accounts: \[\]`/)
    t.match(source.changes!.warnings(), [/last valid version stay/])
  }
  writeFileSync(path, 'accounts: []\n')
  t.equal(await find('a'), null)
  t.same(source.changes!.warnings(), [])
})

t.test('a faulty version is logged once, and the previous version stays in use', async t => {
  const { path, find, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  writeFileSync(path, 'accounts:\n  - { id: 1 }\n')
  for (let i = 0; i < 3; i++) t.ok(await find('a'))
  t.equal(logged.length, 1)
  t.match(JSON.stringify(logged), /last valid version stay/)
  writeFileSync(path, `accounts:\n${entry('1', 'b')}`)
  t.ok(await find('b'))
})

t.test('a file without a valid version is unavailable, not empty', async t => {
  const { path, find, logged } = open(t.testdir(), 'accounts: {')
  for (let i = 0; i < 2; i++) t.match(await refusalOf(find('a')), { reason: 'UNAVAILABLE' })
  t.equal(logged.length, 1)
  writeFileSync(path, `accounts:\n${entry('1', 'a')}`)
  t.ok(await find('a'))
})

t.test('a path that is not a file is unavailable', async t => {
  const source = createFileAccounts({ kind: 'file', path: t.testdir() }, { error() {}, info() {} })
  t.match(await refusalOf(source.find('a')), { reason: 'UNAVAILABLE' })
})
