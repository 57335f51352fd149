import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { type Answer, call } from '../support/client.ts'
import { type GatewayProcess, newcomerFolder, startGateway } from '../support/process.ts'
import { until } from '../support/until.ts'

/*
 * Clients that cost the gateway more than themselves. Bounds on memory are far above what is used: they find what grows
 * without end, not what is large.
 */

const MEGABYTE = 2 ** 20
/** Far more than any of these may cost, far less than a leak comes to. */
const BOUND = 200 * MEGABYTE

interface Measured extends GatewayProcess {
  port: number
  secret: string
}

/** Starts a gateway with these time limits for its clients. */
async function startWith(limits: Record<string, string>): Promise<Measured> {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const gateway = await startGateway(folder, {
    WORKERS: '1',
    LOG__LEVEL: 'warn',
    ...limits,
    LOGIN__RATE_LIMIT: 'off',
    // Memory is measured here, and other tests may use the disk at the same time.
    STORE__TIMEOUT: '5m',
  })
  t.teardown(() => gateway.end('SIGKILL'))
  const secret = readFileSync(join(folder, 'data/internal.secret'), 'utf8').trim()
  return { ...gateway, port: Number(new URL(gateway.url).port), secret }
}

/** For clients who keep it waiting. */
const impatient = await startWith({
  LISTEN__TIMEOUTS__HEADERS: '2s',
  LISTEN__TIMEOUTS__BODY: '2s',
  LISTEN__TIMEOUTS__KEEP_ALIVE: '2s',
})
/** For those who do not, but whom a busy machine may delay. */
const patient = await startWith({ LISTEN__TIMEOUTS__HEADERS: '5m', LISTEN__TIMEOUTS__BODY: '5m' })

const residentBytes = ({ child }: Measured): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) * 1024

const operate = (operation: string, body: unknown): Promise<Answer> =>
  call(patient.internal, {
    method: 'POST',
    path: `/operations/v1/consumer/${operation}`,
    token: patient.secret,
    body,
  })

/** The growth of a gateway's memory over something that is done to it. */
async function growthOf(gateway: Measured, act: () => Promise<void>): Promise<number> {
  const before = residentBytes(gateway)
  await act()
  const growth = residentBytes(gateway) - before
  t.comment(`memory: ${Math.round(before / MEGABYTE)} MB, and ${Math.round(growth / MEGABYTE)} MB more`)
  return growth
}

/** Sockets that send something to the impatient gateway, and then wait. */
function openSockets(count: number, words: string, reads = true): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(impatient.port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(words)
      if (reads) socket.resume()
      return socket
    }),
  )
}

/** The code that an honest client gets; `null` where a stall of the machine made it one of the slow. */
async function honestCode(): Promise<number | null> {
  const { code } = (await call(impatient.url, { path: '/api/v1/public/b/sm2/public-key' })).json()
  return code === 408 ? null : code
}

/** The code of a client who is served in time, sooner or later. `prepare` runs before each of its requests. */
const served = (prepare: () => Promise<void> = async () => undefined): Promise<number> =>
  until(async () => {
    await prepare()
    return honestCode()
  })

const HEAD = 'POST /api/v1/public/c/x HTTP/1.1\r\nHost: x\r\n'

const SILENT: Readonly<Record<string, string>> = {
  'never send anything': '',
  'never end a head': `${HEAD}X-Slow: `,
  'never send the body of a login': `${HEAD.replace('/c/x', '/b/login')}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  'never send the body that an upstream waits for': `${HEAD}Content-Length: 100\r\n\r\nx`,
  'never end a chunk': `${HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\nx`,
  'never send a second request': `${HEAD.replace('POST', 'GET').replace('/c/x', '/b/sm2/public-key')}\r\n`,
}

for (const [name, words] of Object.entries(SILENT)) {
  t.test(`a thousand clients who ${name} are disconnected, and other clients are served`, async t => {
    const growth = await growthOf(impatient, async () => {
      const sockets: Socket[] = []
      const open = async () => void sockets.push(...(await openSockets(1000, words)))
      t.equal(await served(open), 200)
      t.ok(await until(() => sockets.every(({ closed }) => closed)))
    })
    t.ok(growth < BOUND)
    t.equal(await served(), 200)
  })
}

t.test('finished connections are closed, even if the client keeps them open', async t => {
  const descriptors = (): number => readdirSync(`/proc/${impatient.child.pid}/fd`).length
  await served()
  const before = descriptors()
  const sockets = ['nonsense\r\n\r\n', `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n`].map(words =>
    Array.from({ length: 100 }, () => {
      const socket = connect({ port: impatient.port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => {}).resume()
      socket.write(words)
      return socket
    }),
  )
  for (const kind of sockets) {
    await Promise.all(kind.map(socket => (socket.readableEnded ? null : once(socket, 'end'))))
    t.ok(await until(() => descriptors() < before + 20), `${descriptors()} descriptors after ${before}`)
  }
  for (const socket of sockets.flat()) socket.destroy()
})

t.test('clients that send requests without reading answers are disconnected', async t => {
  const { byteLength } = Buffer.from(
    await until(async () => {
      const { status, text } = await call(impatient.url, { path: '/openapi.json' })
      return status === 200 && text
    }),
  )
  // More than the system holds back for one connection.
  const asked = Math.ceil((16 * MEGABYTE) / byteLength)
  const growth = await growthOf(impatient, async () => {
    const words = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(asked)
    const sockets: Socket[] = []
    const open = async () => void sockets.push(...(await openSockets(100, words, false)))
    const isOver = async () => {
      // A socket that is not read does not notice that it was closed; one that is written to does.
      for (const socket of sockets) if (!socket.destroyed) socket.write('x')
      return sockets.every(socket => socket.destroyed)
    }
    t.equal(await served(open), 200)
    t.ok(await until(isOver))
  })
  t.ok(growth < BOUND)
})

t.test('heads at the size limit and above leave no memory in use', async t => {
  const growth = await growthOf(patient, async () => {
    for (let round = 0; round < 40; round++) {
      const sizes = Array.from({ length: 25 }, (_, i) => 600 * (i + 1) + 4000)
      const answers = await Promise.all(
        sizes.map(size =>
          call(patient.url, { path: '/api/v1/c/x', headers: { [`x-${round}-${size}`]: 'x'.repeat(size) } }),
        ),
      )
      for (const answer of answers) t.match(String(answer.json().code), /^(401|431)$/)
    }
  })
  t.ok(growth < BOUND)
})

t.test('thousands of invalid tokens and unknown header names leave no memory in use', async t => {
  const growth = await growthOf(patient, async () => {
    for (let round = 0; round < 100; round++) {
      const asked = Array.from({ length: 50 }, (_, i) => {
        const forged = Buffer.from(`{"jti":"${round}-${i}-${'x'.repeat(1500)}","iat":1}`).toString('base64url')
        const headers = { [`x-${round}-${i}-${'y'.repeat(500)}`]: '1' }
        return call(patient.url, { path: '/api/v1/c/x', token: `eyJhbGciOiJIUzI1NiJ9.${forged}.AAAA`, headers })
      })
      for (const answer of await Promise.all(asked)) if (answer.json().code !== 401) t.fail('a forged token passed')
    }
  })
  t.ok(growth < BOUND)
})

t.test('thousands of disabled ids, and of sessions of one user, use a proportional amount of memory', async t => {
  const growth = await growthOf(patient, async () => {
    for (let round = 0; round < 60; round++) {
      const disabled = Array.from({ length: 50 }, (_, i) =>
        operate('disable', { user_id: `${round}-${i}-${'z'.repeat(100)}`, seconds: 600 }),
      )
      const sessions = Array.from({ length: 25 }, () =>
        operate('login', { user_id: 'one-user', extra: { text: 'x'.repeat(2000) } }),
      )
      for (const answer of await Promise.all([...disabled, ...sessions])) {
        if (answer.json().code !== 200) t.fail(answer.text)
      }
    }
  })
  t.ok(growth < BOUND)
  t.equal((await operate('kickout', { user_id: 'one-user' })).json().code, 200)
})

t.test('the number of unanswered captchas is bounded', async t => {
  const growth = await growthOf(patient, async () => {
    for (let round = 0; round < 20; round++) {
      const drawn = await Promise.all(
        Array.from({ length: 10 }, () => call(patient.url, { path: '/api/v1/public/b/captcha' })),
      )
      for (const answer of drawn) t.match(String(answer.json().code), /^(200|503)$/)
    }
  })
  t.ok(growth < BOUND)
})
