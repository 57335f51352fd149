import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { launch, run, shippedFolder } from '../support/command-line.ts'

const FREE_PORTS = { LISTEN__HOST: '127.0.0.1', LISTEN__PORT: '0', INTERNAL__PORT: '0' }

interface Started {
  child: ChildProcess
  public: string
  internal: string
  output(): string
}

/** Resolves when the line with the URLs is there. */
async function started(t: Test, folder: string, environment: Record<string, string> = {}): Promise<Started> {
  const child = launch(folder, ['start'], { ...FREE_PORTS, ...environment })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr!.on('data', chunk => {
    output += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('exit', code => reject(new Error(`it ended with ${code}: ${output}`)))
    child.stdout!.on('data', chunk => {
      output += chunk
      const urls = /^dualgate answers at (\S+), internally at (\S+)\n(?=.*\n)/m.exec(output)
      if (urls !== null) resolve({ child, public: urls[1]!, internal: urls[2]!, output: () => output })
    })
  })
}

async function exitOf({ child }: Started, signal: NodeJS.Signals): Promise<number | null> {
  const exit = once(child, 'exit')
  child.kill(signal)
  return (await exit)[0]
}

t.test('a first start creates an administrator, prints the password once, and answers', async t => {
  const folder = shippedFolder(t)
  const first = await started(t, folder)
  t.match(first.output(), /^ {2}username: admin$/m)
  t.match(first.output(), /^ {2}password: \S{20,}$/m)
  t.equal(statSync(join(folder, 'data')).mode & 0o777, 0o700)
  const page = new RegExp(`^administrators sign in at (${first.public}/console/)$`, 'm').exec(first.output())?.[1]
  t.equal((await fetch(page ?? '')).status, 200)
  t.equal((await call(first.public, { path: '/api/v1/x' })).json().code, 401)
  t.equal((await call(first.internal, { path: '/livez' })).status, 200)
  t.equal(await exitOf(first, 'SIGTERM'), 0)

  const second = await started(t, folder)
  t.notMatch(second.output(), /password/)
  t.equal(await exitOf(second, 'SIGINT'), 0)
})

t.test('every line of output after the first ones is JSON', async t => {
  const gateway = await started(t, shippedFolder(t))
  await call(gateway.public, { path: '/api/v1/x' })
  t.equal(await exitOf(gateway, 'SIGTERM'), 0)
  const after = gateway.output().split(/^administrators sign in .*\n/m)[1] ?? ''
  for (const line of after.split('\n').filter(line => line !== '')) t.type(JSON.parse(line).level, 'number')
})

t.test('a configuration with faults prevents the start, and all faults are printed', async t => {
  const folder = shippedFolder(t)
  const { code, output, errors } = await run(folder, ['start'], { environment: { LOCALE: 'fr', LISTEN__PORT: 'x' } })
  t.equal(code, 1)
  t.equal(output, '')
  t.match(errors, /^environment LISTEN__PORT: .*$/m)
  t.match(errors, /^environment LOCALE: .*$/m)
  t.notOk(existsSync(join(folder, 'data')), 'nothing was created')
})

t.test('an accounts file that cannot be created is reported with its name', async t => {
  const folder = shippedFolder(t)
  writeFileSync(join(folder, 'file'), '')
  const environment = { ...FREE_PORTS, ACCOUNTS__PATH: 'file/accounts.yaml' }
  const { code, errors } = await run(folder, ['start'], { environment })
  t.equal(code, 1)
  t.match(errors, /^dualgate: .*file\/accounts\.yaml'\n$/)
})

t.test('a port in use is reported, with the setting to change', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as { port: number }
  for (const variable of ['LISTEN__PORT', 'INTERNAL__PORT']) {
    const environment = { ...FREE_PORTS, [variable]: String(port) }
    const { code, errors } = await run(shippedFolder(t), ['start'], { environment })
    t.equal(code, 1)
    t.equal(
      errors,
      `dualgate: 127.0.0.1:${port} is in use by another program; stop it, or set another ${variable.toLowerCase().replace('__', '.')} (${variable})\n`,
    )
  }
})

t.test('a second signal stops a busy gateway at once', async t => {
  const folder = shippedFolder(t)
  const idle = createServer(socket => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(idle, 'listening')
  t.teardown(() => idle.close())
  const { port } = idle.address() as { port: number }
  writeFileSync(
    join(folder, 'config/upstreams.yaml'),
    `upstreams: [{ name: a, match: /api, target: "http://127.0.0.1:${port}" }]\n`,
  )
  const gateway = await started(t, folder)
  const reached = once(idle, 'connection')
  const pending = call(gateway.public, { path: '/api/v1/public/b/slow' }).catch(() => null)
  await reached
  gateway.child.kill('SIGTERM')
  // Until it no longer accepts: from then on it waits for the request.
  while ((await call(gateway.public, { path: '/docs' }).catch(() => null)) !== null)
    await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(await exitOf(gateway, 'SIGTERM'), 1)
  await pending
})
