import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCertificate } from '../support/certificate.ts'
import { call } from '../support/client.ts'
import { run, shippedFolder } from '../support/command-line.ts'
import { type Supervised, type SupervisedOptions, startSupervised, upstreamsOf } from '../support/supervised.ts'
import { until } from '../support/until.ts'

t.jobs = 2

/* `dualgate start --watch`: a changed file is applied without a command. */

const UPSTREAMS = 'config/upstreams.yaml'

async function startWatching(t: Test, options: SupervisedOptions = {}) {
  const gateway = await startSupervised(t, { ...options, words: ['--watch'] })
  /** In one step, so that no look finds half of it. */
  const replace = (file: string, text: string): void => {
    gateway.write(`${file}~`, text)
    renameSync(join(gateway.folder, `${file}~`), join(gateway.folder, file))
  }
  return {
    gateway,
    replace,
    replaceUpstream: (answer: string) => replace(UPSTREAMS, upstreamsOf(gateway.backend, answer)),
    /** The files of each change that was found. */
    changes: () =>
      gateway.logged('the configuration has changed; it is reloaded').map(({ files }) => files as string[]),
    /** Waits until so many reloads have succeeded. */
    reloaded: (count: number) => until(() => gateway.logged('the configuration was reloaded').length === count),
    refused: () => gateway.logged('not reloaded; the gateway continues with the previous configuration'),
  }
}

const ask = async ({ url, token }: Supervised) => (await call(url, { path: '/api/v1/c/x', token })).text

t.test('each changed file is applied once, a faulty one is reported once, and the previous one stays', async t => {
  const { gateway, replace, replaceUpstream, changes, reloaded, refused } = await startWatching(t)
  replaceUpstream('second')
  t.ok(await reloaded(1))
  t.match(await ask(gateway), '/second/')

  replace(UPSTREAMS, 'upstreams: [{ name: 7 }]\n')
  t.ok(await until(() => refused().length === 1))
  t.match(refused(), [{ faults: [{ place: /^config\/upstreams\.yaml/ }] }])
  t.match(await ask(gateway), '/second/')

  replace('.env', 'TIMEZONE=Asia/Nowhere\n')
  t.ok(await until(() => refused().length === 2), 'a file that was missing')
  replaceUpstream('third')
  t.ok(await until(() => refused().length === 3))
  replace('.env', 'TIMEZONE=Asia/Shanghai\n')
  t.ok(await reloaded(2))
  t.match(await ask(gateway), '/third/')

  const [upstreams, variables] = [[UPSTREAMS], ['.env']]
  t.same(changes(), [upstreams, upstreams, variables, upstreams, variables])
  t.equal(refused().length, 3)
})

t.test('files are followed that a faulty configuration names, whatever stands in their way', async t => {
  const { replace, changes, reloaded, refused } = await startWatching(t)
  const ca = 'config/backend-ca.pem'
  replace(
    UPSTREAMS,
    `upstreams:\n  - { name: backend, match: /api, target: "https://localhost:1", tls: { ca: backend-ca.pem } }\n`,
  )
  t.ok(await until(() => refused().length === 1))
  t.match(refused()[0]!.faults, [{ message: /no such file/ }])
  replace(ca, 'nothing')
  t.ok(await until(() => refused().length === 2))
  replace(ca, readFileSync(createCertificate(t.testdir()), 'utf8'))
  t.ok(await reloaded(1))
  t.same(changes(), [[UPSTREAMS], [ca], [ca]])
})

t.test('mounted files are followed, which are replaced by swapping a link above them', async t => {
  const { gateway, changes, reloaded } = await startWatching(t)
  const at = (name: string): string => join(gateway.folder, 'config', name)
  const swap = (version: string): void => {
    symlinkSync(version, at('..data~'))
    renameSync(at('..data~'), at('..data'))
  }
  for (const version of ['one', 'two']) {
    mkdirSync(at(version))
    gateway.write(`config/${version}/upstreams.yaml`, upstreamsOf(gateway.backend, version))
  }
  swap('one')
  symlinkSync('..data/upstreams.yaml', at('upstreams.yaml~'))
  renameSync(at('upstreams.yaml~'), at('upstreams.yaml'))
  t.ok(await reloaded(1))
  t.match(await ask(gateway), '/one/')
  swap('two')
  t.ok(await reloaded(2))
  t.match(await ask(gateway), '/two/')
  t.same(changes(), [[UPSTREAMS], [UPSTREAMS]])
})

t.test('a renewed certificate of the gateway is used without a reload', async t => {
  const folder = t.testdir()
  createCertificate(folder)
  const [cert, key] = ['certificate.pem', 'key.pem'].map(name => join(folder, name))
  const environment = { LISTEN__TLS: JSON.stringify({ cert, key }) }
  const { gateway, replaceUpstream, changes, reloaded } = await startWatching(t, { environment })
  createCertificate(folder)
  t.ok(await until(() => gateway.logged('the certificate was renewed').length === 1))
  replaceUpstream('second')
  t.ok(await reloaded(1))
  t.same(changes(), [[UPSTREAMS]])
})

t.test('a reload that was refused for another reason than its files is tried again', async t => {
  const { gateway, replace, reloaded, refused } = await startWatching(t)
  const accounts = join(gateway.folder, 'config/accounts.yaml')
  const whole = readFileSync(accounts, 'utf8')
  replace('config/accounts.yaml', 'accounts: 7\n')
  replace(UPSTREAMS, upstreamsOf(gateway.backend, 'second'))
  t.ok(await until(() => refused().length > 0))
  replace('config/accounts.yaml', whole)
  t.ok(await reloaded(1))
  t.match(await ask(gateway), '/second/')
  t.ok(gateway.logged('the refused reload is tried again').length >= 1)
})

t.test('a reload to one process is refused, because the next start would be', async t => {
  const { gateway, replace, refused } = await startWatching(t, {
    environment: { WORKERS: '' },
    files: { '.env': 'WORKERS=2\n' },
  })
  replace('.env', 'WORKERS=1\n')
  t.ok(await until(() => refused().length > 0))
  t.match(refused()[0], { err: { message: /^--watch needs a gateway that can reload/ } })
  t.equal(gateway.workers().length, 2)
})

t.test('one process alone cannot reload: a start with --watch says so, and leaves nothing behind', async t => {
  const folder = shippedFolder(t)
  t.same(await run(folder, ['start', '--watch'], { environment: { WORKERS: '1' } }), {
    code: 1,
    output: '',
    errors: 'dualgate: --watch needs a gateway that can reload: set workers to 2 or more, or leave out --watch\n',
  })
  t.notOk(existsSync(join(folder, 'data')))
})

t.test('a pipe cannot be read again: a start with --watch says so', async t => {
  const folder = shippedFolder(t)
  execFileSync('mkfifo', [join(folder, 'pipe')])
  t.match(await run(folder, ['start', '--watch', '--config', 'pipe']), {
    code: 1,
    errors: 'dualgate: --watch cannot follow pipe, which is a pipe; name a file, or leave out --watch\n',
  })
})
