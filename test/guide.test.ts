import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { sealingKey } from '../src/second-factor/sealed.ts'
import { asKey, makeKey, partsOf } from '../src/token/key-form.ts'
import { otherProgram } from './beside/other-program.ts'
import { GOOD_KEY } from './settings/folder.ts'
import { call } from './support/client.ts'
import { run, shippedFolder } from './support/command-line.ts'
import { blocksOf, GUIDE, README } from './support/documents.ts'
import type { GatewayProcess } from './support/process.ts'
import { startRedis, withoutRedisServer } from './support/redis-server.ts'
import { ROOT } from './support/root.ts'
import { blocksAt, COMMANDS, initiated, installedFolder, runScript, startedIn } from './support/shell.ts'
import { startUpstream } from './support/upstream.ts'

/* The commands of the guide (config/README.md), each run as it stands; and none of the documents is left out unnamed. */

const HEADINGS = [...new Set(COMMANDS.map(({ heading }) => heading))]

/** The blocks that are not run, by what is in them. */
const NOT_RUN: readonly { text: RegExp; reason: string }[] = [
  { text: /^docker compose up$/m, reason: 'needs Docker; release/container.test.ts runs what the file starts' },
]
/** The tasks with a test of their own: in readme.test.ts and release/package.test.ts, and below. */
const APART = [
  'dualgate',
  'See it work',
  'In a folder of your own',
  'Protect a web application',
  'Sign in with the company: OpenID Connect',
  'Sign administrators in',
  'Finish a login in steps',
  'Let a program in',
  'Move to Redis',
  'Move in from a compatible service',
  'Rotate a secret',
  'Back up and restore',
]

const runnable = (heading: string): string[] =>
  blocksAt(heading).filter(block => !NOT_RUN.some(({ text }) => text.test(block)))

t.test('every command of the documents is run, or has a reason why it is not', async t => {
  for (const heading of APART) t.ok(blocksAt(heading).length > 0, `${heading} has commands`)
  for (const { text, reason } of NOT_RUN) {
    t.equal(COMMANDS.filter(block => text.test(block.text)).length, 1, `one block: ${reason}`)
  }
  t.ok(HEADINGS.length >= 14)
})

t.test('every block of the documents but the picture names its language', async t => {
  const nameless = [README, GUIDE].flatMap(blocksOf).filter(({ language }) => language === '')
  t.same(
    nameless.map(({ heading }) => heading),
    ['The way of a request'],
  )
})

t.test('every npm command of the documents is a script of the package', async t => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const own = new Set([...Object.keys(scripts), 'ci', 'install', 'pack'])
  const named = COMMANDS.flatMap(({ text }) => [...text.matchAll(/\bnpm (?:run )?([\w-]+)/g)].map(([, name]) => name!))
  t.same(
    named.filter(name => !own.has(name)),
    [],
  )
  t.ok(named.length > 0)
})

/** A block of YAML in the file that it names, as the guide says: it replaces the settings of its names, or is one more upstream. */
function inFile(text: string, folder: string): void {
  const [, file, block] = /^# (config\/(?:gateway|upstreams)\.yaml)\n([\s\S]*)$/.exec(text)!
  const path = join(folder, file!)
  const keys = block!.match(/^\w+(?=:)/gm) ?? []
  const others = keys.reduce(
    (shipped, key) => shipped.replace(new RegExp(`^${key}:.*\\n(?:[ ].*\\n|\\n)*`, 'm'), ''),
    readFileSync(path, 'utf8'),
  )
  writeFileSync(path, others + block)
}

/** The blocks of YAML in the guide. */
const SETTINGS = blocksOf(GUIDE).filter(({ language }) => language === 'yaml')

t.test('each block of YAML in the guide is valid in the file that it names', async t => {
  t.ok(SETTINGS.length >= 10)
  for (const { heading, text } of SETTINGS) {
    const folder = shippedFolder(t)
    inFile(text, folder)
    const { code, errors } = await run(folder, ['check'])
    // The certificate and its key are the operator's.
    if (heading === 'Serve HTTPS')
      t.match(
        errors,
        /^config\S+ listen\.tls: \S+tls\.crt no such .*\nconfig\S+ listen\.tls: \S+tls\.key no such .*\n2 faults /,
      )
    else t.equal(code, 0, `${heading}: ${errors}`)
  }
})

/** The token of a session that a backend has begun. */
async function signedIn(gateway: GatewayProcess, side: 'business' | 'consumer', body: object): Promise<string> {
  const secret = parseEnv(readFileSync(join(gateway.folder, '.env'), 'utf8')).INTERNAL__SECRET!
  const login = { method: 'POST', path: `/operations/v1/${side}/login`, token: secret, body }
  return (await call(gateway.internal, login)).json().data.token
}

/** A session of the C side, and whether it is accepted. */
async function session(gateway: GatewayProcess) {
  const token = await signedIn(gateway, 'consumer', { user_id: '42' })
  return async (by = gateway) => (await call(by.url, { path: '/api/v1/c/x', token })).json().code !== 401
}

t.test('the commands of the guide, in their order and in one shell', async t => {
  const tasks = HEADINGS.filter(heading => !APART.includes(heading) && runnable(heading).length > 0)
  t.ok(tasks.length >= 10)
  await runScript(t, await initiated(t), tasks.flatMap(runnable).join('\n'))
})

t.test('the web application of the guide gets people who have signed in, and leads others to the sign-in', async t => {
  const application = await startUpstream()
  t.teardown(() => application.close())
  const gateway = await initiated(t)
  const heading = 'Protect a web application'
  const [page, upstream] = SETTINGS.filter(block => block.heading === heading).map(({ text }) => text)
  inFile(page!, gateway.folder)
  inFile(upstream!.replace('http://127.0.0.1:3000', application.url), gateway.folder)
  await runScript(t, gateway, blocksAt(heading).join('\n'))
  t.equal(application.requests.length, 0)
  const token = await signedIn(gateway, 'business', { user_id: '1', extra: { username: 'ann' } })
  const { status } = await call(gateway.url, {
    path: '/wiki/start',
    headers: { cookie: `a=1; __Host-dualgate-b=${token}` },
  })
  t.equal(status, 200)
  t.match(application.requests.at(-1)?.headers, { 'x-login-id': '1', 'x-webauth-user': 'ann', cookie: /^a=1$/ })
})

t.test('the provider of the guide signs in the user of its example', async t => {
  const heading = 'Sign in with the company: OpenID Connect'
  const gateway = await initiated(t)
  const [settings] = SETTINGS.filter(block => block.heading === heading)
  inFile(settings!.text, gateway.folder)
  await runScript(t, gateway, blocksAt(heading).join('\n'))
})

/** Commands in the folder of a gateway that does not run. */
const NOWHERE = { url: 'http://127.0.0.1:1', internal: 'http://127.0.0.1:1' }

t.test('the guide leads from an empty folder to a job with a key of its own', async t => {
  const heading = 'Let a program in'
  const folder = installedFolder(t)
  await runScript(t, { folder, ...NOWHERE }, blocksAt('Write a configuration').join('\n'))
  for (const { text } of SETTINGS.filter(block => block.heading === heading)) inFile(text, folder)
  const gateway = await startedIn(t, folder)
  await runScript(t, gateway, blocksAt(heading).join('\n'))

  const [line] = blocksOf(GUIDE).filter(block => block.heading === heading && block.language === 'crontab')
  const [, command] = /^(?:\S+ ){5} *(.*)\n$/.exec(line!.text)!
  t.notMatch(command, /%/, 'which cron reads as the end of a line')
  /** The job, at another time than at night; answers its exit code. */
  const job = (header: string): number | null =>
    spawnSync(
      'sh',
      [
        '-c',
        command!
          .replace('http://localhost:8080', gateway.url)
          .replace('/etc/nightly.header', join(folder, header))
          .replace('/var/tmp/', `${folder}/`),
      ],
      { encoding: 'utf8' },
    ).status
  t.equal(job('nightly.header'), 0)
  const { method, url, headers } = JSON.parse(readFileSync(join(folder, 'today.json'), 'utf8'))
  const key = readFileSync(join(folder, 'nightly.key'), 'utf8').trim()
  t.match({ method, url, headers }, { method: 'GET', url: '/api/v1/reports/today', headers: { 'x-login-key': /./ } })
  t.equal(headers['x-login-key'], partsOf(asKey(key)!).id)
  writeFileSync(join(folder, 'wrong.header'), `Authorization: Bearer ${makeKey('BUSINESS').key}\n`)
  t.equal(job('wrong.header'), 22, 'curl says that the key was refused')
  for (const file of ['nightly.key', 'nightly.header']) t.equal(statSync(join(folder, file)).mode & 0o077, 0, file)
  const known = readdirSync(folder).filter(file => !file.startsWith('nightly.') && file !== '.answers')
  for (const file of known.filter(file => statSync(join(folder, file)).isFile()))
    t.notMatch(readFileSync(join(folder, file), 'latin1'), key, file)
})

t.test('a gateway that moves to Redis keeps new sessions there', { skip: withoutRedisServer }, async t => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const gateway = await initiated(t)
  await runScript(t, gateway, blocksAt('Move to Redis').join('\n'), {
    'redis-cli ': `redis-cli -p ${redis.port} `,
    'redis://127.0.0.1:6379': redis.url,
  })
  const isAccepted = await session(gateway)
  t.ok(await isAccepted())
  t.match(await redis.cli('KEYS', 'svc:auth:CONSUMER:token:*'), /^svc:auth:/)
  await redis.cli('FLUSHALL')
  t.notOk(await isAccepted(), 'the sessions are there and nowhere else')
})

t.test('a gateway finds the sessions of the service that it adopts', { skip: withoutRedisServer }, async t => {
  const redis = await startRedis()
  const service = await startUpstream()
  t.teardown(() => Promise.all([redis.stop(), service.close()]))
  const other = otherProgram(redis, GOOD_KEY)
  const tokens = [await other.signIn('1'), await other.signIn('42', { type: 'CONSUMER' })]
  const gateway = await initiated(t)
  const settings = { REDIS__URL: redis.url, JWT__SECRET_KEY: GOOD_KEY, APP__HOST: '127.0.0.1', APP__PORT: service.port }
  const lines = Object.entries(settings).map(line => line.join('='))
  writeFileSync(join(gateway.folder, 'service.env'), lines.join('\n'))
  await runScript(t, gateway, blocksAt('Move in from a compatible service').join('\n'), {
    '../shop/.env': 'service.env',
  })
  const adopted = await startedIn(t, join(gateway.folder, 'gateway'))
  for (const [path, token] of [
    ['/api/v1/orders', tokens[0]!],
    ['/api/v1/c/cart', tokens[1]!],
  ] as const) {
    t.equal((await call(adopted.url, { path, token })).status, 200)
    t.equal(service.requests.at(-1)?.url, path)
  }
})

t.test('a new secret of the tokens ends every session, without a restart', async t => {
  const gateway = await initiated(t)
  const isAccepted = await session(gateway)
  t.ok(await isAccepted())
  await runScript(t, gateway, blocksAt('Rotate a secret').join('\n'))
  t.notOk(await isAccepted())
  t.ok(await (await session(gateway))())
  t.equal(readFileSync(join(gateway.folder, '.env'), 'utf8').match(/^JWT__SECRET_KEY=\S{64}$/gm)?.length, 1)
  const { LOGIN__SM2__PRIVATE_KEY, LOGIN__SECOND_FACTOR__KEY } = parseEnv(
    readFileSync(join(gateway.folder, '.env'), 'utf8'),
  )
  t.equal(LOGIN__SECOND_FACTOR__KEY, sealingKey(undefined, LOGIN__SM2__PRIVATE_KEY!).toString('hex'))
})

t.test('a rotation whose command cannot be called changes no secret', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-uncalled-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const secrets = `JWT__SECRET_KEY=${GOOD_KEY}\n`
  writeFileSync(join(folder, '.env'), secrets)
  const [rotation, sealing] = blocksAt('Rotate a secret')
  for (const script of [rotation!, sealing!]) {
    const { status } = spawnSync('bash', ['-c', script], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    })
    t.not(status, 0)
    t.equal(readFileSync(join(folder, '.env'), 'utf8'), secrets)
  }
})

t.test('a copy of a stopped gateway continues its sessions and its keys elsewhere', async t => {
  const gateway = await initiated(t)
  const isAccepted = await session(gateway)
  const { output } = await run(gateway.folder, ['key', 'add', 'admin'])
  const [key] = /dgb_\w+/.exec(output)!
  await gateway.end('SIGTERM')
  const [backup, restore] = blocksAt('Back up and restore')
  await runScript(t, gateway, backup!)
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-restored-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await runScript(t, { ...gateway, folder }, restore!, { 'backup.tar.gz': join(gateway.folder, 'backup.tar.gz') })
  const copy = await startedIn(t, folder)
  t.ok(await isAccepted(copy))
  t.match((await call(copy.url, { path: '/api/v1/x', token: key })).json().headers, { 'x-login-key': /./ })
})
