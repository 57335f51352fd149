import { writeFileSync } from 'node:fs'
import { inspect } from 'node:util'
import t from 'tap'
import type { AccountEdit } from '../../src/account/management.ts'
import { until } from '../support/until.ts'
import { entry, FACTOR, HASH, OTHER_HASH, open } from './file-fixture.ts'

/* What is reported of a changed accounts file, and what sessions and keys know of their accounts. */

t.test(
  'changes are reported by login id: what was removed, locked, or has another password or other rights',
  async t => {
    const { path, find, source } = open(
      t.testdir(),
      `accounts:\n${entry('1', 'a', ', roles: [x, y]')}${entry('2', 'b')}`,
    )
    const changed: unknown[] = []
    source.changes!.follow(found => void changed.push(found === null ? null : Object.fromEntries(found)))
    t.teardown(() => source.close())
    const rows: [text: string, changes: object | undefined][] = [
      [entry('1', 'a', ', roles: [y, x], nickname: Boss') + entry('2', 'b'), undefined],
      [entry('2', 'renamed') + entry('1', 'a', ', roles: [x, y]') + entry('3', 'c'), undefined],
      [entry('1', 'a', ', roles: [x]') + entry('2', 'b') + entry('3', 'c'), { 1: 'account-changed' }],
      [
        entry('1', 'a', ', roles: [x], permissions: [p]') + entry('2', 'b', ', status: LOCKED'),
        { 1: 'account-changed', 2: 'account-changed', 3: 'account-changed' },
      ],
      [entry('1', 'a', ', roles: [x], permissions: [p]') + entry('2', 'b'), undefined],
      [entry('1', 'a', ', permissions: [p]').replace(HASH, OTHER_HASH) + entry('2', 'b'), { 1: 'password-changed' }],
      [
        entry('1', 'a', `, permissions: [p], second_factor: ${FACTOR}`).replace(HASH, OTHER_HASH),
        { 2: 'account-changed' },
      ],
      [entry('1', 'a', `, permissions: [p], second_factor: ${FACTOR}changed`).replace(HASH, OTHER_HASH), undefined],
      [entry('1', 'a', ', permissions: [p]').replace(HASH, OTHER_HASH), { 1: 'account-changed' }],
      // Not ACTIVE: what was made before, as keys, is valid again once it is.
      [entry('1', 'a', ', status: LOCKED').replace(HASH, OTHER_HASH), { 1: 'account-changed' }],
      [entry('1', 'a', ', status: LOCKED, nickname: Boss').replace(HASH, OTHER_HASH), undefined],
      [entry('1', 'a', ', status: LOCKED'), { 1: 'account-changed' }],
      [entry('2', 'b'), { 1: 'account-changed' }],
      [entry('1', 'a', ', status: LOCKED') + entry('2', 'b'), undefined],
      [entry('1', 'a') + entry('2', 'b'), undefined],
    ]
    await find('a')
    t.same(changed.splice(0), [null], 'first, nothing is known of what they were before')
    for (const [text, changes] of rows) {
      writeFileSync(path, `accounts:\n${text}`)
      await find('a')
      t.same(changed.splice(0), changes === undefined ? [] : [changes])
    }
    t.equal(source.changes!.versionOf('3'), null)
    t.match(source.changes!.versionOf('1'), /^[\w-]{12}\.[\w-]{12}$/)
  },
)

t.test(
  'an account of any status is found by its login id at once, as it was last read, with its versions and no hash',
  async t => {
    const locked = entry('2', 'b', ', status: LOCKED')
    const { path, find, source } = open(t.testdir(), `accounts:\n${entry('1', 'a', ', roles: [x]')}${locked}`)
    const accountOf = (id: string) => source.changes!.accountOf(id)
    const versionOf = (id: string) => source.changes!.versionOf(id)
    t.equal(accountOf('1'), null, 'nothing is known before the first look-up')
    await find('a')
    t.match(accountOf('1'), {
      id: '1',
      username: 'a',
      status: 'ACTIVE',
      extra: { roles: ['x'] },
      credentialVersion: String,
    })
    t.equal(accountOf('1')!.version, versionOf('1'))
    t.match(accountOf('2'), { status: 'LOCKED', version: String, credentialVersion: String })
    t.equal(versionOf('2'), null)
    t.equal(accountOf('3'), null)
    t.notMatch(inspect(accountOf('1'), { showHidden: true, depth: 9 }), /\$2b\$/)
    writeFileSync(path, `accounts:\n${entry('1', 'a', ', roles: [y]')}`)
    t.match(accountOf('1'), { extra: { roles: ['x'] } }, 'without reading anything')
    await source.changes!.refresh()
    t.match(accountOf('1'), { extra: { roles: ['y'] } })
    t.equal(accountOf('2'), null)
    writeFileSync(path, 'accounts: {')
    await source.changes!.refresh()
    t.match(accountOf('1'), { extra: { roles: ['y'] } }, 'a faulty file changes nothing')
  },
)

t.test('what users change of a second factor keeps the credential version, and a reset by others does not', async t => {
  const { source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const credentialVersion = async () => {
    await source.changes!.refresh()
    return source.changes!.accountOf('1')!.credentialVersion
  }
  const reset = (set: Extract<AccountEdit, { set: unknown }>['set']) =>
    source.management!.edit(() => ({ edit: { id: '1', set }, result: null }))
  const seen = [await credentialVersion()]
  await source.updates!.setSecondFactor('1', FACTOR, null)
  t.equal(await credentialVersion(), seen[0])
  await source.updates!.setSecondFactor('1', null, FACTOR)
  t.equal(await credentialVersion(), seen[0])
  await reset({ secondFactor: null })
  t.equal(await credentialVersion(), seen[0], 'there was none')
  await source.updates!.setSecondFactor('1', FACTOR, null)
  await reset({ secondFactor: null })
  seen.push((await credentialVersion())!)
  await reset({ roles: ['x'], permissions: ['y'], status: 'LOCKED', nickname: 'Other' })
  t.equal(await credentialVersion(), seen[1])
  await reset({ password: { hash: OTHER_HASH, changedAt: 0, mustChange: true } })
  seen.push((await credentialVersion())!)
  t.equal(new Set(seen).size, 3)
})

t.test('a change is noticed without a login', async t => {
  const { path, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  const changed: unknown[] = []
  source.changes!.follow(found => void changed.push(found && [...found]))
  t.teardown(() => source.close())
  t.ok(await until(() => changed.length === 1))
  writeFileSync(path, 'accounts: []\n')
  t.ok(await until(() => changed.length === 2))
  t.same(changed, [null, [['1', 'account-changed']]])
})

t.test('a change of the gateway itself stays if a faulty version follows before it was read', async t => {
  const { path, find, source, logged } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  t.ok(await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 0, mustChange: false }))
  writeFileSync(path, 'accounts:\n  - { id: 1 }\n')
  t.equal((await find('a'))?.passwordHash, OTHER_HASH)
  t.match(JSON.stringify(logged), /last valid version stay/)
})

t.test('a change of the gateway itself does not come back after later versions were read', async t => {
  const { path, find, source } = open(t.testdir(), `accounts:\n${entry('1', 'a')}`)
  await find('a')
  const later = `accounts:\n${entry('1', 'a')}${entry('2', 'b')}`
  writeFileSync(path, `# saved\n${later}`)
  const finding = find('b')
  await source.updates!.setPassword('1', { hash: OTHER_HASH, changedAt: 0, mustChange: false })
  writeFileSync(path, later)
  await finding
  t.ok(await find('b'))
  const changes: unknown[] = []
  source.changes!.follow(changed => void changes.push(changed))
  writeFileSync(path, `# saved again\n${later}`)
  t.not((await find('a'))?.passwordHash, OTHER_HASH)
  source.changes!.follow(null)
  t.same(changes, [null], 'what is known when the following begins, and nothing after it')
})

t.test('the log of a faulty file names twenty faults, and says how many there are more', async t => {
  const faulty = Array.from({ length: 30 }, (_, id) => entry(`${id}`, `n${id}`, ', roles: x')).join('')
  const { find, source, logged } = open(t.testdir(), `accounts:\n${faulty}`)
  t.teardown(() => source.close())
  await t.rejects(find('n1'))
  t.match(logged, [[{ more: 10, faults: { length: 20 } }, /has faults/]])
})
