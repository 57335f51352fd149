import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { IDENTITY_SPELLINGS } from '../../../src/base/header-names.ts'
import { startLimit } from '../../../src/process/orders.ts'
import { call } from '../../support/client.ts'
import { run, shippedFolder } from '../../support/command-line.ts'
import { runIn, temporaryFolder, textOf } from '../../support/image.ts'
import { startGateway } from '../../support/process.ts'
import { ROOT } from '../../support/root.ts'

/* The examples for systemd, Kubernetes, Compose and Traefik, as far as they go without these programs. */

const UNIT = textOf('config/examples/systemd/dualgate.service')
const STEPS = textOf('config/examples/systemd/README.md')
const unit = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(UNIT)![1]!

/** Texts with the unit's folders elsewhere, after the steps of its README that come first. */
function installed(t: Test): (text: string) => string {
  const place = temporaryFolder(t, 'unit')
  const here = (text: string): string =>
    text
      .replaceAll('/opt/dualgate', ROOT)
      .replaceAll('/etc/dualgate', join(place, 'etc'))
      .replaceAll('/var/lib/dualgate', join(place, 'state'))
      .replaceAll('/usr/bin/node', process.execPath)
  mkdirSync(join(place, 'state'), { mode: 0o700 })
  const commands = STEPS.match(/^(?:install |key=).*$/gm)!.map(here)
  const script = commands.join('\n')
  const { status, stderr } = spawnSync('bash', ['-euc', script], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
  return here
}

/** A line of variables, as systemd reads them. */
const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(/\s+/).flatMap(pair => (pair === '' ? [] : [/^([^=]+)=(.*)$/.exec(pair)!.slice(1)])))

t.test('the unit starts the gateway with the secrets from its README, and reloads it', async t => {
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
  t.match(await runIn(folder, ['node', ...wordsOf('ExecReload')], environment), {
    code: 0,
    printed: /^reloaded \S+\/etc\/gateway\.yaml: 2 new workers answer\n/,
  })
  const account = /env --chdir=\S+ (ACCOUNTS__PATH=\S+) \\\n\s+node (.*)$/m.exec(STEPS)!
  const added = await runIn(folder, ['node', ...here(account[2]!).split(' ')], variablesOf(account[1]!))
  t.match(added, { code: 0, printed: /^added jane/ })
  t.equal(await gateway.end('SIGTERM'), 0)
})

t.test(
  'the unit lets a child of the main process notify systemd, and waits longer than the workers may take',
  async t => {
    t.equal(unit('Type'), 'notify')
    t.equal(unit('NotifyAccess'), 'all')
    const { store } = parse(textOf('config/gateway.yaml'))
    const timeout = Number.parseInt(store.timeout, 10) * 1000
    t.ok(Number.parseInt(unit('TimeoutStartSec'), 10) * 1000 > startLimit({ timeout }, false))
  },
)

t.test('no deployment file kills the gateway before its time to finish is over', async t => {
  const { drain } = parse(textOf('config/gateway.yaml'))
  // The seconds that the comment above `drain` requires.
  const limit = 9 + Math.max(Number.parseInt(drain.requests, 10), Number.parseInt(drain.websockets, 10))
  t.ok(limit > 9)
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

const DOCUMENTS: any[] = parseAllDocuments(textOf('config/examples/kubernetes/dualgate.yaml')).map(document =>
  document.toJS(),
)
const kubernetes = (kind: string, name = 'dualgate') =>
  DOCUMENTS.find(document => document.kind === kind && document.metadata.name === name)

/** What the steps of the README create, in a folder of its own: `dualgate` is the built program, `kubectl` does nothing. */
function prepared(t: Test): { folder: string; commands: string[] } {
  const folder = shippedFolder(t)
  const [, steps] = /```sh\n(.*?)```/s.exec(textOf('config/examples/kubernetes/README.md'))!
  const programs = `dualgate() { '${process.execPath}' '${join(ROOT, 'dist/main.js')}' "$@"; }\nkubectl() { :; }\n`
  const { status, stderr } = spawnSync('bash', ['-euc', programs + steps], { cwd: folder, encoding: 'utf8' })
  t.equal(status, 0, stderr)
  return { folder, commands: steps!.match(/^ *kubectl .*$/gm)!.map(line => line.trim().replace(/ &&$/, '')) }
}

t.test('the steps of the Kubernetes README create the secrets that the pods use', async t => {
  const { folder, commands } = prepared(t)
  const created = commands.map(line => /create secret generic (\S+) --from(?:-env)?-file=(\S+)$/.exec(line)!)
  t.equal(created.length, 2)
  for (const [, name, file] of created) t.ok(statSync(join(folder, file!)).isFile(), name!)
  const { containers, volumes } = kubernetes('Deployment').spec.template.spec
  const used = [containers[0].envFrom[0].secretRef.name, volumes.find((one: any) => one.secret).secret.secretName]
  t.same(
    used,
    created.map(([, name]) => name),
  )
  const secrets = variablesOf(readFileSync(join(folder, 'secrets.env'), 'utf8'))
  t.same(Object.keys(secrets), [...Object.keys(KEYS), 'STORE__REDIS__URL'])
  t.match(secrets.STORE__REDIS__URL, /^redis:\/\/:[^@]+@/, 'Redis has a password')
  for (const name of Object.keys(secrets)) t.notOk(Object.hasOwn(environmentOf('/app'), name), 'which is in the secret')
  const [mount] = containers[0].volumeMounts.filter((one: any) => one.name === 'accounts')
  t.equal(`${mount.mountPath}/${created[1]![2]}`, environmentOf('/app').ACCOUNTS__PATH)
})

t.test('the first account is put into the volume once, and no file there is replaced', async t => {
  const [{ command, volumeMounts }] = kubernetes('Deployment').spec.template.spec.initContainers
  const folder = t.testdir({ 'first-account': { 'accounts.yaml': 'first' }, accounts: {} })
  const start = () => {
    const [program, ...words] = command.map((word: string) => word.replaceAll('/app/', `${folder}/`))
    const { status, stderr } = spawnSync(program, words, {
      encoding: 'utf8',
      env: { ...process.env, HOSTNAME: 'pod-1' },
    })
    t.equal(status, 0, stderr)
    t.same(readdirSync(join(folder, 'accounts')), ['accounts.yaml'])
  }
  start()
  const file = join(folder, 'accounts/accounts.yaml')
  t.equal(readFileSync(file, 'utf8'), 'first')
  writeFileSync(file, 'changed')
  start()
  t.equal(readFileSync(file, 'utf8'), 'changed')

  const spec = kubernetes('Deployment').spec.template.spec
  const mounts = [...volumeMounts, ...spec.containers[0].volumeMounts].filter(({ name }: any) => name === 'accounts')
  for (const mount of mounts) t.same(mount, { name: 'accounts', mountPath: '/app/accounts' }, 'it can be written')
  const { claimName } = spec.volumes.find(({ name }: any) => name === 'accounts').persistentVolumeClaim
  const claim = kubernetes('PersistentVolumeClaim', claimName)
  t.same(claim.spec.accessModes, ['ReadWriteMany'], 'as there are several replicas')
})

/** What `dualgate keys` generates. */
const KEYS = { JWT__SECRET_KEY: 'jwt', INTERNAL__SECRET: 'jwt', LOGIN__SM2__PRIVATE_KEY: 'sm2' }

/** The environment of the pods, with /app elsewhere. */
const environmentOf = (app: string): Record<string, string> =>
  Object.fromEntries(
    kubernetes('Deployment').spec.template.spec.containers[0].env.map(({ name, value }: Record<string, string>) => [
      name!,
      value!.replace(/^\/app/, app),
    ]),
  )

t.test('the configuration of the pods is valid, and their ports and probes exist', async t => {
  const folder = shippedFolder(t)
  const [pod] = kubernetes('Deployment').spec.template.spec.containers
  mkdirSync(join(folder, 'upstreams'))
  writeFileSync(join(folder, 'upstreams/upstreams.yaml'), kubernetes('ConfigMap').data['upstreams.yaml'])
  const made = Object.entries(KEYS).map(async ([name, kind]) => [
    name,
    (await run(folder, ['keys', kind])).output.trim(),
  ])
  const environment = {
    NODE_ENV: 'production',
    STORE__REDIS__URL: 'redis://:correct-horse-battery@redis:6379',
    ...environmentOf(folder),
    ...Object.fromEntries(await Promise.all(made)),
  }
  const { code, output, errors } = await run(folder, ['check'], { environment })
  t.equal(code, 0, errors)
  t.match(output, /upstream +orders: \/api\/v1 to http:\/\/orders:3000\n/)
  const ports = Object.fromEntries(pod.ports.map((port: any) => [port.name, port.containerPort]))
  t.match(output, new RegExp(`public +\\S+:${ports.public}\\n`))
  t.match(output, new RegExp(`internal +0\\.0\\.0\\.0:${ports.internal}\\n`))
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    const { path, port } = pod[probe].httpGet
    t.same([path, port], [probe === 'readinessProbe' ? '/readyz' : '/livez', 'internal'], probe)
  }
})

t.test('the objects for Kubernetes select the pods, and use the names that others define', async t => {
  const { metadata, spec } = kubernetes('Deployment').spec.template
  const selectors = [
    kubernetes('Deployment').spec.selector,
    kubernetes('PodDisruptionBudget').spec.selector,
    kubernetes('NetworkPolicy').spec.podSelector,
    spec.topologySpreadConstraints[0].labelSelector,
    { matchLabels: kubernetes('Service').spec.selector },
    { matchLabels: kubernetes('Service', 'dualgate-internal').spec.selector },
    kubernetes('NetworkPolicy', 'orders').spec.ingress[0].from[0].podSelector,
  ]
  for (const { matchLabels } of selectors) t.same(matchLabels, metadata.labels)
  const [pod] = spec.containers
  const names = pod.ports.map((port: any) => port.name)
  for (const service of ['dualgate', 'dualgate-internal'])
    t.ok(names.includes(kubernetes('Service', service).spec.ports[0].targetPort), service)
  for (const { ports } of kubernetes('NetworkPolicy').spec.ingress) t.ok(names.includes(ports[0].port))
  const mounted = [...spec.initContainers, pod].flatMap(({ volumeMounts }: any) =>
    volumeMounts.map((one: any) => one.name),
  )
  t.same([...new Set(mounted)].sort(), spec.volumes.map((one: any) => one.name).sort())
  t.equal(spec.volumes.find((one: any) => one.configMap).configMap.name, kubernetes('ConfigMap').metadata.name)
  t.ok(kubernetes('Deployment').spec.replicas > kubernetes('PodDisruptionBudget').spec.minAvailable)
  t.equal(pod.image, `dualgate:${JSON.parse(textOf('package.json')).version}`, 'the image of this version')
  t.equal(spec.initContainers[0].image, pod.image)
})

t.test('the HTTPS example for Compose changes services of docker-compose.yml, and knows their names', async t => {
  // What Compose removes instead of adding to it.
  const text = textOf('config/examples/docker-compose/tls.yaml').replaceAll('!reset []', 'removed')
  const tls = parse(text)
  const base = parse(textOf('docker-compose.yml'), { merge: true })
  const { caddy, ...changed } = tls.services
  t.same(
    Object.keys(changed),
    Object.keys(base.services).filter(name => base.services[name].ports !== undefined),
  )
  const { ipv4_address } = caddy.networks.front
  for (const { ports, environment } of Object.values<any>(changed)) {
    t.equal(ports, 'removed', 'its port is closed')
    t.same(JSON.parse(environment.TRUSTED_PROXIES), [ipv4_address])
  }
  t.ok(ipv4_address.startsWith(tls.networks.front.ipam.config[0].subnet.replace('0/24', '')))
  t.ok(base.services['gateway-1'].networks.includes('front'))
  t.same(caddy.depends_on, Object.keys(changed))
  const [source] = caddy.volumes[0].split(':')
  const targets = /reverse_proxy (.*) \{/.exec(textOf(source))![1]!.split(' ')
  t.same(
    targets,
    caddy.depends_on.map((name: string) => `${name}:8080`),
  )
  for (const [name, service] of Object.entries<any>({ ...base.services, caddy }))
    t.match(service, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, name)
  t.ok(Object.hasOwn(tls.volumes, caddy.volumes[1].split(':')[0]))
})

t.test(
  'the routes for Traefik name existing services and middlewares, and drop every identity header first',
  async t => {
    const { entryPoints, providers } = parse(textOf('config/examples/traefik/traefik.yaml'))
    t.equal(providers.file.filename, 'in-front.yaml')
    for (const file of ['in-front.yaml', 'forward-auth.yaml']) {
      const { routers, services, middlewares = {} } = parse(textOf(`config/examples/traefik/${file}`)).http
      for (const router of Object.values<any>(routers)) {
        t.ok(Object.hasOwn(services, router.service), file)
        for (const name of router.entryPoints) t.ok(Object.hasOwn(entryPoints, name), name)
        const asking = Object.keys(middlewares)
        t.same(router.middlewares ?? [], router.service === 'pages' ? asking.filter(one => one !== 'dualgate') : asking)
      }
      if (file === 'in-front.yaml') continue
      t.same(middlewares['stay-http1'].headers.customRequestHeaders, { 'HTTP2-Settings': '' }, 'no upgrade to h2c')
      const { customRequestHeaders } = middlewares['drop-identity'].headers
      const plain = IDENTITY_SPELLINGS.filter(name => !/[_.]/.test(name))
      t.same(
        Object.keys(customRequestHeaders).map(name => name.toLowerCase()),
        plain,
      )
      t.same([...new Set(Object.values(customRequestHeaders))], [''], 'an empty value removes a header')
    }
  },
)
