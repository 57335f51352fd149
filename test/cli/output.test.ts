import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { tableOf } from '../../src/cli/table.ts'
import { launch, run, shippedFolder } from '../support/command-line.ts'
import { NPM_START } from '../support/process.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/* The output of a command, or that of a gateway, cannot be written: its reader has left, or the disk is full. */

const PROGRAM = NPM_START[0]!

/** Runs a command whose standard output is a full disk. */
async function onFullDisk(folder: string, words: string[]) {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [PROGRAM, ...words], { cwd: folder, stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  const exit = once(child, 'exit')
  const errors = await text(child.stderr!)
  return { code: (await exit)[0], errors }
}

/** Runs a command without a reader of its standard output. */
async function withoutReader(folder: string, words: string[]) {
  const child = launch(folder, words)
  child.stdout!.destroy()
  child.stdin!.end()
  const exit = once(child, 'exit')
  const errors = await text(child.stderr!)
  return { code: (await exit)[0], errors }
}

t.test('a list may have more lines than a call has arguments', async t => {
  const lines = tableOf([['NAME', 'ID'], ...Array.from({ length: 200_000 }, (_, i) => [`name ${i}`, String(i)])])
  t.equal(lines.length, 200_001)
  t.same([lines[0], lines.at(-1)], ['NAME         ID', 'name 199999  199999'])
})

t.test('a command fails with one sentence when its output cannot be written', async t => {
  const folder = shippedFolder(t)
  const reason = 'dualgate: standard output cannot be written: ENOSPC: no space left on device, write\n'
  for (const words of [['--help'], ['start', '--help'], ['check']])
    t.same(await onFullDisk(folder, words), { code: 1, errors: reason }, words.join(' '))
  t.match(await onFullDisk(folder, ['nope']), { code: 2, errors: /^dualgate: unknown command nope/ })
})

t.test('a reader that has left needs no reason', async t => {
  t.same(await withoutReader(shippedFolder(t), ['--help']), { code: 1, errors: '' })
})

t.test('a password that could not be shown is named, with what to do', async t => {
  const folder = shippedFolder(t)
  const remedy = 'dualgate: the password of bob could not be shown; set another with `dualgate account passwd bob`\n'
  t.same(await withoutReader(folder, ['account', 'add', 'bob']), { code: 1, errors: remedy })
  t.same(await withoutReader(folder, ['account', 'passwd', 'bob']), { code: 1, errors: remedy })
  const full = await onFullDisk(folder, ['account', 'passwd', 'bob'])
  t.match(full, { code: 1, errors: new RegExp(`^${remedy}dualgate: standard output cannot be written`) })
})

t.test('a key that could not be shown is named, with what to do', async t => {
  const folder = shippedFolder(t)
  await run(folder, ['account', 'add', 'bob'])
  const { code, errors } = await withoutReader(folder, ['key', 'add', 'bob'])
  t.equal(code, 1)
  const ending =
    /^dualgate: the new key could not be shown; end it with `dualgate (key revoke bob \S+)`, and make another\n$/
  const [, revoke] = ending.exec(errors)!
  t.match(await run(folder, revoke!.split(' ')), { code: 0, output: /^revoked key/ })
})

t.test('a reload is applied when standard error cannot be written, and its warnings are in the log', async t => {
  const gateway = await startSupervised(t)
  gateway.child.stderr!.destroy()
  gateway.write('.env', 'LISTEN__PROT=1\n')
  t.equal((await gateway.reload()).code, 0)
  const [line] = await until(() => {
    const lines = gateway.logged('the configuration has a warning')
    return lines.length > 0 && lines
  })
  t.match(line, { level: 40, warning: { place: '.env LISTEN__PROT', message: /^unknown setting; did you mean/ } })
  t.equal(await gateway.end('SIGTERM'), 0)
})

/** Runs a command by a shell, with these redirections. */
function redirected(folder: string, words: string[], redirections: string) {
  const shell = ['-c', `exec "$0" "$@" ${redirections}`, process.execPath, PROGRAM, ...words]
  const { status, stderr } = spawnSync('sh', shell, { cwd: folder, encoding: 'utf8' })
  return { code: status, errors: stderr }
}

t.test('nothing is done whose secret would not be seen: standard output is closed, or discarded', async t => {
  const folder = shippedFolder(t)
  await run(folder, ['account', 'add', 'bob'])
  const before = readFileSync(join(folder, 'config/accounts.yaml'), 'utf8')
  const unseen = (secret: string, remedy: string) => ({
    code: 1,
    errors: `dualgate: standard output is closed or discarded, so ${secret} would not be seen; ${remedy}\n`,
  })
  const password = unseen('the generated password', 'send one with --password-stdin, or keep the output')
  const key = unseen('the key', 'keep the output in a file that only its program can read')
  for (const redirections of ['>&-', '>/dev/null']) {
    t.same(redirected(folder, ['account', 'add', 'ann'], redirections), password, `add ${redirections}`)
    t.same(redirected(folder, ['account', 'passwd', 'bob'], redirections), password, `passwd ${redirections}`)
    t.same(redirected(folder, ['key', 'add', 'bob'], redirections), key, `key add ${redirections}`)
  }
  t.equal(readFileSync(join(folder, 'config/accounts.yaml'), 'utf8'), before)
  t.notMatch(await run(folder, ['key', 'list', 'bob']), { output: /dgb_/ })
})

t.test('a command whose working directory was removed says so', async t => {
  const folder = shippedFolder(t)
  for (const words of [['--help'], ['start'], ['account', 'list']]) {
    const shell = [
      '-c',
      'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"',
      process.execPath,
      PROGRAM,
      ...words,
    ]
    const { status, stderr } = spawnSync('sh', shell, { cwd: folder, encoding: 'utf8' })
    t.equal(status, 1)
    t.equal(
      stderr,
      'dualgate: the working directory was removed; change to another one, and try again\n',
      words.join(' '),
    )
  }
})

t.test('what has no secret to show needs no output', async t => {
  const folder = shippedFolder(t)
  const add = ['account', 'add', 'nightly', '--service']
  t.same(redirected(folder, add, '>/dev/null'), { code: 0, errors: '' })
})

t.test('a first start whose password cannot be shown says what to do, and the gateway goes on', async t => {
  const folder = shippedFolder(t)
  const environment = { LISTEN__PORT: '0', LISTEN__HOST: '127.0.0.1', INTERNAL__PORT: '0', WORKERS: '2' }
  const child = launch(folder, ['start'], environment)
  t.teardown(() => child.kill('SIGKILL'))
  child.stdout!.destroy()
  let errors = ''
  child.stderr!.on('data', chunk => (errors += chunk))
  t.ok(await until(async () => (await run(folder, ['reload'], { environment })).code === 0))
  t.match(
    errors,
    /^dualgate: the password of admin could not be shown; set another with `dualgate account passwd admin`$/m,
  )
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  t.equal((await exit)[0], 0)
})
