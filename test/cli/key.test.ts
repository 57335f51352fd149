import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { asKey, makeKey } from '../../src/token/key-form.ts'
import { run, shippedFolder } from '../support/command-line.ts'
import { ADMIN, type Fixture, openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { hashAtLowestCost } from '../support/login-work.ts'
import { until } from '../support/until.ts'

/* `dualgate key`, beside a running gateway, on both stores. */

hashAtLowestCost()

const withoutUsers = process.getuid === undefined && 'LEFT OUT: this system has no numbers of users'
const FOREIGN = /data belongs to another user: run this as that user$/m

const BACKEND = '/api/v1/b/orders'
const GUARDED = '/api/v1/b/guarded'

const codeOf = async (fixture: Fixture, key: string, path = BACKEND): Promise<number> =>
  (await fixture.get(path, key)).json().code ?? 200

/** The key that a command has printed. */
function keyIn(output: string): string {
  const [key = '', ...others] = output.match(/dg[bc]_\w+/g) ?? []
  if (asKey(key) === null || others.length > 0) throw new Error(`one key was to be printed: ${output}`)
  return key
}

withEveryStore(
  t,
  async (t, fixture) => {
    const dualgate = (...words: string[]) => run(fixture.folder, [...words, '--config', 'gateway.yaml'])
    const addKey = async (name: string, ...options: string[]): Promise<string> => {
      const { code, output, errors } = await dualgate('key', 'add', name, ...options)
      if (code !== 0) throw new Error(errors)
      return keyIn(output)
    }
    /** A service account, once the gateway knows it. */
    const addRobot = async (...options: string[]): Promise<{ name: string; id: string }> => {
      const name = someone()
      t.equal((await dualgate('account', 'add', name, '--service', ...options)).code, 0)
      const { accounts } = parse(readFileSync(join(fixture.folder, 'accounts.yaml'), 'utf8'))
      const { id } = accounts.find(({ username }: { username: string }) => username === name)
      const key = await addKey(name)
      await until(async () => (await codeOf(fixture, key)) === 200)
      t.equal((await dualgate('key', 'revoke', name, key.slice(4, 16))).code, 0)
      return { name, id }
    }

    t.test('a key that is added, and one that is revoked, is known to the running gateway at once', async t => {
      const robot = await addRobot()
      const { code, output, errors } = await dualgate(
        'key',
        'add',
        robot.name,
        '--name',
        'nightly report',
        '--days',
        '90',
      )
      t.same([code, errors], [0, ''])
      const key = keyIn(output)
      const id = key.slice(4, 16)
      t.equal(output, `made key ${id} of ${robot.name}; it ends in 90 days, and is shown only now:\n${key}\n`)
      t.equal(await codeOf(fixture, key), 200)
      t.match(fixture.upstream.requests.at(-1)!.headers, { 'x-login-id': robot.id, 'x-login-key': id })

      const row = new RegExp(
        `^${id} +dgb_${id.slice(0, 4)} +${robot.name} +nightly report +\\d{4}-\\d\\d-\\d\\d +(?:never|\\d{4}-\\d\\d-\\d\\d)$`,
        'm',
      )
      for (const words of [
        ['key', 'list', robot.name],
        ['key', 'list'],
      ]) {
        const listed = await dualgate(...words)
        t.match(listed, { code: 0, output: /^ID +BEGINS +OWNER +NAME +ENDS +LAST USED$/m, errors: '' })
        t.match(listed.output, row)
        t.notMatch(listed.output, key)
      }

      t.match(await dualgate('key', 'revoke', robot.name, id), {
        code: 0,
        output: `revoked key ${id} of ${robot.name}\n`,
      })
      t.equal(await codeOf(fixture, key), 401, 'with the next request')
      t.notMatch((await dualgate('key', 'list')).output, id)
      t.match(await dualgate('key', 'revoke', robot.name, id), {
        code: 1,
        errors: 'dualgate: Not a key of this user\n',
      })
    })

    t.test('the limits of a key are those of the options', async t => {
      const { name } = await addRobot('--role', 'operator')
      const codes = async (...options: string[]): Promise<number[]> => {
        const key = await addKey(name, ...options)
        const found = await Promise.all(
          [BACKEND, `${BACKEND}/7`, GUARDED, '/api/v1/b/other'].map(path => codeOf(fixture, key, path)),
        )
        await dualgate('key', 'revoke', name, key.slice(4, 16))
        return found
      }
      t.same(await codes(), [200, 200, 200, 200], 'without one, all that its owner may do')
      t.same(await codes('--path', BACKEND, '--path', GUARDED), [200, 200, 200, 403])
      t.same(await codes('--permission', 'a:b', '--permission', 'sys:*:page'), [200, 200, 200, 200])
      t.same(await codes('--permission', 'orders:read'), [200, 200, 403, 200])
      t.same(await codes('--address', '192.0.2.1', '--address', '127.0.0.0/8'), [200, 200, 200, 200])
      t.same(await codes('--address', '192.0.2.0/24'), [403, 403, 403, 403])
    })

    t.test('the account of a person gets keys here, too, and sees them', async t => {
      const key = await addKey(ADMIN.username)
      t.equal(await codeOf(fixture, key), 200)
      const token = await fixture.signIn()
      const listed = (await fixture.get('/api/v1/b/account/keys', token)).json().data
      t.match(
        listed.find(({ id }: { id: string }) => id === key.slice(4, 16)),
        { name: 'command line', created_by: 'command line', permissions: null },
      )
    })

    t.test('the journal has what the command line did', async t => {
      const { name, id } = await addRobot()
      const key = (await addKey(name)).slice(4, 16)
      await dualgate('key', 'revoke', name, key)
      const { records } = (await fixture.get(`/api/v1/sys/journal/page?login_id=${id}`, await fixture.signIn())).json()
        .data
      t.match(
        records.filter((record: { key: string }) => record.key === key),
        ['key-revoked', 'key-added'].map(event => ({
          event,
          username: name,
          by: 'command line',
          by_type: null,
          address: null,
        })),
      )
    })

    t.test('what cannot be done is refused with its reason, and nothing is made', async t => {
      const { name } = await addRobot()
      const before = (await dualgate('key', 'list')).output
      const refused: [words: string[], errors: RegExp][] = [
        [['add', 'unknown'], /^dualgate: there is no account unknown$/m],
        [['list', 'unknown'], /there is no account unknown/],
        [['revoke', 'unknown', 'x'], /there is no account unknown/],
        [['revoke', name, makeKey('BUSINESS').id], /Not a key of this user/],
        [['add', name, '--days', 'many'], /days must be a whole number/],
        [['add', name, '--days', '0'], /days must be a whole number from 1 to 365/],
        [['add', name, '--days', '366'], /days must be a whole number from 1 to 365/],
        [['add', name, '--name', ' '], /name must not be empty/],
        [['add', name, '--name', 'x'.repeat(65)], /name must be at most 64 characters/],
        [['add', name, '--path', '/api/v1/b/'], /paths must be paths as they are sent, .* none at the end$/m],
        [['add', name, '--path', 'api/v1/b'], /paths must be paths as they are sent, with a slash at the beginning/],
        [['add', name, '--address', '10.0.0.0/33'], /addresses must be addresses or CIDR ranges/],
        [['add', name, '--permission', ''], /permissions must be a list of at most 64 texts of 1 to 128 characters/],
        [
          ['add', name, ...Array.from({ length: 65 }, (_, i) => ['--path', `/api/v${i}`]).flat()],
          /paths must be a list of at most 64/,
        ],
        [['list', '--consumer'], /keys\.consumer is off/],
      ]
      for (const [words, errors] of refused) {
        const answer = await dualgate('key', ...words)
        t.match(answer, { code: 1, output: '', errors }, words.join(' '))
      }
      t.equal((await dualgate('key', 'list')).output, before)
    })

    /** The command line, with a configuration that has no accounts yet, under this name. */
    function withoutAccounts(called: string) {
      writeFileSync(join(fixture.folder, `${called}-accounts.yaml`), 'accounts: []')
      const config = parse(readFileSync(join(fixture.folder, 'gateway.yaml'), 'utf8'))
      const accounts = { kind: 'file', path: `${called}-accounts.yaml` }
      writeFileSync(join(fixture.folder, `${called}.yaml`), stringify({ ...config, accounts }))
      return (...words: string[]) => run(fixture.folder, [...words, '--config', `${called}.yaml`])
    }

    t.test('a key whose account is gone is revoked by its name, although another account has that now', async t => {
      const { name } = await addRobot()
      const id = (await addKey(name)).slice(4, 16)
      const changed = withoutAccounts('changed')
      t.match(await changed('account', 'add', name, '--service'), { code: 0 })
      t.match(await changed('key', 'list', name), { code: 0, output: /^ID .*\n$/ }, 'the other account has none')
      t.same(await changed('key', 'revoke', name, id), {
        code: 0,
        output: `revoked key ${id} of ${name}\n`,
        errors: '',
      })
      t.notMatch((await changed('key', 'list')).output, id)
    })

    t.test('a key whose account is gone is found by the name that the list has, and revoked', async t => {
      const { name } = await addRobot()
      const id = (await addKey(name)).slice(4, 16)
      const dualgateWithout = withoutAccounts('without')
      const without = (...words: string[]) => dualgateWithout('key', ...words)
      t.match(await without('list'), { code: 0, output: new RegExp(`^${id} .* ${name} `, 'm') })
      t.match(await without('list', name), { code: 0, output: new RegExp(`^ID .*\\n${id} .*\\n$`), errors: '' })
      const other = makeKey('BUSINESS').id
      t.match(await without('revoke', name, other), { code: 1, errors: /Not a key of this user/ })
      t.same(await without('revoke', name, id), { code: 0, output: `revoked key ${id} of ${name}\n`, errors: '' })
      t.match(await without('revoke', name, id), { code: 1, output: '', errors: `there is no account ${name}` })
    })

    t.test('an account has as many keys as the settings allow', async t => {
      const { name } = await addRobot()
      for (let i = 0; i < 3; i++) await addKey(name)
      t.match(await dualgate('key', 'add', name), { code: 1, output: '', errors: /At most 3 keys: revoke one first/ })
    })
  },
  {
    config: { keys: { business: { max_per_user: 3 } }, account_administration: true },
    upstreams: [{ name: 'guarded', match: GUARDED, target: 'builtin:echo', permission: 'sys:session:page' }],
  },
)

t.test('a command that is written wrong says how to write it', async t => {
  const folder = shippedFolder(t)
  const usage: [words: string[], errors: RegExp][] = [
    [[], /^dualgate key: a subcommand is missing: add NAME, list \[NAME\], or revoke NAME ID$/m],
    [['rotate', 'a', 'b'], /a subcommand is missing/],
    [['add'], /key add takes one name$/m],
    [['add', 'a', 'b'], /key add takes one name$/m],
    [['list', 'a', 'b'], /key list takes one name or none$/m],
    [['revoke', 'a'], /key revoke takes a name and an id$/m],
    [['list', 'a', '--days', '1'], /key list takes no --days$/m],
    [['revoke', 'a', 'b', '--path', '/x'], /key revoke takes no --path$/m],
    [['add', 'a', '--for', 'b'], /--for/],
  ]
  for (const [words, errors] of usage)
    t.match(await run(folder, ['key', ...words]), { code: 2, output: '', errors }, words.join(' '))
  t.match(await run(folder, ['key', '--help']), {
    code: 0,
    output: /^Usage: dualgate key add NAME, list \[NAME\], or revoke NAME ID \[options\]$/m,
  })
})

t.test('without keys of a side, or without its accounts, the command says so', async t => {
  const folder = shippedFolder(t)
  const off = await run(folder, ['key', 'list'], { environment: { KEYS__BUSINESS: 'off' } })
  t.match(off, { code: 1, output: '', errors: 'dualgate: keys.business is off\n' })
  const environment = { KEYS__CONSUMER: '{}' }
  t.match(await run(folder, ['key', 'list', '--consumer'], { environment }), {
    code: 1,
    errors: /needs login\.consumer/,
  })
})

t.test('what changes nothing makes no store where it is missing', async t => {
  const folder = shippedFolder(t)
  for (const words of [['list'], ['list', 'jane'], ['revoke', 'jane', 'x']])
    t.match(await run(folder, ['key', ...words]), { code: 1, output: '', errors: /there is no store in \S+data$/m })
  t.same(readdirSync(folder), ['config'])
})

t.test('a command opens no store that belongs to another user of the system', { skip: withoutUsers }, async t => {
  const folder = shippedFolder(t)
  const data = join(folder, 'data')
  mkdirSync(data)
  const own = process.getuid!
  process.getuid = () => own() + 1
  t.teardown(() => {
    process.getuid = own
  })
  for (const words of [['add', 'jane'], ['list'], ['revoke', 'jane', 'x']])
    t.match(await run(folder, ['key', ...words]), { code: 1, output: '', errors: FOREIGN }, words.join(' '))
  t.match(
    await run(folder, ['account', 'add', 'jane']),
    { code: 0, errors: FOREIGN },
    'which the journal can do without',
  )
  t.same(readdirSync(data), [])
  process.getuid = own
  t.match(await run(folder, ['key', 'list']), { code: 0, errors: '' })
})

t.test('keys of the C side are made with --consumer, and have the prefix of that side', async t => {
  const fixture = await openFixture(t, {
    config: { keys: { consumer: {} }, login: { consumer: { kind: 'file', path: 'consumers.yaml' } } },
  })
  const dualgate = (...words: string[]) => run(fixture.folder, [...words, '--consumer', '--config', 'gateway.yaml'])
  t.equal((await dualgate('account', 'add', 'shop', '--service')).code, 0)
  const key = keyIn((await dualgate('key', 'add', 'shop')).output)
  t.match(key, /^dgc_/)
  await until(async () => (await codeOf(fixture, key, '/api/v1/c/orders')) === 200)
  t.match(fixture.upstream.requests.at(-1)!.headers, { 'x-login-type': 'CONSUMER', 'x-login-key': key.slice(4, 16) })
  t.equal(await codeOf(fixture, key), 401, 'nothing of the other side')
  t.match((await run(fixture.folder, ['key', 'list', '--config', 'gateway.yaml'])).output, /^ID .*\n$/)
})
