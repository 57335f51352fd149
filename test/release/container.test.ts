import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sm from 'sm-crypto'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { call } from '../support/client.ts'
import {
  buildImage,
  container,
  type Ended,
  IMAGE_ENVIRONMENT,
  instructionOf,
  runIn,
  STAGES,
  temporaryFolder,
  textOf,
} from '../support/image.ts'
import { freePort } from '../support/ports.ts'
import { type GatewayProcess, startGateway } from '../support/process.ts'
import { endProcess, redisCommand, spawnOn, withoutRedisServer } from '../support/redis-server.ts'
import { ROOT } from '../support/root.ts'
import { until } from '../support/until.ts'

/*
 * The image and the compose file, without an engine: what the compose file starts is started with its commands and its
 * environment; only the names and ports of its network are others.
 */

interface Service {
  entrypoint?: string[]
  command: string[]
  environment?: Record<string, string>
}
const SERVICES: Record<string, Service> = parse(textOf('docker-compose.yml').replaceAll('$$', '$'), {
  merge: true,
}).services
const GATEWAYS = Object.keys(SERVICES).filter(name => name.startsWith('gateway'))

const image = buildImage(t)

t.test('all sources of the image exist, and are included in the build', async t => {
  const letIn = textOf('.dockerignore').split('\n')
  const sources = STAGES.flat()
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
  t.ok(sources.length >= 8)
  for (const source of sources) {
    t.ok(existsSync(join(ROOT, source)), source)
    t.ok(letIn.includes(`!${source}`), `${source} is in .dockerignore`)
  }
})

t.test('the image can generate keys, and does not start without secrets', async t => {
  const folder = container(t, image, temporaryFolder(t, 'shared'))
  const entry = JSON.parse(instructionOf('ENTRYPOINT')) as string[]
  t.match(await runIn(folder, [...entry, 'keys', 'jwt']), { code: 0, printed: /^\S{64}\n$/ })
  const start = await runIn(folder, [...entry, ...JSON.parse(instructionOf('CMD'))])
  t.equal(start.code, 1)
  for (const name of ['JWT__SECRET_KEY', 'LOGIN__SM2__PRIVATE_KEY', 'INTERNAL__SECRET']) t.match(start.printed, name)
})

t.test('the image starts with the embedded store, and writes nothing but its volume', async t => {
  const folder = container(t, image, temporaryFolder(t, 'shared'))
  const entry = JSON.parse(instructionOf('ENTRYPOINT')) as string[]
  const key = async (kind: string): Promise<string> =>
    /^\S{64}$/m.exec((await runIn(folder, [...entry, 'keys', kind])).printed)![0]
  const secrets = {
    JWT__SECRET_KEY: await key('jwt'),
    INTERNAL__SECRET: await key('jwt'),
    LOGIN__SM2__PRIVATE_KEY: await key('sm2'),
  }
  const before = stateOf(image)
  const words = [...entry.slice(1), ...JSON.parse(instructionOf('CMD'))]
  const gateway = await startGateway(folder, { ...IMAGE_ENVIRONMENT, ...secrets, WORKERS: '2' }, words)
  t.teardown(() => gateway.end('SIGKILL'))
  t.match(gateway.output(), /password\W+\S+/i)
  t.ok(existsSync(join(folder, 'data/accounts.yaml')))
  t.equal(await gateway.end('SIGTERM'), 0)
  t.same(stateOf(image), before)
})

t.test('the image does not run as root', async t => {
  const [user, group] = instructionOf('USER').split(':').map(Number)
  t.ok(user! > 0 && group! > 0)
  const { runAsUser, runAsGroup } = parseAllDocuments(textOf('config/examples/kubernetes/dualgate.yaml'))
    .map(document => document.toJS())
    .find(({ kind }) => kind === 'Deployment').spec.template.spec.securityContext
  t.same([runAsUser, runAsGroup], [user, group], 'nor the pods')
})

t.test('the secrets of the compose file are generated once, readable only by their owner', async t => {
  const shared = temporaryFolder(t, 'shared')
  const folder = container(t, image, shared)
  const { entrypoint = [], command } = SERVICES.secrets!
  t.match(await runIn(folder, [...entrypoint, ...command]), { code: 0 })
  const file = join(shared, 'secrets.env')
  const made = readFileSync(file, 'utf8')
  const [, password] =
    /^JWT__SECRET_KEY=\S{64}\nINTERNAL__SECRET=\S{64}\nLOGIN__SM2__PRIVATE_KEY=[0-9a-f]{64}\nSTORE__REDIS__URL=redis:\/\/:([\w-]{64})@redis:6379\n$/.exec(
      made,
    )!
  t.equal(statSync(file).mode & 0o777, 0o600)
  const access = join(folder, 'redis/redis.conf')
  t.equal(readFileSync(access, 'utf8'), `requirepass ${password}\n`)
  t.equal(statSync(access).mode & 0o777, 0o644, 'Redis, another user, reads it')
  t.match(await runIn(folder, [...entrypoint, ...command]), { code: 0, printed: /^$/ })
  t.equal(readFileSync(file, 'utf8'), made)
  t.same(readdirSync(shared), ['secrets.env'])
  writeFileSync(file, made.replace(/^STORE__REDIS__URL=.*\n/m, ''))
  t.match(await runIn(folder, [...entrypoint, ...command]), { code: 0 })
  const completed = readFileSync(file, 'utf8')
  t.equal(completed.split('STORE__REDIS__URL=')[0], made.split('STORE__REDIS__URL=')[0], 'earlier secrets stay')
  t.match(completed, /\nSTORE__REDIS__URL=redis:/)
})

t.test('only the gateways can reach Redis of the compose file', async t => {
  const { services, networks } = parse(textOf('docker-compose.yml'), { merge: true })
  const inside = Object.keys(services).filter(name => services[name].networks?.includes('store'))
  t.same(inside.sort(), [...GATEWAYS, 'redis'].sort())
  t.same(services.redis.networks, ['store'])
  t.equal(networks.store.internal, true)
  t.notOk(services.redis.ports)
})

t.test('`secrets` fails on a read-only volume, and writes no partial file', async t => {
  const shared = temporaryFolder(t, 'shared')
  mkdirSync(join(shared, 'new.env'))
  const { entrypoint = [], command } = SERVICES.secrets!
  t.not((await runIn(container(t, image, shared), [...entrypoint, ...command])).code, 0)
  t.notOk(existsSync(join(shared, 'secrets.env')))
})

/** Where the names of the compose file's network are here. */
type Network = Record<string, string>

const within = (network: Network, text: string): string =>
  Object.entries(network).reduce((all, [from, to]) => all.replaceAll(from, to), text)

async function startBackend(t: Test): Promise<string> {
  const port = await freePort()
  const { command } = SERVICES.backend!
  const words = command.slice(1).map(word => word.replace('listen(3000)', `listen(${port}, '127.0.0.1')`))
  const child = spawn(process.execPath, words, { stdio: 'ignore' })
  t.teardown(() => endProcess(child))
  const url = `http://127.0.0.1:${port}`
  await until(() =>
    call(url, { path: '/' }).then(
      () => true,
      () => false,
    ),
  )
  return url
}

/** `access`: the folder of the volume with its password. */
async function startComposedRedis(t: Test, access: string): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder(t, 'redis')
  const command = SERVICES.redis!.command as unknown as string
  const words = command.replace('/access/', `${access}/`).split(' ').slice(1)
  const child: ChildProcess = await spawnOn(port, [
    ...words,
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
  ])
  t.teardown(() => endProcess(child))
  return port
}

const environmentOf = (name: string, network: Network): Record<string, string> =>
  Object.fromEntries(
    Object.entries(SERVICES[name]!.environment ?? {}).map(([key, value]) => [key, within(network, value)]),
  )

/** The command for another account, as Compose runs it: with the environment of the service, and without its entrypoint. */
function addComposed(folder: string, network: Network): Promise<Ended> {
  const [, name, words] = /^# +docker compose exec (\S+) (node .* account add .*)$/m.exec(textOf('docker-compose.yml'))!
  return runIn(folder, words!.split(' '), environmentOf(name!, network))
}

async function startComposed(t: Test, name: string, shared: string, network: Network): Promise<GatewayProcess> {
  const { entrypoint = [], command } = SERVICES[name]!
  const gateway = await startGateway(
    container(t, image, shared),
    { ...IMAGE_ENVIRONMENT, ...environmentOf(name, network), WORKERS: '2' },
    [...entrypoint.slice(1), ...command],
  )
  t.teardown(() => gateway.end('SIGKILL'))
  return gateway
}

/** Signs in with the captcha and the key of one gateway at another. */
async function signIn(
  asked: string,
  told: string,
  password: string,
  redis: { port: number; password: string },
): Promise<string> {
  const { captcha_id } = (await call(asked, { path: '/api/v1/public/b/captcha' })).json().data
  const captcha_value = await redisCommand(redis, 'GET', `svc:auth:BUSINESS:captcha:${captcha_id}`)
  const key = (await call(asked, { path: '/api/v1/public/b/sm2/public-key' })).json().data
  const encrypted = sm.sm2.doEncrypt(password, key, 1)
  const body = { captcha_id, captcha_value, username: 'admin', password: encrypted }
  return (await call(told, { method: 'POST', path: '/api/v1/public/b/login', body })).json().data.token
}

/** Every file and when it was written. */
const stateOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => !file.startsWith('node_modules'))
    .map(file => `${file} ${statSync(join(folder, file)).mtimeMs}`)

t.test(
  'the gateways of the compose file share captchas, logins, sessions and kickouts',
  { skip: withoutRedisServer },
  async t => {
    t.ok(GATEWAYS.length >= 2)
    const shared = temporaryFolder(t, 'shared')
    const { entrypoint = [], command } = SERVICES.secrets!
    const making = container(t, image, shared)
    t.match(await runIn(making, [...entrypoint, ...command]), { code: 0 })
    const port = await startComposedRedis(t, join(making, 'redis'))
    const backend = await startBackend(t)
    const network = { 'redis:6379': `127.0.0.1:${port}`, 'http://backend:3000': backend }
    const secrets = join(shared, 'secrets.env')
    writeFileSync(secrets, within(network, readFileSync(secrets, 'utf8')))
    const redis = { port, password: /:([\w-]+)@/.exec(readFileSync(secrets, 'utf8'))![1]! }
    await t.rejects(redisCommand(port, 'PING'), 'Redis serves no client without the password')
    t.equal(await redisCommand(redis, 'PING'), 'PONG')

    const before = stateOf(image)
    // All at once, as compose starts them: one makes the first account, and says so.
    const gateways = await Promise.all(GATEWAYS.map(name => startComposed(t, name, shared, network)))
    const passwords = gateways.flatMap(gateway => /password\W+(\S+)/i.exec(gateway.output())?.[1] ?? [])
    t.equal(passwords.length, 1, 'the password of the first account is shown once')
    const [first, second] = [gateways[0]!, gateways.at(-1)!]

    const token = await signIn(first.url, second.url, passwords[0]!, redis)
    const served = (await call(first.url, { path: '/api/v1/orders/7', token })).json()
    t.match(
      served,
      { url: '/api/v1/orders/7', headers: { 'x-login-type': 'BUSINESS' } },
      'the backend shows what it got',
    )
    t.notOk(served.headers.authorization)

    const user_id = served.headers['x-login-id']
    const kickout = { method: 'POST', path: '/api/v1/sys/session/exit', token, body: { user_id } }
    t.match((await call(second.url, kickout)).json(), { code: 200 })
    t.match((await call(first.url, { path: '/api/v1/orders/7', token })).json(), { code: 401 })

    const added = await addComposed(first.folder, network)
    t.match(added, { code: 0, printed: /^added jane with id \d+\npassword: \S+\n$/ })

    const [word, ...healthcheck] = JSON.parse(/CMD (\[.*\])$/.exec(instructionOf('HEALTHCHECK'))![1]!) as string[]
    const health = (port: string): Promise<Ended> =>
      runIn(first.folder, [word!, ...healthcheck], { INTERNAL__PORT: port })
    t.match(await health(new URL(first.internal).port), { code: 0 })
    t.match(await health(String(await freePort())), { code: 1 })

    for (const gateway of gateways) t.equal(await gateway.end('SIGTERM'), 0)
    t.same(stateOf(image), before, 'with a read-only root nothing is missing')
    t.same(readdirSync(shared).sort(), ['accounts.yaml', 'secrets.env'])
  },
)
