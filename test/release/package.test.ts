import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { publint } from 'publint'
import sm from 'sm-crypto'
import t from 'tap'
import { parse } from 'yaml'
import { systemClock } from '../../src/base/clock.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { call } from '../support/client.ts'
import { freshClone, startedBy } from '../support/clone.ts'
import { stagesOf, temporaryFolder } from '../support/image.ts'
import { ROOT } from '../support/root.ts'
import { blocksAt, runScript } from '../support/shell.ts'
import { PATIENCE } from '../support/until.ts'

/* The package as it is published: packed in a fresh clone and installed in an empty folder, with the commands of the README. */

const MINUTES = 60_000
t.setTimeout(9 * MINUTES)

interface Ended {
  code: number
  printed: string
}

async function run(folder: string, [program, ...words]: string[], environment = {}): Promise<Ended> {
  const env = { ...process.env, NODE_OPTIONS: '', ...environment }
  const child = spawn(program!, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, printed: output + errors }
}

/** A folder with nothing but the programs that these names stand for: no compiler, no make, no Python. */
function programs(names: string[]): string {
  const folder = temporaryFolder(t, 'programs')
  for (const name of names) {
    const found = process.env.PATH!.split(':').find(path => existsSync(join(path, name)))!
    symlinkSync(join(found, name), join(folder, name))
  }
  return folder
}

const source = freshClone(t)
symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'))
// Accounts of a developer, which must not be published.
for (const name of ['accounts.yaml', 'consumers.yaml']) writeFileSync(join(source, 'config', name), 'accounts: []\n')

/** The commands of the README, without the last one, which starts the gateway. */
const [INSTALL, CONFIGURE] = blocksAt('In a folder of your own')
const START = /^npx dualgate$/m
const PATH = programs(['node', 'npm', 'npx', 'sh', 'bash', 'env', 'mkdir'])
const installed = await run(source, ['bash', '-euc', INSTALL!.replace(START, '')], {
  PATH,
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
})
const place = join(source, '../gateway')
if (installed.code !== 0) throw new Error(installed.printed)
const tarball = join(place, readdirSync(place).find(name => name.endsWith('.tgz'))!)
const root = join(place, 'node_modules/dualgate')

t.test('the package installs in an empty folder, without compilers and without a warning of an engine', async t => {
  t.equal(installed.code, 0, installed.printed)
  t.match(installed.printed, /^added \d+ packages/m)
  t.comment(/^added .*$/m.exec(installed.printed)![0])
  t.notMatch(installed.printed, /EBADENGINE|deprecated|ERESOLVE/)
  const { scripts, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) t.notOk(name in scripts, name)
  for (const version of Object.values({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    t.match(version, /^\d+\.\d+\.\d+$/, 'an exact version')
})

t.test('the package has the program, configuration, types and licences, and nothing private or unused', async t => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const config = files.filter(name => name.startsWith('config/')).map(name => basename(name))
  for (const name of ['gateway.yaml', 'upstreams.yaml', 'permissions.yaml', 'gateway.schema.json', 'examples'])
    t.ok(config.includes(name), name)
  for (const name of [
    'LICENSE',
    'README.md',
    'dist/bundle/LICENSES',
    'dist/types/index.d.ts',
    'dist/types/client.d.ts',
  ])
    t.ok(files.includes(name), name)
  const unwanted =
    /^(?:src|test|\.build|node_modules)(?:\/|$)|(?:accounts|consumers)\.yaml$|\.(?:cache|secret|key|env|tgz)$/
  t.same(
    files.filter(name => unwanted.test(name)),
    [],
  )
})

t.test('every source map of the package is there, with its sources', async t => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const maps = files.filter(name => name.endsWith('.map'))
  t.same(maps, ['dist/bundle/gateway.cjs.map'])
  for (const name of maps) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(root, name), 'utf8'))
    t.ok(sources.length > 100)
    t.equal(sourcesContent.filter((content: unknown) => typeof content === 'string').length, sources.length)
  }
  const named = files.filter(
    name => /\.c?js$/.test(name) && /^\/\/# sourceMappingURL=/m.test(readFileSync(join(root, name), 'utf8')),
  )
  t.same(named, [])
})

t.test('publint and attw find nothing', async t => {
  const { messages } = await publint({ pack: { tarball: readFileSync(tarball).buffer }, strict: true })
  t.same(messages, [])
  // The package has modules only; a program in CommonJS imports it.
  const words = ['--profile', 'esm-only', '--no-emoji', '--no-color', tarball]
  const attw = await run(place, [join(ROOT, 'node_modules/.bin/attw'), ...words])
  t.equal(attw.code, 0, attw.printed)
  t.match(attw.printed, /node16 \(from ESM\) │ OK \(ESM\) +│ OK \(ESM\) /)
  t.match(attw.printed, /bundler +│ OK +│ OK /)
})

const PROGRAM = `
import { business, createGateway, createPermissions, loadSettings, Refusal, type Extra, type Gateway, type Settings } from 'dualgate'
import { createClient, OperationError, type Client } from 'dualgate/client'

const settings: Settings = loadSettings(undefined, process.env, '.')
const port: number = settings.listen.port
const kind: 'embedded' | 'redis' = settings.store.kind
// @ts-expect-error: there is no such kind.
settings.store.kind = 'memory'
const gateway: Gateway = await createGateway(settings)
const extra: Extra = { nickname: 'Ann' }
const token: string = await business.login(undefined, '7', extra)
const id: string = await gateway.sides.consumer.getLoginId({ headers: {} })
// @ts-expect-error: a token is a text.
await business.kickoutToken('7', 7)
const client: Client = createClient({ url: 'http://127.0.0.1:8081', secret: settings.internal.secret })
const names: string[] = await client.consumer.getTokenValuesByLoginId('42')
const seconds: number = await client.business.getTokenTimeout(token)
try {
  createPermissions({ operator: ['sys:session:page'] })
} catch (fault) {
  if (fault instanceof Refusal) console.log(fault.reason)
  if (fault instanceof OperationError) console.log(fault.code)
}
console.log(port, kind, id, names, seconds)
`

t.test('a strict TypeScript project compiles against the package', async t => {
  const project = join(place, 'project')
  mkdirSync(join(project, 'node_modules/@types'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'))
  writeFileSync(join(project, 'program.mts'), PROGRAM)
  const require = createRequire(import.meta.url)
  // Either version of the compiler, with the way in which each finds modules.
  for (const [version, module, moduleResolution] of [
    ['typescript-5', 'nodenext', 'nodenext'],
    ['typescript', 'esnext', 'bundler'],
  ]) {
    const compiler = join(dirname(require.resolve(`${version}/package.json`)), 'bin/tsc')
    const options = ['--strict', '--noEmit', '--target', 'es2023', '--exactOptionalPropertyTypes', '--types', 'node']
    const modules = ['--module', module!, '--moduleResolution', moduleResolution!]
    const { code, printed } = await run(project, [process.execPath, compiler, ...options, ...modules, 'program.mts'])
    t.equal(code, 0, `${moduleResolution}: ${printed}`)
  }
})

/** The answer of a captcha, which only the store knows; it stays there. */
async function answerOf(captchaId: string): Promise<string> {
  const store = await openEmbeddedStore(join(place, 'data'), systemClock, PATIENCE)
  try {
    const answer = (await store.captchas.take('BUSINESS', captchaId))!
    await store.captchas.put('BUSINESS', captchaId, answer, systemClock.now() + MINUTES)
    return answer
  } finally {
    await store.close()
  }
}

async function signIn(url: string, password: string): Promise<{ token: string; cipher: string }> {
  const post = async (path: string, body?: object): Promise<any> =>
    (await call(url, { method: body === undefined ? 'GET' : 'POST', path: `/api/v1/public/b/${path}`, body })).json()
      .data
  const { captcha_id } = await post('captcha')
  const cipher = sm.sm2.doEncrypt(password, await post('sm2/public-key'), 1)
  const captcha_value = await answerOf(captcha_id)
  const { token } = await post('login', { captcha_id, captcha_value, username: 'admin', password: cipher })
  return { token, cipher }
}

t.test('`npx dualgate` in that folder starts; after `init` and `reload` it forwards to an own backend', async t => {
  const began = systemClock.now()
  const gateway = await startedBy(t, {
    folder: place,
    script: START.exec(INSTALL!)![0],
    environment: { PATH, WORKERS: '2' },
    last: /^next: npx dualgate init /m,
  })
  t.comment(`up after ${systemClock.now() - began} ms`)
  const { url } = gateway
  const { token, cipher } = await signIn(url, /password: (\S+)/.exec(gateway.output())![1]!)
  const { method, headers } = (await call(url, { path: '/api/v1/orders/7', token })).json()
  t.equal(method, 'GET')
  t.match(headers, { 'x-login-type': 'BUSINESS', 'x-login-id': /^\d+$/ })
  t.equal((await call(url, { path: '/api/v1/orders/7' })).json().code, 401)
  t.equal((await call(url, { path: '/docs' })).status, 200)
  // Its libraries are loaded now, and are in the package.
  const post = async (name: string, body: object) =>
    (await call(url, { method: 'POST', path: `/api/v1/b/account/second-factor/${name}`, token, body })).json().data
  const { secret, qr } = await post('setup', { current_password: cipher })
  t.match(qr, /^data:image\/png;base64,/)
  t.equal((await post('confirm', { code: codeAt(secret, systemClock.now()) })).recovery_codes.length, 10)
  await runScript(t, gateway, blocksAt('See it work').join('\n'))

  const program = [join(PATH, 'npx'), 'dualgate']
  t.match(await run(place, [...program, 'init'], { PATH }), {
    code: 0,
    printed: /^then: npx dualgate check && npx dualgate reload$/m,
  })
  const backend = createServer((_request, response) => response.end('an own backend')).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  t.teardown(() => backend.close())
  const { port } = backend.address() as AddressInfo
  writeFileSync(
    join(place, 'config/upstreams.yaml'),
    `upstreams:\n  - { name: own, match: /api/v1, target: "http://127.0.0.1:${port}" }\n`,
  )
  t.match(await run(place, [...program, 'reload'], { PATH }), {
    code: 0,
    printed: /^reloaded config\/gateway\.yaml: \d+ new workers? answers?$/m,
  })
  t.equal((await call(url, { path: '/api/v1/orders/7', token })).text, 'an own backend', 'the session goes on')
  for (const name of ['config', '.env', 'docker-compose.yml']) rmSync(join(place, name), { recursive: true })
  await gateway.end()
})

t.test('`npx dualgate init` writes a configuration there that passes the check', async t => {
  const { code, printed } = await run(place, ['bash', '-euc', CONFIGURE!], { PATH })
  t.equal(code, 0, printed)
  t.match(printed, /^wrote config\/gateway\.yaml$/m)
  t.match(printed, /^next: .*\nthen: npx dualgate check && npx dualgate start$/m, 'nothing else is needed')
  t.match(printed, /^ok\n/m)
})

t.test('a program that npx has installed for one command names the package by which npx finds it again', async t => {
  const manifest = join(place, 'package.json')
  const before = readFileSync(manifest, 'utf8')
  const note = (packages: string[]): void =>
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(before), _npx: { packages } }))
  const init = (): Promise<Ended> => run(place, ['node', join(root, 'dist/main.js'), 'init'], { npm_command: 'exec' })
  note([`./${basename(tarball)}`])
  t.match((await init()).printed, `then: npx ${tarball} check && npx ${tarball} start\n`)
  note(['dualgate@next'])
  t.match((await init()).printed, 'then: npx dualgate@next check && npx dualgate@next start\n')
  writeFileSync(manifest, before)
})

t.test('the image of the compose file needs the package beside it, and nothing published', async t => {
  const { dockerfile_inline } = parse(readFileSync(join(place, 'docker-compose.yml'), 'utf8')).services.gateway.build
  // .ci/image-steps runs them.
  const steps = stagesOf(dockerfile_inline).flat()
  const [copied] = steps.filter(({ name }) => name === 'COPY')
  t.equal(copied!.rest, `${basename(tarball)} /tmp/`)
  t.match(steps.find(({ rest }) => rest.startsWith('npm install'))!.rest, new RegExp(` /tmp/${basename(tarball)}$`))
})

t.test('the package lists what is installed with it and what is in its files, the same in each pack', async t => {
  const { components, metadata, serialNumber } = JSON.parse(readFileSync(join(root, 'dist/sbom.json'), 'utf8'))
  const names = components.map(({ name }: { name: string }) => name)
  for (const name of ['fastify', 'bcrypt', 'lmdb', 'ioredis', 'pg', 'swagger-ui-dist']) t.ok(names.includes(name), name)
  for (const name of ['tap', 'esbuild', 'typescript']) t.notOk(names.includes(name), name)
  t.equal(metadata.component.name, 'dualgate')
  t.same([metadata.timestamp, serialNumber], [undefined, undefined])
  const again = await run(source, [process.execPath, '.build/sbom.mjs'])
  // npm may print warnings after it.
  t.ok(again.printed.startsWith(readFileSync(join(root, 'dist/sbom.json'), 'utf8')))
})

t.test(
  'without the optional packages the embedded store says what is missing, and Redis is named as another way',
  async t => {
    const folder = temporaryFolder(t, 'omitted')
    const words = ['npm', 'install', '--omit=optional', '--prefer-offline', '--no-audit', '--no-fund', tarball]
    t.match(await run(folder, words), { code: 0 })
    for (const WORKERS of ['1', '2']) {
      const environment = { WORKERS, LISTEN__PORT: '0', INTERNAL__PORT: '0' }
      const { code, printed } = await run(folder, ['node', 'node_modules/dualgate/dist/main.js'], environment)
      t.equal(code, 1)
      t.match(
        printed,
        /cannot start: .*needs the package @lmdb\/\S+, which is not installed; .*--omit=optional.*redis$/m,
      )
      t.notMatch(printed, /^ +at /m)
    }
  },
)

const EMBEDDED = `
import { business, createGateway, loadSettings, Refusal } from 'dualgate'
const before = Error.prepareStackTrace
const settings = loadSettings(undefined, { LISTEN__PORT: '0', INTERNAL__PORT: '0', DATA: 'embedded', LOG__LEVEL: 'silent' }, '.')
const gateway = await createGateway(settings)
const { public: url } = await gateway.listen()
const token = await business.login(undefined, '7', {})
const { code } = await (await fetch(url + '/api/v1/b/x', { headers: { authorization: token } })).json()
const refused = await business.disable('7', -1).catch(fault => fault instanceof Refusal)
await gateway.close()
console.log(JSON.stringify({ code, refused, same: before === Error.prepareStackTrace }))
`

t.test('a program that embeds the gateway needs only the installed packages', async t => {
  const { code, printed } = await run(place, ['node', '--input-type=module', '--eval', EMBEDDED], { PATH })
  t.equal(code, 0, printed)
  t.same(JSON.parse(printed), { code: 404, refused: true, same: true })
})
