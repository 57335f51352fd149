import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { matchesHash } from '../../src/account/hash.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { openStore } from '../../src/store/open.ts'
import { run, shippedFolder } from '../support/command-line.ts'

const accountsIn = (folder: string, file = 'config/accounts.yaml') =>
  parse(readFileSync(join(folder, file), 'utf8')).accounts

t.test('an account is added with a password from standard input, listed, changed and removed', async t => {
  const folder = shippedFolder(t)
  const added = await run(
    folder,
    ['account', 'add', 'jane', '--password-stdin', '--role', 'a', '--role', 'b', '--nickname', 'Jane D', '--id', 'u7'],
    { input: 'correct horse\n' },
  )
  t.match(added, { code: 0, output: 'added jane with id u7\n' })
  t.match(accountsIn(folder), [{ id: 'u7', username: 'jane', nickname: 'Jane D', roles: ['a', 'b'] }])
  t.ok(matchesHash('correct horse', accountsIn(folder)[0].password))
  t.equal(statSync(join(folder, 'config/accounts.yaml')).mode & 0o777, 0o600)

  const listed = await run(folder, ['account', 'list'])
  t.match(listed.output, /^jane +u7 +ACTIVE +a,b +Jane D$/m)

  const changed = await run(folder, ['account', 'passwd', 'jane', '--password-stdin'], { input: 'battery staple\r\n' })
  t.equal(changed.code, 0)
  t.ok(matchesHash('battery staple', accountsIn(folder)[0].password))

  t.equal((await run(folder, ['account', 'remove', 'jane'])).code, 0)
  t.same(accountsIn(folder), [])
})

t.test('a role that grants nothing is named, with those that do, when it is given and by `check`', async t => {
  const folder = shippedFolder(t)
  const known = 'roles of the permissions file: SUPER_ADMIN, operator'
  const errors = async (role: string) => (await run(folder, ['account', 'add', `is-${role}`, '--role', role])).errors
  t.equal(await errors('operater'), `dualgate: warning: the role operater grants nothing here; ${known}\n`)
  t.equal(await errors('operator'), '')
  t.equal(await errors('SUPER_ADMIN'), '')
  const warnings = (await run(folder, ['check'])).output.split('\n').filter(line => /^ {2}warning/.test(line))
  t.equal(warnings.length, 1)
  t.ok(warnings[0]!.endsWith(`the role operater grants nothing here; ${known}; held by is-operater`), warnings[0]!)
})

t.test('without a password one is generated and printed', async t => {
  const folder = shippedFolder(t)
  const { code, output } = await run(folder, ['account', 'add', 'jane'])
  t.equal(code, 0)
  const password = /^password: (\S{20,})$/m.exec(output)?.[1]
  t.ok(password !== undefined && matchesHash(password, accountsIn(folder)[0].password))
})

t.test('a failed command exits with 1 and reports the reason', async t => {
  const folder = shippedFolder(t)
  await run(folder, ['account', 'add', 'jane'])
  const cases: [string[], RegExp, (string | Uint8Array)?][] = [
    [['add', 'JANE'], /username is taken/],
    [['add', 'x', '--id', 'a b'], /id must be 1 to 128 characters/],
    [['add', 'x', '--nickname', 'a\uFFFF'], /nickname must not contain control characters or noncharacters$/m],
    [['add', 'x', '--role', 'r', '--role', 'a\u0007'], /roles must not contain control characters/],
    [['add', 'x', '--role', ''], /^dualgate: --role must be text of 1 to 128 characters$/m],
    [['add', 'x', ...Array(257).fill(['--role', 'r']).flat()], /^dualgate: --role must have at most 256 entries$/m],
    [
      ['add', 'x', '--role', 'a', '--role', 'r'.repeat(129), '--password-stdin'],
      /^dualgate: --role must be text of 1 to 128 characters$/m,
      'short\n',
    ],
    [
      ['add', 'x', '--nickname', 'n'.repeat(129), '--password-stdin'],
      /^dualgate: --nickname must be text of at most 128 characters$/m,
      'short\n',
    ],
    [
      ['add', 'x', '--password-stdin'],
      /The new password must have at least 10 characters, must not be a common password$/m,
      'short\n',
    ],
    [
      ['add', 'Password123', '--password-stdin'],
      /The new password must not be a common password, must not be the user name$/m,
      'password123\n',
    ],
    [
      ['passwd', 'jane', '--password-stdin'],
      /standard input is not UTF-8 text/,
      Buffer.from('pässword of jane', 'latin1'),
    ],
    [
      ['passwd', 'jane', '--password-stdin'],
      /standard input has several lines; send the password alone/,
      'one 1\ntwo 2\n',
    ],
    [['passwd', 'nobody'], /there is no account nobody/],
    [['remove', 'nobody'], /there is no account nobody/],
    [['list', '--consumer'], /login\.consumer is off/],
  ]
  for (const [words, message, input = ''] of cases) {
    const { code, errors } = await run(folder, ['account', ...words], { input })
    t.equal(code, 1, words.join(' '))
    t.match(errors, message)
    t.notMatch(errors, /short|at .*\.ts/)
  }
})

t.test('accounts are managed without the secrets for a start, and the C side has its own file', async t => {
  const folder = shippedFolder(t)
  const environment = { NODE_ENV: 'production', LOGIN__CONSUMER__KIND: 'file' }
  const { code } = await run(folder, ['account', 'add', 'ann', '--consumer'], { environment })
  t.equal(code, 0)
  t.match(accountsIn(folder, 'config/consumers.yaml'), [{ username: 'ann' }])
})

t.test('accounts of a database are not managed here', async t => {
  const folder = shippedFolder(t)
  writeFileSync(
    join(folder, 'sql.yaml'),
    'accounts: { kind: sql, url: "mysql://u:p@h/d", query: "SELECT * FROM t WHERE username = :username" }\nupstreams: []\n',
  )
  const { code, errors } = await run(folder, ['account', 'list', '--config', 'sql.yaml'])
  t.equal(code, 1)
  t.match(errors, /these accounts come from sql and are managed there/)
})

t.test('a faulty accounts file is reported and not changed', async t => {
  const folder = shippedFolder(t)
  for (const [text, fault] of [
    ['accounts:\n  - { id: 7, username: x, password: secret }\n', /accounts\.yaml/],
    ['', /accounts\.yaml: the list of accounts is missing; write `accounts: \[\]` to have none/],
  ] as const) {
    writeFileSync(join(folder, 'config/accounts.yaml'), text)
    const { code, errors } = await run(folder, ['account', 'add', 'jane'])
    t.equal(code, 1)
    t.match(errors, fault)
    t.equal(readFileSync(join(folder, 'config/accounts.yaml'), 'utf8'), text)
  }
})

t.test('an account is shown without its hash, and a required change of its password is set and cleared', async t => {
  const folder = shippedFolder(t)
  const input = 'correct horse 4'
  await run(folder, ['account', 'add', 'Jane', '--password-stdin', '--must-change', '--role', 'a', '--id', '7'], {
    input,
  })
  const shown = await run(folder, ['account', 'show', 'JANE'])
  t.match(shown, { code: 0, output: /^username: +Jane\nid: +7\nnickname: +Jane\nstatus: +ACTIVE\nroles: +a$/m })
  t.match(shown.output, /^must change it: +yes\nsecond factor: +no$/m)
  t.match(shown.output, /^password changed: +\d{4}-\d\d-\d\dT/m)
  t.notMatch(shown.output, /\$2/)
  await run(folder, ['account', 'passwd', 'jane', '--password-stdin'], { input: 'battery staple 4' })
  t.match((await run(folder, ['account', 'show', 'jane'])).output, /^must change it: +no$/m)
  await run(folder, ['account', 'passwd', 'jane', '--must-change'])
  t.equal(accountsIn(folder)[0].must_change_password, true)
})

t.test('a lost second factor is removed once', async t => {
  const folder = shippedFolder(t)
  await run(folder, ['account', 'add', 'jane', '--id', '7'])
  const file = join(folder, 'config/accounts.yaml')
  writeFileSync(file, `${readFileSync(file, 'utf8')}    second_factor: abcdefghijkl.sealed\n`)
  t.match((await run(folder, ['account', 'show', 'jane'])).output, /^second factor: +yes$/m)
  const reset = () => run(folder, ['account', 'reset-second-factor', 'JANE'])
  t.match(await reset(), {
    code: 0,
    output: /^removed the second factor of jane; the running gateway ends the sessions/,
  })
  const [jane] = accountsIn(folder)
  t.equal(jane.second_factor, undefined)
  t.match(jane.second_factor_reset_at, /^\d{4}-\d\d-\d\dT/, 'sessions from before the factor end by this')
  t.match(await reset(), { code: 1, errors: 'dualgate: jane has no second factor\n' })
})

t.test('the last active SUPER_ADMIN is removed with --force only', async t => {
  const folder = shippedFolder(t)
  for (const name of ['ann', 'ben']) await run(folder, ['account', 'add', name, '--role', 'SUPER_ADMIN'])
  t.equal((await run(folder, ['account', 'remove', 'ann'])).code, 0)
  t.match(await run(folder, ['account', 'remove', 'ben']), { code: 1, errors: /last active SUPER_ADMIN; --force/ })
  t.match(accountsIn(folder), [{ username: 'ben' }])
  t.equal((await run(folder, ['account', 'remove', 'ben', '--force'])).code, 0)
  t.same(accountsIn(folder), [])
})

t.test('a service account is added without a password, listed and shown as one, and gets none later', async t => {
  const folder = shippedFolder(t)
  // On standard input, where a password would be read if one was wanted.
  const add = ['account', 'add', 'deploy', '--service', '--role', 'operator', '--id', '7']
  t.match(await run(folder, add, { input: 'correct horse 4' }), {
    code: 0,
    output: 'added the service account deploy with id 7\n',
    errors: '',
  })
  await run(folder, ['account', 'add', 'jane', '--id', '8'])
  const [deploy] = accountsIn(folder)
  t.match(deploy, { id: '7', username: 'deploy', service: true, added: /^\d{4}-\d\d-\d\dT/, roles: ['operator'] })
  t.notOk('password' in deploy || 'must_change_password' in deploy)
  t.match(
    (await run(folder, ['account', 'list'])).output,
    /NICKNAME +KIND\ndeploy +7 +ACTIVE +operator +deploy +service account\njane .* jane\n/,
  )
  const shown = (await run(folder, ['account', 'show', 'deploy'])).output
  t.match(shown, /^kind: +service account$/m)
  t.notMatch(shown, /password|second factor/)
  t.notMatch((await run(folder, ['account', 'show', 'jane'])).output, /^kind/m)

  const passwd = await run(folder, ['account', 'passwd', 'Deploy', '--password-stdin'], { input: 'correct horse 4' })
  t.match(passwd, { code: 1, output: '', errors: 'dualgate: deploy is a service account: it has no password\n' })
  t.match(await run(folder, ['account', 'reset-second-factor', 'deploy']), {
    code: 1,
    errors: 'dualgate: deploy has no second factor\n',
  })
  t.same(accountsIn(folder)[0], deploy)
  for (const option of ['--password-stdin', '--must-change'])
    t.match(await run(folder, ['account', 'add', 'other', '--service', option]), {
      code: 2,
      errors: /--service takes no --[a-z-]+: a service account has no password/,
    })
  t.equal((await run(folder, ['account', 'remove', 'deploy'])).code, 0)
})

t.test('a service account is not the SUPER_ADMIN that stays', async t => {
  const folder = shippedFolder(t)
  await run(folder, ['account', 'add', 'ann', '--role', 'SUPER_ADMIN'])
  await run(folder, ['account', 'add', 'deploy', '--role', 'SUPER_ADMIN', '--service'])
  t.match(await run(folder, ['account', 'remove', 'ann']), { code: 1, errors: /last active SUPER_ADMIN; --force/ })
  t.equal((await run(folder, ['account', 'remove', 'deploy'])).code, 0)
  t.match(accountsIn(folder), [{ username: 'ann' }])
})

t.test('an option of another subcommand is a usage error', async t => {
  const folder = shippedFolder(t)
  for (const words of [
    ['list', '--force'],
    ['passwd', 'a', '--role', 'b'],
    ['show', 'a', '--must-change'],
    ['add', 'a', '--force'],
    ['passwd', 'a', '--service'],
    ['show'],
    ['forget', 'a'],
  ]) {
    t.equal((await run(folder, ['account', ...words])).code, 2, words.join(' '))
  }
})

t.test('what a command changed is in the journal, by the command line', async t => {
  const folder = shippedFolder(t)
  const data = join(folder, 'data')
  const account = (...words: string[]) => run(folder, ['account', ...words])
  t.match(await account('add', 'early'), { code: 0, errors: '' }, 'before the first start there is no journal')
  t.notOk(existsSync(data))
  mkdirSync(data)
  for (const words of [
    ['add', 'jane', '--id', '7', '--nickname', 'J'],
    ['passwd', 'jane'],
    ['show', 'jane'],
    ['list'],
    ['remove', 'JANE'],
  ])
    t.match(await account(...words), { code: 0, errors: '' })
  const store = await openStore({ kind: 'embedded', timeout: 10_000 } as never, data, systemClock, createLog('silent'))
  const { entries } = await store.journal.page({ size: 10 })
  await store.close()
  t.match(
    entries.map(({ id, ...entry }) => entry),
    ['account-removed', 'password-reset', 'account-added'].map(event => ({
      ...{ event, type: 'BUSINESS', login_id: '7', username: 'jane', nickname: 'J', by: 'command line' },
    })),
  )
  t.notMatch(JSON.stringify(entries), /\$2/)
})

t.test('a command is done without the store, and says that the journal does not have it', async t => {
  const folder = shippedFolder(t)
  const environment = { STORE__KIND: 'redis', STORE__REDIS__URL: 'redis://127.0.0.1:1', STORE__TIMEOUT: '200ms' }
  const { code, output, errors } = await run(folder, ['account', 'add', 'jane'], { environment })
  t.equal(code, 0)
  t.match(output, /^password: /m)
  t.match(errors, /^dualgate: this is done, but is not in the journal: /)
  t.match(accountsIn(folder), [{ username: 'jane' }])
})

t.test('a command in another folder than that of the gateway names the accounts file that it looked for', async t => {
  const folder = t.testdir({})
  const missing =
    /^dualgate: there is no accounts file \S+data\/accounts\.yaml; start the gateway first; for a gateway of another folder, .*--config\n$/
  for (const words of [['list'], ['show', 'jane'], ['passwd', 'jane'], ['remove', 'jane'], ['add', 'jane']])
    t.match(await run(folder, ['account', ...words]), { code: 1, output: '', errors: missing }, words.join(' '))
  t.match(await run(folder, ['key', 'add', 'jane']), {
    code: 1,
    output: '',
    errors: /^dualgate: there is no store in /,
  })
  t.same(readdirSync(folder), [], 'nothing is created')
})
