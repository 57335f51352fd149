import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { generateSecret } from '../../src/settings/secrets.ts'
import { call } from '../support/client.ts'
import { launch, run, shippedFolder } from '../support/command-line.ts'
import { temporaryFolder } from '../support/image.ts'
import { killAtEnd } from '../support/process.ts'
import { ROOT } from '../support/root.ts'
import { withoutNodeWarning } from '../support/strict-parser.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

const FREE_PORTS = { LISTEN__HOST: '127.0.0.1', LISTEN__PORT: '0', INTERNAL__PORT: '0' }

interface Started {
  child: ChildProcess
  public: string
  internal: string
  output(): string
}

/** Resolves when the line with the URLs is there. */
async function started(
  t: Test,
  folder: string,
  environment: Record<string, string> = {},
  words = ['start'],
): Promise<Started> {
  return startedAs(t, launch(folder, words, { ...FREE_PORTS, ...environment }))
}

async function startedAs(t: Test, child: ChildProcess): Promise<Started> {
  killAtEnd(t, child)
  let output = ''
  child.stderr!.on('data', chunk => {
    output += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('exit', code => reject(new Error(`it ended with ${code}: ${output}`)))
    child.stdout!.on('data', chunk => {
      output += chunk
      const urls = /^dualgate answers at (\S+), internally at (\S+)\n(?=.*\n)/m.exec(output)
      if (urls !== null)
        resolve({ child, public: urls[1]!, internal: urls[2]!, output: () => withoutNodeWarning(output) })
    })
  })
}

async function exitOf({ child }: Started, signal: NodeJS.Signals): Promise<number | null> {
  const exit = once(child, 'exit')
  child.kill(signal)
  return (await exit)[0]
}

t.test('a first start creates an administrator, prints the password once, and answers', async t => {
  const folder = shippedFolder(t)
  const first = await started(t, folder)
  t.match(first.output(), /^ {2}username: admin$/m)
  t.match(first.output(), /^ {2}password: \S{20,}$/m)
  t.equal(statSync(join(folder, 'data')).mode & 0o777, 0o700)
  const page = new RegExp(`^administrators sign in at (${first.public}/console/)$`, 'm').exec(first.output())?.[1]
  t.equal((await fetch(page ?? '')).status, 200)
  t.equal((await call(first.public, { path: '/api/v1/x' })).json().code, 401)
  t.equal((await call(first.internal, { path: '/livez' })).status, 200)
  t.equal(await exitOf(first, 'SIGTERM'), 0)

  const second = await started(t, folder)
  t.notMatch(second.output(), /password/)
  t.equal(await exitOf(second, 'SIGINT'), 0)
})

t.test('every line of output after the first ones is JSON', async t => {
  const gateway = await started(t, shippedFolder(t))
  await call(gateway.public, { path: '/api/v1/x' })
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
  const after = gateway.output().split(/^administrators sign in .*\n/m)[1] ?? ''
  for (const line of after.split('\n').filter(line => line !== '')) t.type(JSON.parse(line).level, 'number')
})

t.test('without a command and a configuration, the gateway starts with what is built in', async t => {
  const folder = temporaryFolder(t, 'empty')
  const gateway = await started(t, folder, {}, [])
  t.match(
    gateway.output().replaceAll(gateway.public, 'PUBLIC').replaceAll(gateway.internal, 'INTERNAL'),
    new RegExp(
      [
        '^first account, in data/accounts\\.yaml, shown only this once:',
        '  username: admin',
        '  password: \\S{24}',
        'dualgate answers at PUBLIC, internally at INTERNAL',
        'administrators sign in at PUBLIC/console/',
        'next: dualgate init writes a configuration, in which you name your backends\n$',
      ].join('\n'),
    ),
    'six lines say all that a person needs',
  )
  t.equal((await fetch(`${gateway.public}/console/`)).status, 200)
  t.match((await call(gateway.public, { path: '/api/v1/public/c/x' })).json(), { url: '/api/v1/public/c/x' })
  t.same(readdirSync(folder), ['data'], 'everything is in the data folder')
  const list = await run(folder, ['account', 'list'])
  t.match(list.output, /^admin .* SUPER_ADMIN /m, 'commands without a configuration find its data')
  const { code, output } = await run(folder, ['reload'])
  t.equal(code, 0)
  t.match(output, /^reloaded the built-in configuration: \d+ new workers? answers?\n$/)
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test('a gateway without a configuration takes that of `init` at a reload; sessions and account go on', async t => {
  const folder = temporaryFolder(t, 'empty')
  const gateway = await started(t, folder, { WORKERS: '2' }, [])
  const headers = { authorization: `Bearer ${readFileSync(join(folder, 'data/internal.secret'), 'utf8').trim()}` }
  const operate = async (name: string, body: object) =>
    (await call(gateway.internal, { path: `/operations/v1/business/${name}`, method: 'POST', headers, body })).json()
      .data
  const { token } = await operate('login', { user_id: '42' })
  t.match((await run(folder, ['init'])).output, /^then: dualgate check && dualgate reload$/m)
  const backend = await startUpstream({ answer: (_request, response) => void response.end('own') })
  t.teardown(() => backend.close())
  writeFileSync(
    join(folder, 'config/upstreams.yaml'),
    `upstreams: [{ name: own, match: /api/v1, target: "${backend.url}" }]\n`,
  )
  t.same(await run(folder, ['reload']), {
    code: 0,
    output: 'reloaded config/gateway.yaml: 2 new workers answer\n',
    errors: '',
  })
  t.equal((await call(gateway.public, { path: '/api/v1/b/x', token })).text, 'own', 'the session of before goes on')
  t.match(await operate('is-login', { token }), { is_login: true }, 'services keep their secret')
  t.match(
    (await run(folder, ['check'])).output,
    / accounts +file \S+\/data\/accounts\.yaml\n/,
    'admin is the same account',
  )

  renameSync(join(folder, 'config'), join(folder, 'elsewhere'))
  t.match(await run(folder, ['reload', '--config', 'elsewhere/gateway.yaml']), {
    code: 1,
    output: '',
    errors: /not reloaded: config\/gateway\.yaml: no such file/,
  })
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test('a reload names the file that was read, and does not confirm another one', async t => {
  const folder = shippedFolder(t)
  const gateway = await started(t, folder, { WORKERS: '2' })
  cpSync(join(folder, 'config'), join(folder, 'other'), { recursive: true })
  const { code, output, errors } = await run(folder, ['reload', '--config', 'other/gateway.yaml'])
  t.equal(code, 1)
  t.equal(output, 'reloaded config/gateway.yaml: 2 new workers answer\n')
  t.match(errors, /^dualgate: other\/gateway\.yaml was not read: the gateway was started with config\/gateway\.yaml;/)
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test('a reload refuses an accounts file that does not exist, and says what a new secret does', async t => {
  const folder = shippedFolder(t)
  const gateway = await started(t, folder, { WORKERS: '2' })
  writeFileSync(join(folder, '.env'), 'ACCOUNTS__PATH=elsewhere.yaml\n')
  t.match(await run(folder, ['reload']), {
    code: 1,
    errors: /not reloaded: there is no accounts file \S+elsewhere\.yaml;/,
  })
  writeFileSync(join(folder, '.env'), `JWT__SECRET_KEY=${generateSecret()}\n`)
  t.match(await run(folder, ['reload']), {
    code: 0,
    output: /^note: jwt\.secret_key has changed: every earlier session is refused$/m,
  })
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test(
  'a reload refuses an accounts file that was removed or has faults, which its new workers could not use',
  async t => {
    const folder = shippedFolder(t)
    const gateway = await started(t, folder, { WORKERS: '2' })
    const path = join(folder, 'config/accounts.yaml')
    const text = readFileSync(path, 'utf8')
    const rows: [text: string, errors: RegExp][] = [
      // As a full disk leaves it.
      [
        text.slice(0, text.indexOf('accounts:')),
        /accounts\.yaml: the list of accounts is missing; write `accounts: \[\]`/,
      ],
      [text.replace('$2b', 'no'), /accounts\.yaml:\d+ accounts\[0\]\.password: must be/],
    ]
    for (const [faulty, errors] of rows) {
      writeFileSync(path, faulty)
      t.match(await run(folder, ['reload']), { code: 1, output: '', errors })
    }
    rmSync(path)
    t.match(await run(folder, ['reload']), {
      code: 1,
      output: '',
      errors: /not reloaded: the accounts file \S+\/config\/accounts\.yaml was removed; restore it/,
    })
    writeFileSync(path, text)
    t.match(await run(folder, ['reload']), { code: 0, errors: '' })
    t.equal(await exitOf(gateway, 'SIGTERM'), 0)
  },
)

t.test('a start reads a configuration from a pipe once, and a reload is refused', async t => {
  const folder = temporaryFolder(t, 'pipe')
  writeFileSync(join(folder, 'gateway.yaml'), 'workers: 2\ndata: state\nupstreams: []\n')
  const main = join(ROOT, 'dist/main.js')
  const child = spawn('bash', ['-c', `exec "$0" '${main}' start --config <(cat gateway.yaml)`, process.execPath], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...FREE_PORTS, ACCOUNTS__PATH: join(folder, 'accounts.yaml') },
  })
  const gateway = await startedAs(t, child)
  t.ok(existsSync(join(folder, 'state')), 'the settings in the pipe are in use')
  t.match(await run(folder, ['reload', '--config', 'gateway.yaml']), {
    code: 1,
    errors: /not reloaded: \/dev\/fd\/\d+ is a pipe, which can be read only once; restart the gateway/,
  })
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test('a failed reload is logged at the level of the last one that was applied', async t => {
  const folder = shippedFolder(t)
  writeFileSync(join(folder, '.env'), 'LOG__LEVEL=silent\n')
  const gateway = await started(t, folder, { WORKERS: '2' })
  writeFileSync(join(folder, '.env'), 'LOG__LEVEL=info\n')
  t.match(await run(folder, ['reload']), { code: 0 })
  writeFileSync(join(folder, '.env'), 'LOG__LEVEL=nothing\n')
  gateway.child.kill('SIGHUP')
  t.ok(await until(() => gateway.output().includes('"msg":"not reloaded; ')))
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test('what is built in follows the environment', async t => {
  const folder = temporaryFolder(t, 'empty')
  const upstreams = '[{ name: a, match: /api/v1/public/c, target: "http://127.0.0.1:9" }]'
  const gateway = await started(t, folder, { DATA: 'state', UPSTREAMS: upstreams, WORKERS: '1' }, [])
  t.same(readdirSync(folder), ['state'])
  t.ok(existsSync(join(folder, 'state/accounts.yaml')))
  t.equal((await call(gateway.public, { path: '/api/v1/public/c/x' })).status, 502)
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test('in production, what is built in does not start without secrets', async t => {
  const folder = temporaryFolder(t, 'empty')
  const { code, errors } = await run(folder, [], { environment: { NODE_ENV: 'production' } })
  t.equal(code, 1)
  for (const name of ['JWT__SECRET_KEY', 'LOGIN__SM2__PRIVATE_KEY', 'INTERNAL__SECRET']) t.match(errors, name)
  t.same(readdirSync(folder), [])
})

t.test('`start` and `check` need a configuration, and say how to get one', async t => {
  const folder = temporaryFolder(t, 'empty')
  for (const command of ['start', 'check']) {
    const { code, errors } = await run(folder, [command])
    t.equal(code, 1)
    t.match(errors, /^config\/gateway\.yaml: no such file; .* write one with `dualgate init`$/m)
  }
})

t.test('without a command, an existing configuration is used', async t => {
  const gateway = await started(t, shippedFolder(t), { WORKERS: '1' }, [])
  t.match(gateway.output(), /^first account, in config\/accounts\.yaml,/m)
  t.notMatch(gateway.output(), /^next:/m)
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
})

t.test('at a terminal, the log is text', async t => {
  const main = join(ROOT, 'dist/main.js')
  const child = spawn(
    'script',
    ['--quiet', '--flush', '--command', `exec '${process.execPath}' '${main}'`, '/dev/null'],
    {
      cwd: temporaryFolder(t, 'terminal'),
      env: { PATH: process.env.PATH, ...FREE_PORTS, WORKERS: '2' },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  killAtEnd(t, child)
  let output = ''
  const printed = (text: RegExp): Promise<string> =>
    new Promise(resolve => {
      const look = (): void => {
        const found = text.exec(output)
        if (found !== null) resolve(found[1] ?? found[0])
      }
      look()
      child.stdout.on('data', look)
    })
  child.stdout.on('data', chunk => {
    output += chunk
  })
  const url = await printed(/answers at (\S+),[\s\S]*next: /)
  await call(url, { path: '/api/v1/x' })
  const line = await printed(/^\d\d:\d\d:\d\d info .* ip=127\.0\.0\.1\r$/m)
  t.match(line, / request .*method=GET path=\/api\/v1\/x .*refused=NOT_LOGGED_IN/)
  t.notMatch(output, /^\{/m)
  const ended = once(child, 'exit')
  child.stdin.write('\x03')
  await ended
})

t.test('a configuration with faults prevents the start, and all faults are printed', async t => {
  const folder = shippedFolder(t)
  const { code, output, errors } = await run(folder, ['start'], { environment: { LOCALE: 'fr', LISTEN__PORT: 'x' } })
  t.equal(code, 1)
  t.equal(output, '')
  t.match(errors, /^environment LISTEN__PORT: .*$/m)
  t.match(errors, /^environment LOCALE: .*$/m)
  t.notOk(existsSync(join(folder, 'data')), 'nothing was created')
})

t.test('an accounts file that cannot be created is reported with its name', async t => {
  const folder = shippedFolder(t)
  writeFileSync(join(folder, 'file'), '')
  const environment = { ...FREE_PORTS, ACCOUNTS__PATH: 'file/accounts.yaml' }
  const { code, errors } = await run(folder, ['start'], { environment })
  t.equal(code, 1)
  t.match(
    errors,
    /^dualgate: warning: .*cannot be written .*\ndualgate: .*file\/accounts\.yaml: .*file is not a folder; .*\n$/,
  )
})

t.test('a port in use is reported, with the setting to change', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as { port: number }
  for (const variable of ['LISTEN__PORT', 'INTERNAL__PORT']) {
    const environment = { ...FREE_PORTS, [variable]: String(port) }
    const folder = shippedFolder(t)
    const { code, output, errors } = await run(folder, ['start'], { environment })
    t.equal(code, 1)
    t.equal(output, '', 'no password is shown of a gateway that has not started')
    t.notOk(existsSync(join(folder, 'config/accounts.yaml')), 'and there is no account')
    t.equal(
      errors,
      `dualgate: 127.0.0.1:${port} is in use by another program; stop it, or set another ${variable.toLowerCase().replace('__', '.')} (${variable})\n`,
    )
  }
})

t.test('an address that cannot be used is reported, with the setting to change', async t => {
  const folder = shippedFolder(t)
  const missing = join(folder, 'missing/internal.sock')
  const refused: [environment: Record<string, string>, fault: string][] = [
    [{ LISTEN__HOST: 'no host' }, 'this machine knows no host no host; set another listen.host (LISTEN__HOST)'],
    [{ INTERNAL__HOST: 'no host' }, 'this machine knows no host no host; set another internal.host (INTERNAL__HOST)'],
    [
      { INTERNAL__SOCKET: missing },
      `the folder of ${missing} does not exist; make it, or set another internal.socket (INTERNAL__SOCKET)`,
    ],
  ]
  for (const [environment, fault] of refused) {
    const { code, errors } = await run(folder, ['start'], { environment: { ...FREE_PORTS, ...environment } })
    t.equal(code, 1)
    t.equal(errors.split('\n').at(-2), `dualgate: ${fault}`, 'after warnings, if there are any')
  }
})

t.test('a second signal stops a busy gateway at once', async t => {
  const folder = shippedFolder(t)
  const idle = createServer(socket => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(idle, 'listening')
  t.teardown(() => idle.close())
  const { port } = idle.address() as { port: number }
  writeFileSync(
    join(folder, 'config/upstreams.yaml'),
    `upstreams: [{ name: a, match: /api, target: "http://127.0.0.1:${port}" }]\n`,
  )
  const gateway = await started(t, folder)
  const reached = once(idle, 'connection')
  const pending = call(gateway.public, { path: '/api/v1/public/b/slow' }).catch(() => null)
  await reached
  gateway.child.kill('SIGTERM')
  // Until it no longer accepts: from then on it waits for the request.
  while ((await call(gateway.public, { path: '/docs' }).catch(() => null)) !== null)
    await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(await exitOf(gateway, 'SIGTERM'), 1)
  await pending
})
