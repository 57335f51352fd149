import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { load } from '../../src/process/bundle.ts'
import { readCodeCache, writeCodeCache } from '../../src/process/code-cache.ts'
import { NPM_START, newcomerFolder, startGateway } from '../support/process.ts'
import { ROOT } from '../support/root.ts'
import { until } from '../support/until.ts'

/* The gateway starts from one file, and from what V8 compiled of it at an earlier start. */

const temporary = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-bundle-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

t.test(
  'compiled code is used only as it was written, for the same program, and if no other user could write it',
  async t => {
    const cache = join(temporary(t), 'cli.cache')
    const program = join(ROOT, 'dist/main.js')
    const found = (identity = 'one'): string | undefined => readCodeCache(cache, program, identity)?.toString()
    t.equal(found(), undefined, 'absent')
    await writeCodeCache(cache, 'one', Buffer.from('compiled'))
    t.equal(found(), 'compiled')
    t.equal(found('two'), undefined, 'of another program')
    chmodSync(cache, 0o620)
    t.equal(found(), undefined, 'writable by its group')
    chmodSync(cache, 0o602)
    t.equal(found(), undefined, 'writable by all users')
    chmodSync(cache, 0o600)
    t.equal(found(), 'compiled')
    const written = readFileSync(cache)
    for (const at of [0, 31, 32, written.length - 1]) {
      const damaged = Buffer.from(written)
      damaged[at]! ^= 1
      writeFileSync(cache, damaged)
      t.equal(found(), undefined, `another byte ${at}`)
    }
    for (const length of [0, 10, written.length - 1]) {
      writeFileSync(cache, written.subarray(0, length))
      t.equal(found(), undefined, `only ${length} bytes`)
    }
  },
)

t.test('compiled code is readable by its owner only, and a place that cannot be written is no fault', async t => {
  const folder = temporary(t)
  await writeCodeCache(join(folder, 'cli.cache'), 'one', Buffer.from('compiled'))
  mkdirSync(join(folder, 'taken.cache'))
  await writeCodeCache(join(folder, 'taken.cache'), 'one', Buffer.from('compiled'))
  await writeCodeCache(join(folder, 'absent/cli.cache'), 'one', Buffer.from('compiled'))
  const { stdout } = await promisify(execFile)('ls', ['-l', folder])
  t.match(stdout, /^-rw------- .* cli\.cache$/m)
})

t.test('a gateway starts beside damaged compiled code, and without a bundle', async t => {
  const folder = temporary(t)
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true, filter: file => !file.endsWith('.cache') })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const version = async (): Promise<string> =>
    (await promisify(execFile)(process.execPath, [join(folder, 'dist/main.js'), '--version'])).stdout.trim()
  const expected = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
  writeFileSync(join(folder, `dist/bundle/cli-${process.version}-${process.arch}.cache`), Buffer.alloc(100_000, 'x'))
  t.equal(await version(), expected)
  rmSync(join(folder, 'dist/cli/cli.js'))
  t.equal(await version(), expected, 'the bundle needs none of the modules')
  cpSync(join(ROOT, 'dist/cli/cli.js'), join(folder, 'dist/cli/cli.js'))
  rmSync(join(folder, 'dist/bundle'), { recursive: true })
  t.equal(await version(), expected)
})

t.test('a bundle changed to another of the same length runs as it stands', async t => {
  const folder = temporary(t)
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true, filter: file => !file.endsWith('.cache') })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const newcomer = newcomerFolder()
  t.teardown(() => newcomer.remove())
  const [main, ...words] = [join(folder, 'dist/main.js'), ...NPM_START.slice(1)]
  const start = async () => {
    const gateway = await startGateway(newcomer.folder, {}, [main, ...words])
    t.teardown(() => gateway.end('SIGKILL'))
    return gateway
  }
  const first = await start()
  const bundle = join(folder, 'dist/bundle/gateway.cjs')
  await until(() => readdirSync(dirname(bundle)).some(file => /^(?:cli|primary)-.*\.cache$/.test(file)))
  t.match(first.output(), 'administrators sign in at')
  await first.end('SIGTERM')
  const text = readFileSync(bundle, 'latin1')
  writeFileSync(bundle, text.replaceAll('administrators sign in at', 'administrators SIGN IN at'), 'latin1')
  t.match((await start()).output(), 'administrators SIGN IN at')
})

t.test('a start loads no package that only few gateways need, which would be a third of its time', async t => {
  const folder = temporary(t)
  const recorder = join(folder, 'record.cjs')
  const list = join(folder, 'loaded')
  writeFileSync(
    recorder,
    `const { appendFileSync } = require('node:fs')
const { Module } = require('node:module')
const { _load: load } = Module
Module._load = function (name, ...rest) {
  appendFileSync(${JSON.stringify(list)}, name + '\\n')
  return load.call(this, name, ...rest)
}`,
  )
  const newcomer = newcomerFolder()
  t.teardown(() => newcomer.remove())
  const gateway = await startGateway(newcomer.folder, { NODE_OPTIONS: `--require "${recorder}"` })
  t.teardown(() => gateway.end('SIGKILL'))
  t.equal((await fetch(`${gateway.url}/api/v1/public/b/sm2/public-key`)).status, 200)
  const loaded = readFileSync(list, 'utf8').split('\n')
  t.ok(loaded.includes('node:http'), 'each is recorded')
  const needless = /^undici$|^\.\/(?!(?:program|worker)\.cjs$).*\.cjs$/
  t.same(
    loaded.filter(name => needless.test(name)),
    [],
  )
})

t.test('a stack trace from the bundle names the sources', async t => {
  const before = Error.prepareStackTrace
  const { runCommand } = await load('cli', () => import('../../src/cli/cli.ts'))
  t.teardown(() => {
    if (before === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace')
    else Error.prepareStackTrace = before
  })
  const terminal = {
    get output(): never {
      throw new Error('no terminal')
    },
  }
  const fault = await runCommand(['--version'], terminal as never).catch(fault => fault as Error)
  const stack = String((fault as Error).stack)
  const [first, ...trace] = stack.split('\n')
  t.equal(first, 'Error: no terminal')
  const source = readFileSync(join(ROOT, 'src/cli/cli.ts'), 'utf8').split('\n')
  const line = source.findIndex(text => text.includes('writeFaultsOf(terminal)')) + 1
  t.ok(
    trace.some(text => text.includes(`${join(ROOT, 'src/cli/cli.ts')}:${line}:`)),
    stack,
  )
})
