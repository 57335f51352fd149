import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { call } from './support/client.ts'
import { run, shippedFolder } from './support/command-line.ts'
import { runIn, temporaryFolder, textOf } from './support/image.ts'
import { startGateway } from './support/process.ts'
import { ROOT } from './support/root.ts'

/* The unit for systemd and the manifest for Kubernetes, as far as they go without either. */

const UNIT = textOf('config/dualgate.service')
const unit = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(UNIT)![1]!

/** Texts with the unit's folders elsewhere, and what its comment says to do first, done. */
function installed(t: Test): (text: string) => string {
  const place = temporaryFolder(t, 'unit')
  const here = (text: string): string =>
    text
      .replaceAll('/opt/dualgate', ROOT)
      .replaceAll('/etc/dualgate', join(place, 'etc'))
      .replaceAll('/var/lib/dualgate', join(place, 'state'))
      .replaceAll('/usr/bin/node', process.execPath)
  mkdirSync(join(place, 'state'), { mode: 0o700 })
  const commands = UNIT.match(/^# {3}(?:install|echo) .*$/gm)!.map(line => here(line.slice(4)))
  const script = commands.join('\n')
  const { status, stderr } = spawnSync('bash', ['-euc', script], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
  return here
}

/** A line of variables, as systemd reads them. */
const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(/\s+/).flatMap(pair => (pair === '' ? [] : [/^([^=]+)=(.*)$/.exec(pair)!.slice(1)])))

t.test('the unit starts the gateway with the secrets from its comment, and reloads it', async t => {
  const here = installed(t)
  const secrets = here(unit('EnvironmentFile'))
  t.equal(statSync(secrets).mode & 0o777, 0o600)
  const environment = {
    ...variablesOf(here(unit('Environment'))),
    ...variablesOf(readFileSync(secrets, 'utf8')),
    WORKERS: '2',
  }
  const folder = here(unit('WorkingDirectory'))
  const wordsOf = (key: string): string[] => here(unit(key)).split(' ').slice(1)
  const gateway = await startGateway(folder, environment, wordsOf('ExecStart'))
  t.teardown(() => gateway.end('SIGKILL'))
  t.match(gateway.output(), /password: \S+/)
  t.equal((await call(gateway.internal, { path: '/readyz' })).status, 200)
  t.match(await runIn(folder, ['node', ...wordsOf('ExecReload')], environment), { code: 0, printed: /^reloaded/ })
  const account = /env --chdir=\S+ (ACCOUNTS__PATH=\S+) \\\n#\s+node (.*)$/m.exec(UNIT)!
  const added = await runIn(folder, ['node', ...here(account[2]!).split(' ')], variablesOf(account[1]!))
  t.match(added, { code: 0, printed: /^added jane/ })
  t.equal(await gateway.end('SIGTERM'), 0)
})

t.test('no deployment file kills the gateway before its time to finish is over', async t => {
  const { output } = await run(shippedFolder(t), ['start', '--help'])
  const limit = Number(/for up to (\d+) seconds/.exec(output)![1])
  t.ok(Number.parseInt(unit('TimeoutStopSec'), 10) > limit, 'systemd')
  const compose = parse(textOf('docker-compose.yml'), { merge: true })
  for (const name of ['gateway-1', 'gateway-2'])
    t.ok(Number.parseInt(compose.services[name].stop_grace_period, 10) > limit, name)
  const pod = kubernetes('Deployment').spec.template.spec
  const [, seconds] = pod.containers[0].lifecycle.preStop.exec.command
  t.ok(pod.terminationGracePeriodSeconds > limit + Number(seconds), 'Kubernetes')
})

t.test('the unit allows the files that the shipped limit of connections needs', async t => {
  const { max_connections } = parse(textOf('config/gateway.yaml')).listen
  t.ok(Number(unit('LimitNOFILE')) > 2 * max_connections)
})

const DOCUMENTS: any[] = parseAllDocuments(textOf('config/kubernetes.yaml')).map(document => document.toJS())
const kubernetes = (kind: string, name = 'dualgate') =>
  DOCUMENTS.find(document => document.kind === kind && document.metadata.name === name)

t.test('the configuration of the pods is valid, and their probes use existing endpoints', async t => {
  const folder = shippedFolder(t)
  const [pod] = kubernetes('Deployment').spec.template.spec.containers
  const here = (text: string): string => text.replace(/^\/app/, folder)
  const written = pod.env.map(({ name, value }: Record<string, string>) => [name!, here(value!)])
  mkdirSync(join(folder, 'upstreams'))
  writeFileSync(join(folder, 'upstreams/upstreams.yaml'), kubernetes('ConfigMap').data['upstreams.yaml'])
  const secrets = { JWT__SECRET_KEY: 'jwt', INTERNAL__SECRET: 'jwt', LOGIN__SM2__PRIVATE_KEY: 'sm2' }
  const made = Object.entries(secrets).map(async ([name, kind]) => [
    name,
    (await run(folder, ['keys', kind])).output.trim(),
  ])
  const environment = {
    NODE_ENV: 'production',
    ...Object.fromEntries(written),
    ...Object.fromEntries(await Promise.all(made)),
  }
  const { code, output, errors } = await run(folder, ['check'], { environment })
  t.equal(code, 0, errors)
  t.match(output, /upstream +orders: \/api\/v1 to http:\/\/orders:3000\n/)
  const ports = Object.fromEntries(pod.ports.map((port: any) => [port.name, port.containerPort]))
  t.match(output, new RegExp(`public +\\S+:${ports.public}\\n`))
  t.match(output, new RegExp(`internal +0\\.0\\.0\\.0:${ports.internal}\\n`))
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) t.equal(pod[probe].httpGet.port, 'internal')
  const comment = textOf('config/kubernetes.yaml')
  for (const name of Object.keys(secrets)) t.match(comment, `echo "${name}=`)
})
