import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { createTestClock } from '../support/clock.ts'
import { openForwardFixture, TOKEN } from '../support/forward-fixture.ts'
import { freePort } from '../support/ports.ts'
import { PATIENCE, until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

t.jobs = 3

/*
 * One backend among three healthy ones goes bad under load. Clients see at most the requests that it had, and those
 * few that it takes to see what it is; then it is left out, until it is good again.
 */

const C = '/api/v1/c/things'
const CLIENTS = 16
const FAILURES = 5

/** A backend of bare TCP that can be made bad in several ways, and good again at the same address. */
class Patient {
  port = 0
  /** Numbers of the requests that it got. */
  readonly heard: number[] = []
  answer: (socket: Socket) => void = Patient.good
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null

  static good(this: void, socket: Socket): void {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood')
  }

  async start(): Promise<void> {
    const server = createServer(socket => this.#serve(socket))
    if (this.port === 0) this.port = await freePort()
    server.listen(this.port, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => {})
    // Requests of this test come in one packet each.
    socket.on('data', bytes => {
      this.heard.push(Number(/\?n=(\d+)/.exec(bytes.toString('latin1'))?.[1]))
      this.answer(socket)
    })
  }

  async die(): Promise<void> {
    const closed = new Promise(resolve => this.#server?.close(resolve))
    for (const socket of this.#sockets) socket.resetAndDestroy()
    await closed
  }
}

/** A load of requests without end: which were answered, and which were not. */
function startLoad(url: string) {
  const load = { answered: 0, failed: [] as number[], isOver: false }
  let n = 0
  const run = async (): Promise<void> => {
    while (!load.isOver) {
      const mine = n++
      const method = mine % 4 === 0 ? 'POST' : 'GET'
      const body = method === 'POST' ? 'body' : undefined
      const status = await call(url, { method, path: `${C}?n=${mine}`, token: TOKEN.consumer, body }).then(
        answer => answer.status,
        () => 0,
      )
      if (status === 200) load.answered++
      else load.failed.push(mine)
    }
  }
  const clients = Array.from({ length: CLIENTS }, run)
  return Object.assign(load, {
    async stop() {
      load.isOver = true
      await Promise.all(clients)
    },
  })
}

async function openScenario(t: Test, silence: number) {
  const healthy = await Promise.all(
    [1, 2, 3].map(() => startUpstream({ answer: (_request, response) => response.end('good') })),
  )
  const patient = new Patient()
  await patient.start()
  const clock = createTestClock(0)
  const targets = [...healthy.map(({ url }) => url), `http://127.0.0.1:${patient.port}`]
  const fixture = await openForwardFixture({
    upstreams: [{ targets, timeouts: { connect: PATIENCE, response: silence, idle: silence } }],
    clock,
  })
  t.teardown(async () => {
    await fixture.close()
    await patient.die()
    for (const backend of healthy) await backend.close()
  })
  const lines = (msg: string) => fixture.log.filter(line => line.msg === msg)
  return { ...fixture, patient, clock, lines }
}

const OK = 'HTTP/1.1 200 OK\r\n'

const DIES = 'dies with all its connections'
const NEVER_ANSWERS = 'takes requests and never answers'
const FALLS_SILENT = 'sends half a body and falls silent'

/** Longer than a busy machine keeps a healthy backend from its answer: a POST that it gets is not sent to another one. */
const SILENCE = 10_000

/** What goes wrong with it. */
const ILLS: Record<string, (patient: Patient) => void | Promise<void>> = {
  [DIES]: patient => patient.die(),
  [NEVER_ANSWERS]: patient => {
    patient.answer = () => {}
  },
  'answers garbage': patient => {
    patient.answer = socket => socket.write('garbage\r\n\r\n')
  },
  'closes instead of answering': patient => {
    patient.answer = socket => socket.end()
  },
  'sends half a body and closes': patient => {
    patient.answer = socket => socket.end(`${OK}Content-Length: 100\r\n\r\nhalf`)
  },
  [FALLS_SILENT]: patient => {
    patient.answer = socket => socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`)
  },
}

for (const [ill, befall] of Object.entries(ILLS)) {
  t.test(`a backend that ${ill}, among three healthy ones, fails only its own requests`, async t => {
    const isSilent = ill === NEVER_ANSWERS || ill === FALLS_SILENT
    const { url, patient, clock, lines } = await openScenario(t, isSilent ? SILENCE : PATIENCE)
    const load = startLoad(url)
    t.ok(await until(() => patient.heard.length > 20))
    t.same(load.failed, [])

    await befall(patient)
    t.ok(await until(() => lines('target ejected').length === 1))
    const [ejection] = lines('target ejected')
    t.match(ejection, { level: 40, upstream: 'backend', target: `http://127.0.0.1:${patient.port}`, duration: 10_000 })
    t.type(ejection!.err.message, 'string', 'and why')
    const answeredAfter = async (count: number): Promise<void> => {
      const before = load.answered
      t.ok(await until(() => load.answered > before + count))
    }
    // Those that were on their way to it arrive before so many others are answered.
    await answeredAfter(100)
    const heard = patient.heard.length
    await answeredAfter(150)
    t.equal(patient.heard.length, heard, 'it gets no more requests')

    await patient.die()
    patient.answer = Patient.good
    await patient.start()
    clock.time += 10_000
    t.ok(await until(() => lines('target returned').length === 1))
    t.match(lines('target returned')[0], { level: 30, upstream: 'backend' })
    t.ok(await until(() => patient.heard.length > heard + 20), 'it has its share again')

    await load.stop()
    t.ok(load.failed.length <= CLIENTS + FAILURES, `${load.failed.length} failed`)
    const unheard = load.failed.filter(n => !patient.heard.includes(n))
    // A dying one may leave unread what has been sent to it.
    if (ill === DIES) t.ok(load.failed.length <= CLIENTS, 'further requests go to other targets')
    else t.same(unheard, [], 'none of them was lost anywhere else')
    t.equal(lines('target ejected').length, 1)
  })
}

t.test('if every backend fails, all are tried, and the first healthy one is used again', async t => {
  const patients = [new Patient(), new Patient()]
  for (const patient of patients) await patient.start()
  const clock = createTestClock(0)
  const targets = patients.map(({ port }) => `http://127.0.0.1:${port}`)
  const fixture = await openForwardFixture({ upstreams: [{ targets }], clock })
  t.teardown(async () => {
    await fixture.close()
    for (const patient of patients) await patient.die()
  })
  const ask = async () => (await call(fixture.url, { path: `${C}?n=1`, token: TOKEN.consumer })).status
  for (const patient of patients) await patient.die()
  for (let i = 0; i < 6; i++) t.equal(await ask(), 502)
  t.equal(fixture.log.filter(line => line.msg === 'target ejected').length, 2)
  await patients[1]!.start()
  t.equal(await ask(), 200)
  t.ok(fixture.log.some(line => line.msg === 'target returned' && line.target === targets[1]))
})

t.test('a client whose large bodies are refused before they are read has no target ejected', async t => {
  const patient = new Patient()
  await patient.start()
  const fixture = await openForwardFixture({ upstreams: [{ target: `http://127.0.0.1:${patient.port}` }] })
  t.teardown(async () => {
    await fixture.close()
    await patient.die()
  })
  patient.answer = socket => {
    socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    socket.destroySoon()
  }
  const request = { path: C, token: TOKEN.consumer }
  for (let i = 0; i < 2 * FAILURES; i++) {
    const { status } = await call(fixture.url, { ...request, method: 'PUT', body: Buffer.alloc(20_000_000) })
    t.equal(status, 413)
  }
  t.notOk(fixture.log.some(line => line.msg === 'target ejected'))
  patient.answer = Patient.good
  t.equal((await call(fixture.url, request)).status, 200)
})
