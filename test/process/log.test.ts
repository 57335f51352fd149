import { once } from 'node:events'
import { writeFileSync, writeSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type NamedPipe, openNamedPipe } from '../support/named-pipe.ts'
import { ownPorts } from '../support/ports.ts'
import { type Supervised, startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

t.jobs = 2

/* What becomes of the lines of the log when the gateway ends, or when their reader is slow. */

const PATH = `/api/v1/c/${'x'.repeat(50)}`

/** Clients with a request id of their own for each request. */
function startClients(t: Test, gateway: Supervised, count = 16) {
  const answered: string[] = []
  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  async function ask(client: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let number = 0; !isOver; number++) {
      const id = `client-${client}-request-${number}`
      if (await isAnswered(gateway, agent, id)) answered.push(id)
      else await new Promise(resolve => setTimeout(resolve, 20))
    }
    agent.destroy()
  }
  const running = Promise.all(Array.from({ length: count }, (_, client) => ask(client)))
  return {
    answered,
    async stop() {
      isOver = true
      await running
    },
  }
}

/** Whether a request is answered completely; it is not if no process accepts it. */
function isAnswered({ url, token }: Supervised, agent: Agent, id: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': id }
  return new Promise(resolve => {
    const sent = request(url + PATH, { agent, headers }, response => {
      response.resume()
      response.on('error', () => resolve(false))
      response.on('end', () => resolve(true))
    })
    sent.on('error', () => resolve(false))
    sent.end()
  })
}

async function startLogged(t: Test, workers: string, environment: Record<string, string> = {}) {
  const pipe = openNamedPipe(t)
  const gateway = await startSupervised(t, {
    pipe,
    environment: { WORKERS: workers, LOG__ACCESS: 'on', ...environment },
  })
  return { pipe, gateway }
}

/** Expects one whole line for each answered request, when every process of the gateway has ended. `logged` parses each. */
async function expectLines(t: Test, gateway: Supervised, { reader }: NamedPipe, answered: string[]): Promise<void> {
  if (!reader.readableEnded) await once(reader, 'end')
  const ids = idsOf(gateway)
  t.equal(new Set(ids).size, ids.length, 'no line is written twice')
  t.same(missingLines(gateway, answered), [])
}

const idsOf = (gateway: Supervised): string[] => gateway.logged('request').map(({ trace_id }) => trace_id)

/** The answered requests without a line. */
function missingLines(gateway: Supervised, answered: readonly string[]): string[] {
  const logged = new Set(idsOf(gateway))
  return answered.filter(id => !logged.has(id))
}

t.test('SIGTERM under load loses no line', async t => {
  const { gateway, pipe } = await startLogged(t, '1')
  const clients = startClients(t, gateway)
  t.ok(await until(() => clients.answered.length > 500))
  t.equal(await gateway.end('SIGTERM'), 0)
  await clients.stop()
  await expectLines(t, gateway, pipe, clients.answered)
})

t.test('neither a reload under load nor a stop of all workers loses a line', async t => {
  const { gateway, pipe } = await startLogged(t, '2')
  const clients = startClients(t, gateway)
  t.ok(await until(() => clients.answered.length > 100))
  await replaceWorkers(t, gateway)
  t.equal(await gateway.end('SIGTERM'), 0)
  await clients.stop()
  await expectLines(t, gateway, pipe, clients.answered)
})

async function replaceWorkers(t: Test, gateway: Supervised): Promise<void> {
  const before = gateway.workers()
  t.equal((await gateway.reload()).code, 0)
  t.ok(await until(() => gateway.workers().every(worker => !before.includes(worker))))
}

/** A module that makes a process throw when it gets SIGUSR2. */
const CRASHES = "process.on('SIGUSR2', () => { throw new Error('a fault of the gateway') })"

function crashing(t: Test): Record<string, string> {
  const file = join(t.testdir(), 'crash.cjs')
  writeFileSync(file, CRASHES)
  return { NODE_OPTIONS: `--require "${file}"` }
}

t.test('a crash under load loses no line', async t => {
  const { gateway, pipe } = await startLogged(t, '1', crashing(t))
  const clients = startClients(t, gateway)
  t.ok(await until(() => clients.answered.length > 500))
  gateway.child.kill('SIGUSR2')
  await once(gateway.child, 'exit')
  await clients.stop()
  t.match(gateway.output(), 'a fault of the gateway')
  await expectLines(t, gateway, pipe, clients.answered)
})

t.test('neither a crash of workers nor the sudden end of their primary loses a line', async t => {
  const { gateway, pipe } = await startLogged(t, '2', { ...crashing(t), ...(await ownPorts()) })
  const clients = startClients(t, gateway)
  t.ok(await until(() => clients.answered.length > 500))
  for (const worker of gateway.workers()) process.kill(worker, 'SIGUSR2')
  t.ok(await until(() => gateway.logged('a new worker replaced it').length === 2))
  const before = clients.answered.length
  t.ok(await until(() => clients.answered.length > before + 100))
  await gateway.end('SIGKILL')
  await clients.stop()
  await expectLines(t, gateway, pipe, clients.answered)
})

const USERS = Array.from({ length: 20 }, (_, number) => `user-${number}`)

t.test('while nothing reads the log, requests are answered, their lines wait, and the gateway can end', async t => {
  const { gateway, pipe } = await startLogged(t, '2')
  const clients = startClients(t, gateway)
  const answeredFurther = (): Promise<boolean> => {
    // The lines of so many are three times what a pipe holds.
    const enough = clients.answered.length + 700
    return until(() => clients.answered.length > enough)
  }
  // Workers that end set the pipe to blocking, for all processes that share it.
  await replaceWorkers(t, gateway)
  pipe.reader.pause()
  t.ok(await answeredFurther())
  for (const user_id of USERS) await gateway.operate('consumer', 'login', { user_id })
  pipe.reader.resume()
  t.ok(await until(() => USERS.every(user => gateway.output().includes(`"login_id":"${user}"`))))

  pipe.reader.pause()
  t.ok(await answeredFurther())
  t.equal(await gateway.end('SIGTERM'), 0)
  await clients.stop()
})

/** A module with which a gateway has another standard error: a file that is opened gets the lowest number that is free. */
const errorsAt = (path: string): string => `
const { closeSync, openSync } = require('node:fs')
if (process.env.NODE_UNIQUE_ID === undefined) {
  closeSync(2)
  openSync(${JSON.stringify(path)}, 'w')
}
${CRASHES}`

/** A gateway with a standard error that is full, and blocking. */
async function startUnread(t: Test): Promise<Supervised> {
  const pipe = openNamedPipe(t)
  const file = join(t.testdir(), 'errors.cjs')
  writeFileSync(file, errorsAt(`/proc/${process.pid}/fd/${pipe.writer}`))
  const gateway = await startSupervised(t, {
    environment: { NODE_OPTIONS: `--require "${file}"`, ...(await ownPorts()) },
  })
  // Workers that end set it to blocking.
  await replaceWorkers(t, gateway)
  for (const text of ['x'.repeat(4096), 'x']) {
    const write = (): boolean => {
      try {
        return writeSync(pipe.writer, text) > 0
      } catch {
        return false
      }
    }
    while (write());
  }
  return gateway
}

t.test('while nothing reads standard error, a reload warns, and the gateway can end', async t => {
  const gateway = await startUnread(t)
  gateway.write('.env', 'LOG__LEVEL=warn\n')
  t.equal((await gateway.reload()).code, 0)
  t.match(gateway.logged('the configuration has a warning').at(-1), { warning: { place: '.env LOG__LEVEL' } })
  t.equal(await gateway.end('SIGTERM'), 0)
})

t.test('while nothing reads standard error, workers that crash end and are replaced', async t => {
  const gateway = await startUnread(t)
  const crashed = gateway.workers()
  for (const worker of crashed) process.kill(worker, 'SIGUSR2')
  t.ok(await until(() => gateway.logged('a new worker replaced it').length === 2))
  t.equal(await gateway.end('SIGTERM'), 0)
})
