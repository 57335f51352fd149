import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import t from 'tap'
import type { HttpTarget } from '../../src/upstream/targets.ts'
import { isTimeout } from '../../src/upstream/wire/connection-faults.ts'
import type { Link, Receiver } from '../../src/upstream/wire/receiver.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'
import { startRawUpstream, startUpstream } from '../support/upstream.ts'
import { openTarget } from './target-fixture.ts'

const GET = { method: 'GET', path: '/', headers: ['host', 'h'], body: null, client: 'c' }

/** A receiver that ignores everything; a test overrides the calls that it checks. */
const receiver = (parts: Partial<Receiver>): Receiver => ({
  onConnect: () => {},
  onHeaders: () => {},
  onData: () => {},
  onAwait: () => {},
  onComplete: () => {},
  onError: () => {},
  ...parts,
})

/** Holds its connection after each chunk. */
function holder({ onHeld, ...parts }: Partial<Receiver> & { onHeld(chunk: Buffer, link: Link): void }): Receiver {
  let link: Link
  const held: Receiver = receiver({
    ...parts,
    onConnect: connected => {
      link = connected
      parts.onConnect?.(link)
    },
    onData: chunk => {
      link.hold(held)
      onHeld(chunk, link)
    },
  })
  return held
}

/** Takes a response in small steps: after each chunk the connection is held for a while. */
function takeSlowly(target: HttpTarget, pause: number): Promise<{ bytes: number; error: Error | null }> {
  return new Promise(resolve => {
    let bytes = 0
    const slow = holder({
      onHeld: (chunk, link) => {
        bytes += chunk.length
        setTimeout(() => link.resume(slow), pause)
      },
      onComplete: () => resolve({ bytes, error: null }),
      onError: error => resolve({ bytes, error }),
    })
    target.dispatch(GET, slow)
  })
}

for (const head of ['Connection: close', 'Connection: close\r\nContent-Length: 30000', 'Content-Length: 30000']) {
  t.test(
    `a reset while the response is held ends that request and nothing else (${head.replace('\r\n', ', ')})`,
    async t => {
      const upstream = await startRawUpstream(socket => {
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${'x'.repeat(10_000)}`)
        setTimeout(() => socket.write('x'.repeat(10_000)), 30)
        setTimeout(() => socket.resetAndDestroy(), 60)
      })
      t.teardown(() => upstream.close())
      const target = openTarget(t, upstream.url)
      const { error } = await takeSlowly(target, 200)
      // Where the end of the connection ends the body, a reset that comes together with data cannot be told from it.
      if (head.includes('Length')) t.ok(error instanceof Error && !isTimeout(error))
      t.equal(target.open, 0)
    },
  )
}

for (const size of [1000, 65_000, 200_000, 1_000_000]) {
  for (const head of ['Connection: close', `Connection: close\r\nContent-Length: ${size}`, `Content-Length: ${size}`]) {
    t.test(
      `a response whose end arrives while it is held is whole (${size} bytes, ${head.replace('\r\n', ', ')})`,
      async t => {
        const upstream = await startRawUpstream(socket =>
          socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${'x'.repeat(size)}`),
        )
        t.teardown(() => upstream.close())
        const target = openTarget(t, upstream.url)
        t.same(await takeSlowly(target, 15), { bytes: size, error: null })
      },
    )
  }
}

t.test('while a response is held, no more of it is read than fits the buffers', async t => {
  let written = 0
  const upstream = await startUpstream({
    answer: (_request, response) => {
      const chunk = Buffer.alloc(65_536)
      const write = () => {
        while (written < 200_000_000) {
          written += chunk.length
          if (!response.write(chunk)) return
        }
        response.end()
      }
      response.on('drain', write)
      write()
    },
  })
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url)
  let taken = 0
  const slow = holder({
    onHeld: chunk => {
      taken += chunk.length
    },
  })
  target.dispatch(GET, slow)
  let before = -1
  while (before !== written || written === 0) {
    before = written
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  t.ok(taken <= 65_536, `${taken} bytes were taken`)
  t.ok(written < 100_000_000, `${written} bytes were written`)
})

t.test('a connection that was held is whole for the next request', async t => {
  const upstream = await startUpstream({ answer: (_request, response) => response.end('x'.repeat(100_000)) })
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url)
  for (let i = 0; i < 5; i++) {
    const bytes = await new Promise<number>((resolve, reject) => {
      let received = 0
      const slow = holder({
        onHeld: (chunk, link) => {
          received += chunk.length
          setImmediate(() => link.resume(slow))
        },
        onComplete: () => resolve(received),
        onError: reject,
      })
      target.dispatch(GET, slow)
    })
    t.equal(bytes, 100_000)
  }
  t.ok((await upstream.connections()) <= 2, 'connections are used again')
})

t.test('a receiver whose response is over changes nothing of the next one on its connection', async t => {
  const upstream = await startUpstream({ answer: (_request, response) => response.end('x'.repeat(1_000_000)) })
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url, { limit: 1 })
  const links: Link[] = []
  const former = await new Promise<Receiver>((resolve, reject) => {
    const first: Receiver = receiver({
      onConnect: link => links.push(link),
      onComplete: () => resolve(first),
      onError: reject,
    })
    target.dispatch(GET, first)
  })
  let isHeld = false
  const received = await new Promise<number>((resolve, reject) => {
    let bytes = 0
    const next = holder({
      onConnect: link => links.push(link),
      onHeld: (chunk, link) => {
        t.notOk(isHeld, 'what is held stays held')
        bytes += chunk.length
        isHeld = true
        link.resume(former)
        setTimeout(() => {
          isHeld = false
          link.resume(next)
          link.hold(former)
        }, 5)
      },
      onComplete: () => resolve(bytes),
      onError: reject,
    })
    target.dispatch(GET, next)
  })
  t.equal(received, 1_000_000)
  t.equal(links[0], links[1])
})

t.test('a request whose client left while it waited for a connection is never written', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url)
  const left = new Error('left')
  const error = await new Promise(resolve => {
    const leaving = receiver({ onConnect: link => link.abort(leaving, left), onError: resolve })
    target.dispatch(GET, leaving)
  })
  t.equal(error, left)
  t.equal(target.open, 0)
  await new Promise<void>(resolve => target.dispatch(GET, receiver({ onComplete: () => resolve() })))
  t.equal(upstream.requests.length, 1)
})

t.test('a connection that was given back before its first use is closed when it was idle for its time', async t => {
  const upstream = await startRawUpstream(() => {})
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url, { idle: 50 })
  await new Promise(resolve => {
    const leaving = receiver({ onConnect: link => link.abort(leaving, new Error('left')), onError: resolve })
    target.dispatch(GET, leaving)
  })
  t.ok(await until(() => upstream.sockets.size === 1))
  t.ok(await until(() => upstream.sockets.size === 0))
})

t.test('a request whose used connection closes before it is written has no link until the next connection', async t => {
  const sockets: Socket[] = []
  const onSocket = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket)
  const upstream = await startRawUpstream(socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url)
  subscribe('net.client.socket', onSocket)
  t.teardown(() => unsubscribe('net.client.socket', onSocket))
  const answered = (calls: string[] = []): Promise<string[]> =>
    new Promise(resolve =>
      target.dispatch(
        GET,
        receiver({
          onConnect: () => void calls.push('link'),
          onUnsent: () => void calls.push('no link'),
          onComplete: () => resolve(calls),
          onError: error => resolve([error.message]),
        }),
      ),
    )
  await answered()
  const [used] = sockets.filter(({ remotePort }) => remotePort === upstream.port)
  // The next request may use it now.
  await until(() => target.open === 0)
  await new Promise(setImmediate)
  const second = answered()
  used!.destroy()
  t.same(await second, ['link', 'no link', 'link'])
  t.equal(upstream.heard.length, 2)
})

t.test('a refused connection is an error without a connection, not a timeout', async t => {
  const target = openTarget(t, `http://127.0.0.1:${await freePort()}`)
  let connected = false
  const error = await new Promise<Error>(resolve =>
    target.dispatch(
      GET,
      receiver({
        onConnect: () => {
          connected = true
        },
        onError: resolve,
      }),
    ),
  )
  t.match(error, { code: 'ECONNREFUSED' })
  t.notOk(connected)
  t.notOk(isTimeout(error))
})

t.test('closing ends requests in progress and closes the connections', async t => {
  const upstream = await startUpstream({ answer: () => {} })
  t.teardown(() => upstream.close())
  const target = openTarget(t, upstream.url)
  const failed = new Promise<Error>(resolve => target.dispatch(GET, receiver({ onError: resolve })))
  await until(() => upstream.requests.length > 0)
  target.close()
  t.ok(await failed)
  await until(async () => (await upstream.connections()) === 0)
  t.equal(upstream.open, 0)
})
