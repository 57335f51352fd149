import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { listenPrivately } from '../../src/http/server/private-socket.ts'
import { launch, run } from '../support/command-line.ts'
import { NPM_START, newcomerFolder, startGateway } from '../support/process.ts'
import { withoutNodeWarning } from '../support/strict-parser.ts'
import { childrenOf } from '../support/supervised.ts'
import { until } from '../support/until.ts'

t.jobs = 2

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** A folder with a short path: that of a socket is at most 103 bytes long. */
function shortFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'dg-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Begins something under a umask; what it starts inherits it. */
function under<T>(umask: number, begin: () => T): T {
  const before = process.umask(umask)
  try {
    return begin()
  } finally {
    process.umask(before)
  }
}

t.test('a private socket has mode 0600 from its creation on, under every umask', async t => {
  const folder = shortFolder(t)
  for (const umask of [0o000, 0o002, 0o077, 0o277]) {
    const server = new Server()
    const path = join(folder, `${umask}.sock`)
    const listening = under(umask, () => {
      const begun = listenPrivately(server, path)
      t.equal(process.umask(), umask, 'which stays')
      return begun
    })
    // Nothing else has run since it was made.
    t.equal(modeOf(path), '600')
    await listening
    t.equal(modeOf(path), '600')
    server.close()
  }
})

t.test('where it cannot listen, a private socket fails, and the umask stays', async t => {
  const before = process.umask()
  await t.rejects(listenPrivately(new Server(), join(shortFolder(t), 'absent', 'a.sock')), { code: /EACCES|ENOENT/ })
  t.equal(process.umask(), before)
})

const probe = (socketPath: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path: '/livez' }, response => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })

for (const [workers, umask] of [
  ['1', 0o000],
  ['1', 0o002],
  ['2', 0o000],
] as const) {
  const written = `umask ${umask.toString(8).padStart(3, '0')}`
  t.test(`under ${written} and with ${workers} workers, only the gateway's user can access both sockets`, async t => {
    const { folder, remove } = newcomerFolder()
    t.teardown(remove)
    const data = shortFolder(t)
    const internal = join(data, 'internal.sock')
    const environment = { WORKERS: workers, DATA: data, INTERNAL__SOCKET: internal }
    const gateway = await under(umask, () => startGateway(folder, environment))
    t.teardown(() => gateway.end('SIGKILL'))
    t.equal(modeOf(internal), '600')
    t.equal(modeOf(join(data, 'control.sock')), '600')
    t.equal(await probe(internal), 200)
    if (workers === '1') return
    if (process.platform === 'linux') {
      const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8')
      t.match(status, /^Umask:\s+0077$/m, 'the sockets of the workers are made by the primary')
    }
    const reload = ['reload', '--config', 'config/gateway.yaml']
    t.match(await run(folder, reload, { environment: { DATA: data } }), { code: 0 })
    t.equal(modeOf(internal), '600')
  })
}

t.test('a reload whose gateway ends before it answers says so', async t => {
  const folder = shortFolder(t)
  for (const answer of ['', '{"fault":']) {
    const server = new Server({ allowHalfOpen: true }, socket => socket.resume().once('end', () => socket.end(answer)))
    await listenPrivately(server, join(folder, 'control.sock'))
    const outcome = await run(folder, ['reload'], { environment: { DATA: folder } })
    server.close()
    t.same(outcome, {
      code: 1,
      output: '',
      errors: 'dualgate: the gateway ended before it answered; its log says why\n',
    })
  }
})

t.test('a data folder whose path is too long for a socket is no fault of init, and reload says what to do', async t => {
  const folder = join(shortFolder(t), 'x'.repeat(120))
  mkdirSync(folder)
  const { code, output } = await run(folder, ['init'])
  t.equal(code, 0)
  t.match(output, / && dualgate start$/m)
  const errors =
    /^dualgate: the path \S+\/data\/control\.sock is too long for a socket; send SIGHUP to the gateway, or /
  t.match(await run(folder, ['reload']), { code: 1, output: '', errors })
})

t.test(
  'a worker that crashes is replaced although the internal socket was removed; a reload names the remedy',
  async t => {
    const { folder, remove } = newcomerFolder()
    t.teardown(remove)
    const data = shortFolder(t)
    const socket = join(data, 'internal.sock')
    const gateway = await startGateway(folder, { WORKERS: '2', DATA: data, INTERNAL__SOCKET: socket })
    t.teardown(() => gateway.end('SIGKILL'))
    rmSync(socket)
    const reload = await run(folder, ['reload', '--config', 'config/gateway.yaml'], { environment: { DATA: data } })
    t.same(reload, {
      code: 1,
      output: '',
      errors: `dualgate: not reloaded: the socket ${socket} was removed, so no client reaches the internal listener; restart the gateway\n`,
    })
    process.kill(childrenOf(gateway.child.pid!)[0]!, 'SIGKILL')
    t.ok(await until(() => gateway.output().includes('a new worker replaced it')))
  },
)

for (const workers of ['1', '2']) {
  t.test(`with ${workers} workers, a start replaces a dead internal socket, and nothing else`, async t => {
    const { folder, remove } = newcomerFolder()
    t.teardown(remove)
    const data = shortFolder(t)
    const socket = join(data, 'internal.sock')
    const environment = (path: string, name: string) => ({
      WORKERS: workers,
      DATA: join(data, name),
      LISTEN__HOST: '127.0.0.1',
      LISTEN__PORT: '0',
      INTERNAL__SOCKET: path,
    })
    const refused = async (path: string) => {
      const child = launch(folder, NPM_START.slice(1), environment(path, 'second'))
      // It writes there only when it has started.
      child.stdout!.once('data', () => child.kill())
      const [errors] = await Promise.all([text(child.stderr!), once(child, 'exit')])
      return { code: child.exitCode, errors: withoutNodeWarning(errors) }
    }
    const remedy = 'set another internal.socket (INTERNAL__SOCKET)\n'
    const gateway = await startGateway(folder, environment(socket, 'first'))
    t.teardown(() => gateway.end('SIGKILL'))
    t.same(await refused(socket), {
      code: 1,
      errors: `dualgate: ${socket} is in use by another program; stop it, or ${remedy}`,
    })
    t.equal(await probe(socket), 200)

    const notes = join(data, 'notes.txt')
    writeFileSync(notes, 'important')
    t.same(await refused(notes), {
      code: 1,
      errors: `dualgate: ${notes} exists and is not a socket; remove it, or ${remedy}`,
    })
    t.equal(readFileSync(notes, 'utf8'), 'important')

    await gateway.end('SIGKILL')
    t.ok(statSync(socket).isSocket(), 'a killed gateway leaves its socket behind')
    const next = await startGateway(folder, environment(socket, 'first'))
    t.teardown(() => next.end('SIGKILL'))
    t.equal(await probe(socket), 200)
  })
}
