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

const { folder, remove } = newcomerFolder()
t.teardown(remove)
const gateway: GatewayProcess = await startGateway(folder, {
  WORKERS: '1',
  LOG__LEVEL: 'warn',
  LISTEN__TIMEOUTS__HEADERS: '2s',
  LISTEN__TIMEOUTS__BODY: '2s',
  LISTEN__TIMEOUTS__KEEP_ALIVE: '2s',
  LOGIN__RATE_LIMIT: 'off',
  // Memory is measured here, and other tests may use the disk at the same time.
  STORE__TIMEOUT: '10s',
})
t.teardown(() => gateway.end('SIGKILL'))
const secret = readFileSync(join(folder, 'data/internal.secret'), 'utf8').trim()
const { port } = new URL(gateway.url)

const residentBytes = (): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8'))![1]) * 1024

const operate = (operation: string, body: unknown): Promise<Answer> =>
  call(gateway.internal, { method: 'POST', path: `/operations/v1/consumer/${operation}`, token: secret, body })

/** The growth of the gateway's memory over something that is done to it. */
async function growthOf(act: () => Promise<void>): Promise<number> {
  const before = residentBytes()
  await act()
  const growth = residentBytes() - before
  t.comment(`memory: ${Math.round(before / MEGABYTE)} MB, and ${Math.round(growth / MEGABYTE)} MB more`)
  return growth
}

/** Sockets that send something, and then wait. */
async function openSockets(
  count: number,
  words: string,
  reads = true,
): Promise<{ sockets: Socket[]; closed(): number }> {
  let closed = 0
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', () => {})
      socket.once('close', () => closed++)
      await once(socket, 'connect')
      socket.write(words)
      if (reads) socket.resume()
      return socket
    }),
  )
  return { sockets, closed: () => closed }
}

async function isServed(): Promise<boolean> {
  return (await call(gateway.url, { path: '/api/v1/public/b/sm2/public-key' })).json().code === 200
}

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
    const growth = await growthOf(async () => {
      const { sockets, closed } = await openSockets(1000, words)
      t.ok(await isServed())
      t.ok(await until(() => closed() === sockets.length), `${closed()} were disconnected`)
    })
    t.ok(growth < BOUND)
    t.ok(await isServed())
  })
}

t.test('finished connections are closed, even if the client keeps them open', async t => {
  const descriptors = (): number => readdirSync(`/proc/${gateway.child.pid}/fd`).length
  await isServed()
  const before = descriptors()
  const sockets = ['nonsense\r\n\r\n', `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n`].map(words =>
    Array.from({ length: 100 }, () => {
      const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
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
  const { byteLength } = Buffer.from(await (await fetch(`${gateway.url}/openapi.json`)).arrayBuffer())
  // More than the system holds back for one connection.
  const asked = Math.ceil((16 * MEGABYTE) / byteLength)
  const growth = await growthOf(async () => {
    const words = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(asked)
    const { sockets } = await openSockets(100, words, false)
    const isOver = async () => {
      // A socket that is not read does not notice that it was closed; one that is written to does.
      for (const socket of sockets) if (!socket.destroyed) socket.write('x')
      return sockets.every(socket => socket.destroyed)
    }
    t.ok(await isServed())
    t.ok(await until(isOver))
  })
  t.ok(growth < BOUND)
})

t.test('heads at the size limit and above leave no memory in use', async t => {
  const growth = await growthOf(async () => {
    for (let round = 0; round < 40; round++) {
      const sizes = Array.from({ length: 25 }, (_, i) => 600 * (i + 1) + 4000)
      const answers = await Promise.all(
        sizes.map(size =>
          call(gateway.url, { path: '/api/v1/c/x', headers: { [`x-${round}-${size}`]: 'x'.repeat(size) } }),
        ),
      )
      for (const answer of answers) t.match(String(answer.json().code), /^(401|431)$/)
    }
  })
  t.ok(growth < BOUND)
})

t.test('thousands of invalid tokens and unknown header names leave no memory in use', async t => {
  const growth = await growthOf(async () => {
    for (let round = 0; round < 100; round++) {
      const asked = Array.from({ length: 50 }, (_, i) => {
        const forged = Buffer.from(`{"jti":"${round}-${i}-${'x'.repeat(1500)}","iat":1}`).toString('base64url')
        const headers = { [`x-${round}-${i}-${'y'.repeat(500)}`]: '1' }
        return call(gateway.url, { path: '/api/v1/c/x', token: `eyJhbGciOiJIUzI1NiJ9.${forged}.AAAA`, headers })
      })
      for (const answer of await Promise.all(asked)) if (answer.json().code !== 401) t.fail('a forged token passed')
    }
  })
  t.ok(growth < BOUND)
})

t.test('thousands of disabled ids, and of sessions of one user, use a proportional amount of memory', async t => {
  const growth = await growthOf(async () => {
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
  const growth = await growthOf(async () => {
    for (let round = 0; round < 20; round++) {
      const drawn = await Promise.all(
        Array.from({ length: 10 }, () => call(gateway.url, { path: '/api/v1/public/b/captcha' })),
      )
      for (const answer of drawn) t.match(String(answer.json().code), /^(200|503)$/)
    }
  })
  t.ok(growth < BOUND)
})
