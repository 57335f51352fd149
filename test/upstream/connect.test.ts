import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import dns from 'node:dns'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { readAddress } from '../../src/upstream/target-address.ts'
import { createConnect } from '../../src/upstream/wire/connect.ts'
import { PATIENCE, until } from '../support/until.ts'

/* How a connection to a target is opened whose name has several addresses. */

const NAME = 'orders.internal'

/** Has a name these addresses, in this order. */
function answerName(t: Pick<Test, 'teardown'>, addresses: readonly string[]): void {
  const { lookup } = dns
  t.teardown(() => Object.assign(dns, { lookup }))
  const all = addresses.map(address => ({ address, family: 4 }))
  Object.assign(dns, {
    lookup: (_name: string, _options: object, done: (fault: null, all: object[]) => void) =>
      setImmediate(done, null, all),
  })
}

/** Listens at 127.0.0.1, and accepts nothing until the test says so. */
const BUSY_SERVER = `
const { parentPort, workerData } = require('node:worker_threads')
const server = require('node:net').createServer(socket => socket.on('error', () => {}).resume())
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port)
  Atomics.wait(workerData, 0, 0)
})`

/** A server that is so busy that the system drops attempts to connect to it. */
async function startBusyServer(t: Test): Promise<{ port: number; recover(): void }> {
  const isFree = new Int32Array(new SharedArrayBuffer(4))
  const server = new Worker(BUSY_SERVER, { eval: true, workerData: isFree })
  const recover = (): void => {
    Atomics.store(isFree, 0, 1)
    Atomics.notify(isFree, 0)
  }
  t.teardown(async () => {
    recover()
    await server.terminate()
  })
  const port = await new Promise<number>(resolve => server.once('message', resolve))
  let waiting = 0
  for (let i = 0; i < 4; i++) {
    const one = connect(port, '127.0.0.1', () => waiting++).on('error', () => {})
    t.teardown(() => one.destroy())
  }
  t.ok(await until(() => waiting >= 2))
  return { port, recover }
}

/** All sockets that are opened meanwhile, and the addresses that Node gives up in favour of others of their name. */
function watchSockets(t: Pick<Test, 'teardown'>): { sockets: Socket[]; slow: string[] } {
  const watched: { sockets: Socket[]; slow: string[] } = { sockets: [], slow: [] }
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    watched.sockets.push(socket)
    socket.on('connectionAttemptTimeout', (ip: string) => watched.slow.push(ip))
  }
  subscribe('net.client.socket', onSocket)
  t.teardown(() => unsubscribe('net.client.socket', onSocket))
  return watched
}

async function begin(t: Test) {
  const busy = await startBusyServer(t)
  // At the second one no server listens.
  answerName(t, ['127.0.0.1', '127.0.0.2'])
  const { sockets, slow } = watchSockets(t)
  const outcomes: [Error | null, Socket | null][] = []
  const opening = createConnect(
    readAddress(`http://${NAME}:${busy.port}`),
    PATIENCE,
    {},
  )((...outcome) => outcomes.push(outcome))
  t.teardown(() => opening.destroy())
  t.ok(await until(() => slow.length > 0))
  return { busy, sockets, opening, outcomes }
}

t.test('an address of a name that is slow has as long as any other target, though the next one is tried', async t => {
  const { busy, sockets, opening, outcomes } = await begin(t)
  busy.recover()
  t.ok(await until(() => outcomes.length > 0))
  const [[error, socket]] = outcomes as [[Error | null, Socket]]
  t.equal(error, null)
  t.equal(socket.remoteAddress, '127.0.0.1')
  t.ok(sockets.every(one => one === socket || one.destroyed))
  opening.destroy()
  t.ok(socket.destroyed)
  t.equal(outcomes.length, 1)
})

t.test('what is given up leaves no attempt behind', async t => {
  const { sockets, opening, outcomes } = await begin(t)
  opening.destroy()
  t.ok(sockets.every(({ destroyed }) => destroyed))
  t.same(outcomes, [])
})

t.test(
  'connections to a name that is being looked up wait for that answer, and later ones look it up again',
  async t => {
    const server = createServer(socket => socket.on('error', () => {}).resume())
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const asked: { name: string; answer(...answer: [Error] | [null, { address: string; family: number }[]]): void }[] =
      []
    const { lookup } = dns
    t.teardown(() => Object.assign(dns, { lookup }))
    Object.assign(dns, {
      lookup: (name: string, _options: object, answer: (typeof asked)[number]['answer']) =>
        asked.push({ name, answer }),
    })
    const outcomes: (Error | null)[] = []
    const open = (name: string, count: number): void => {
      const connect = createConnect(readAddress(`http://${name}:${port}`), PATIENCE, {})
      for (let i = 0; i < count; i++) {
        const opening = connect((...[error]) => void outcomes.push(error))
        t.teardown(() => opening.destroy())
      }
    }
    open(NAME, 10)
    open('stock.internal', 1)
    t.same(
      asked.map(({ name }) => name),
      [NAME, 'stock.internal'],
    )
    asked[1]!.answer(null, [{ address: '127.0.0.1', family: 4 }])
    t.ok(await until(() => outcomes.length === 1))
    t.same(outcomes, [null])
    asked[0]!.answer(new Error('EAI_AGAIN'))
    t.ok(await until(() => outcomes.length === 11))
    t.ok(outcomes.slice(1).every(error => error?.message === 'EAI_AGAIN'))
    open(NAME, 2)
    t.equal(asked.length, 3)
    asked[2]!.answer(null, [{ address: '127.0.0.1', family: 4 }])
    t.ok(await until(() => outcomes.length === 13))
    t.same(outcomes.slice(11), [null, null])
  },
)
