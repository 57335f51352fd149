import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { SECRETS } from '../../src/settings/secrets.ts'
import { run } from '../support/command-line.ts'
import { limitFiles, withoutFullDisk } from '../support/full-disk.ts'
import { temporaryFolder } from '../support/image.ts'
import { startGateway } from '../support/process.ts'
import { ROOT } from '../support/root.ts'

const MAIN = join(ROOT, 'dist/main.js')
const WRITTEN = [
  '.env',
  'config/gateway.schema.json',
  'config/gateway.yaml',
  'config/permissions.yaml',
  'config/upstreams.yaml',
  'docker-compose.yml',
]

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => statSync(join(folder, name)).isFile())
    .sort()

t.test('init writes the shipped configuration, a compose file and secrets', async t => {
  const folder = temporaryFolder(t, 'init')
  const { code, output } = await run(folder, ['init'])
  t.equal(code, 0)
  t.same(filesIn(folder), WRITTEN)
  for (const name of WRITTEN) t.match(output, new RegExp(`^wrote ${name}$`, 'm'))
  t.match(output, /^next: name your backends in config\/upstreams\.yaml\nthen: dualgate check && dualgate start\n/m)
  for (const name of WRITTEN.filter(name => name.startsWith('config/')))
    t.equal(readFileSync(join(folder, name), 'utf8'), readFileSync(join(ROOT, name), 'utf8'))
  t.equal(statSync(join(folder, '.env')).mode & 0o777, 0o600)
})

t.test('the secrets of init are valid, and others each time', async t => {
  const folder = temporaryFolder(t, 'init')
  await run(folder, ['init', 'a'])
  const { output } = await run(folder, ['init', 'b'])
  t.match(output, /^then: cd b && dualgate check/m)
  const [a, b] = ['a', 'b'].map(name => parseEnv(readFileSync(join(folder, name, '.env'), 'utf8')))
  for (const { variable, faultOf } of Object.values(SECRETS)) {
    t.equal(faultOf(a![variable]!), null)
    t.not(a![variable], b![variable])
    t.notMatch(output, b![variable]!)
  }
})

t.test('init names a folder of any name so that a shell finds it', async t => {
  const folder = temporaryFolder(t, 'init')
  for (const name of ['a b', "it's; echo $HOME", '数据']) {
    const { output } = await run(folder, ['init', name])
    const [, command] = /^then: (cd .*) && dualgate check && /m.exec(output)!
    const found = execFileSync('sh', ['-c', `${command} && pwd`], { cwd: folder, encoding: 'utf8' })
    t.equal(found, `${realpathSync(join(folder, name))}\n`)
  }
})

t.test('init replaces nothing', async t => {
  const folder = temporaryFolder(t, 'init')
  mkdirSync(join(folder, 'config'))
  const own = ['.env', 'config/gateway.yaml', 'docker-compose.yml']
  for (const name of own) writeFileSync(join(folder, name), 'mine\n')
  const { code, output } = await run(folder, ['init'])
  t.equal(code, 0)
  t.same(filesIn(folder), WRITTEN)
  for (const name of own) {
    t.equal(readFileSync(join(folder, name), 'utf8'), 'mine\n')
    t.match(output, `kept  ${name}, which exists\n`)
  }
})

t.test('init leaves accounts where a gateway has them', async t => {
  const folder = temporaryFolder(t, 'init')
  const place = () => parseEnv(readFileSync(join(folder, '.env'), 'utf8')).ACCOUNTS__PATH
  await run(folder, ['init'])
  t.equal(place(), 'data/accounts.yaml')
  rmSync(join(folder, '.env'))
  await run(folder, ['account', 'add', 'jane'])
  t.ok(existsSync(join(folder, 'config/accounts.yaml')))

  await run(folder, ['init'])
  t.equal(place(), undefined)
  t.match((await run(folder, ['account', 'list'])).output, /^jane /m)

  rmSync(join(folder, '.env'))
  mkdirSync(join(folder, 'data'), { recursive: true })
  writeFileSync(join(folder, 'data/accounts.yaml'), 'accounts: []\n')
  await run(folder, ['init'])
  t.equal(place(), 'data/accounts.yaml', 'as an earlier .env has said')
})

t.test(
  'init leaves no part of a file where the disk was full, and completes it later',
  { skip: withoutFullDisk },
  async t => {
    const folder = temporaryFolder(t, 'init')
    t.teardown(() => limitFiles('unlimited'))
    limitFiles(1000)
    const { code, errors } = await run(folder, ['init'])
    limitFiles('unlimited')
    t.equal(code, 1)
    t.match(errors, 'EFBIG')
    t.same(filesIn(folder), [])
    t.equal((await run(folder, ['init'])).code, 0)
    for (const name of WRITTEN.filter(name => name.startsWith('config/')))
      t.equal(readFileSync(join(folder, name), 'utf8'), readFileSync(join(ROOT, name), 'utf8'))
  },
)

t.test('what init wrote passes the check and starts, in production too', async t => {
  const folder = temporaryFolder(t, 'init')
  await run(folder, ['init'])
  for (const environment of [{}, { NODE_ENV: 'production' }]) {
    t.match(await run(folder, ['check'], { environment }), { code: 0, errors: '' })
    const gateway = await startGateway(folder, { ...environment, WORKERS: '1' }, [MAIN, 'start'])
    t.teardown(() => gateway.end('SIGKILL'))
    t.equal((await fetch(`${gateway.url}/api/v1/public/c/x`)).status, 200)
    t.equal(await gateway.end('SIGTERM'), 0)
  }
  t.same(
    readdirSync(join(folder, 'data')).filter(name => /secret|key/.test(name)),
    [],
    'no secret was generated',
  )
})

t.test('the compose file of init runs this version with what init wrote', async t => {
  const folder = temporaryFolder(t, 'init')
  const { output } = await run(folder, ['init'])
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { services, volumes } = parse(readFileSync(join(folder, 'docker-compose.yml'), 'utf8'))
  const { build, command, environment, env_file, volumes: mounts, healthcheck } = services.gateway
  const tarball = `dualgate-${version}.tgz`
  t.match(build.dockerfile_inline, `COPY ${tarball} /tmp/\nRUN npm install `)
  t.match(output, `\ndocker-compose.yml needs ${tarball}: \`npm pack\``, 'init names what is missing')
  writeFileSync(join(folder, tarball), '')
  t.notMatch((await run(folder, ['init'])).output, tarball)
  t.match(build.dockerfile_inline, /^WORKDIR \/app$/m)
  t.match(build.dockerfile_inline, /^USER node$/m)
  t.equal(env_file, '.env')
  for (const mount of mounts) {
    const [source, target] = mount.split(':')
    t.ok(source.startsWith('./') ? statSync(join(folder, source)).isDirectory() : source in volumes, mount)
    t.match(target, /^\/app\/(?:config|data)$/)
  }
  t.equal(command[0], 'dualgate')
  const gateway = await startGateway(folder, { ...environment, WORKERS: '1' }, [MAIN, ...command.slice(1)])
  t.teardown(() => gateway.end('SIGKILL'))
  t.match(healthcheck.test.at(-1), '127.0.0.1:8081/livez')
  t.equal((await fetch(`${gateway.internal}/livez`)).status, 200)
  t.equal(await gateway.end('SIGTERM'), 0)
})
