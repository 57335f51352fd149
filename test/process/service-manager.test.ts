import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serviceManagerOf } from '../../src/process/service-manager.ts'
import { createCertificate } from '../support/certificate.ts'
import { call } from '../support/client.ts'
import { temporaryFolder } from '../support/image.ts'
import { pathOf } from '../support/installed.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/* What systemd learns of the gateway, with `Type=notify`. */

/**
 * Receives as systemd does: writes each message down, and then closes what came with it, for which systemd-notify waits.
 * Node has no datagram sockets of Unix.
 */
const RECEIVER = `
import json, os, socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('listens', flush=True)
while True:
    message, files, _, _ = socket.recv_fds(receiver, 65536, 8)
    if message != b'BARRIER=1':
        with open(sys.argv[2], 'a') as log:
            log.write(json.dumps(message.decode().split('\\n')) + '\\n')
    for file in files:
        os.close(file)
`

interface Receiver {
  socket: string
  /** The lines of each message. */
  messages(): string[][]
}

async function startReceiver(t: Test): Promise<Receiver> {
  // Its path is short: a socket's may have 107 bytes.
  const folder = temporaryFolder(t, 'systemd')
  const [socket, file] = [join(folder, 'notify'), join(folder, 'messages')]
  writeFileSync(file, '')
  const child = spawn('python3', ['-c', RECEIVER, socket, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return {
    socket,
    messages: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap(line => (line === '' ? [] : [JSON.parse(line)])),
  }
}

const missing = ['systemd-notify', 'python3'].find(program => pathOf(program) === undefined)
const skip = missing !== undefined && `LEFT OUT: no ${missing} on PATH`

for (const workers of ['1', '2'])
  t.test(`systemd learns when the gateway answers, reloads and stops, with workers: ${workers}`, { skip }, async t => {
    const { socket, messages } = await startReceiver(t)
    const gateway = await startSupervised(t, { environment: { NOTIFY_SOCKET: socket, WORKERS: workers } })
    t.ok(await until(() => messages().length > 0))
    const status = `STATUS=answers at ${gateway.url}, internally at ${gateway.internal}`
    t.same(messages(), [['READY=1', status]])

    const microseconds = (): number => Number(process.hrtime.bigint() / 1000n)
    const before = microseconds()
    const { code } = await gateway.reload()
    const [begun, ended] = messages().slice(1) as [string[], string[]]
    t.match(begun, ['RELOADING=1', /^MONOTONIC_USEC=\d+$/, 'STATUS=reloads the configuration'])
    const time = Number(begun[1]!.split('=')[1])
    t.ok(before <= time && time <= microseconds())
    const failed = `${status}; the last reload failed, and the log says why`
    t.same(ended, ['READY=1', workers === '1' ? failed : status], 'before the command ends')
    t.equal(code, workers === '1' ? 1 : 0)

    t.equal(await gateway.end('SIGTERM'), 0)
    t.same(messages().slice(3), [['STOPPING=1', 'STATUS=stops; finishes the requests in progress']])
  })

t.test('a reload that is refused ends for systemd, too', { skip }, async t => {
  const { socket, messages } = await startReceiver(t)
  const gateway = await startSupervised(t, { environment: { NOTIFY_SOCKET: socket } })
  t.ok(await until(() => messages().length > 0))
  gateway.write('config/upstreams.yaml', 'upstreams: [{ name: 7 }]\n')
  // Not by the command, which would refuse it itself.
  gateway.child.kill('SIGHUP')
  t.ok(await until(() => messages().length > 2))
  t.match(messages().slice(1), [['RELOADING=1'], ['READY=1', /; the last reload failed, and the log says why$/]])
})

t.test('a reload that switches TLS on changes the URL that systemd shows', { skip }, async t => {
  const { socket, messages } = await startReceiver(t)
  const folder = temporaryFolder(t, 'tls')
  createCertificate(folder)
  const gateway = await startSupervised(t, { environment: { NOTIFY_SOCKET: socket } })
  t.ok(await until(() => messages().length > 0))
  gateway.write(
    '.env',
    `LISTEN__TLS__CERT=${join(folder, 'certificate.pem')}\nLISTEN__TLS__KEY=${join(folder, 'key.pem')}\n`,
  )
  t.match(await gateway.reload(), { code: 0 })
  const url = gateway.url.replace('http:', 'https:')
  t.same(messages().at(-1), ['READY=1', `STATUS=answers at ${url}, internally at ${gateway.internal}`])
})

t.test('of reloads at the same time systemd learns the first begin and the last end', { skip }, async t => {
  const { socket, messages } = await startReceiver(t)
  const manager = serviceManagerOf({ PATH: process.env.PATH, NOTIFY_SOCKET: socket }, ({ message }) => t.fail(message))
  const ends: (() => void)[] = []
  const reloads = [0, 1].map(index => {
    const ended = new Promise<void>(end => (ends[index] = end))
    return manager.reloading(
      () => ended,
      () => 'answers',
    )
  })
  ends[0]!()
  await reloads[0]
  t.match(messages(), [['RELOADING=1']])
  ends[1]!()
  await reloads[1]
  t.match(messages().slice(1), [['READY=1', 'STATUS=answers']])
})

t.test('a reload that ends while the gateway stops is not its last state for systemd', { skip }, async t => {
  const { socket, messages } = await startReceiver(t)
  const manager = serviceManagerOf({ PATH: process.env.PATH, NOTIFY_SOCKET: socket }, ({ message }) => t.fail(message))
  let end = (): void => undefined
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const reload = manager.reloading(
    () => ended,
    () => 'answers',
  )
  await manager.stopping()
  end()
  await reload
  t.match(messages(), [['RELOADING=1'], ['STOPPING=1']])
  t.equal(messages().length, 2)
})

t.test('without systemd-notify the gateway answers, and warns that systemd waits in vain', async t => {
  const environment = { NOTIFY_SOCKET: '/nowhere', PATH: t.testdir() }
  const gateway = await startSupervised(t, { environment })
  t.equal((await call(gateway.internal, { path: '/readyz' })).status, 200)
  const warning = /^dualgate: warning: NOTIFY_SOCKET is set, but the program systemd-notify is missing: .* Type=exec$/m
  t.ok(await until(() => warning.test(gateway.output())))
  t.equal(await gateway.end('SIGTERM'), 0)
})

t.test('a failure of systemd-notify is a warning with its reason', { skip }, async t => {
  const warnings: string[] = []
  const manager = serviceManagerOf({ PATH: process.env.PATH, NOTIFY_SOCKET: '/nowhere/socket' }, ({ message }) =>
    warnings.push(message),
  )
  await manager.ready('answers')
  t.match(warnings, [/^is set, but systemd did not get the state of this service: .*No such file or directory$/s])
})

t.test('without a service manager nothing is run', async t => {
  const folder = t.testdir()
  const program = join(folder, 'systemd-notify')
  writeFileSync(program, `#!/bin/sh\n: > '${folder}/ran'\n`)
  chmodSync(program, 0o755)
  const notified = async (NOTIFY_SOCKET: string): Promise<boolean> => {
    const PATH = `${folder}:/bin`
    await serviceManagerOf({ PATH, NOTIFY_SOCKET }, ({ message }) => t.fail(message)).ready('answers')
    return existsSync(join(folder, 'ran'))
  }
  t.notOk(await notified(''))
  t.ok(await notified('/run/notify'))
})
