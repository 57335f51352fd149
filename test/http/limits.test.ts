import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openWorld } from '../world.ts'

/* How long the public listener waits for its callers. */

async function openImpatient(t: Test, timeouts: Record<string, string>) {
  const world = await openWorld({ config: { listen: { host: '127.0.0.1', port: 0, timeouts } } })
  t.teardown(() => world.close())
  const { port } = new URL(world.url)
  return {
    world,
    /** What came back until the gateway ended the connection. */
    async say(speak: (socket: Socket) => void): Promise<string> {
      const socket = connect(Number(port), '127.0.0.1')
      t.teardown(() => socket.destroy())
      let heard = ''
      socket.on('data', chunk => {
        heard += chunk
      })
      socket.on('error', () => {})
      speak(socket)
      await once(socket, 'close')
      return heard
    },
  }
}

t.test('a head that comes byte by byte is not waited for', async t => {
  const { say } = await openImpatient(t, { headers: '1s' })
  const heard = await say(socket => {
    socket.write('GET /docs HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const timer = setInterval(() => socket.write('x'), 100)
    socket.once('close', () => clearInterval(timer))
  })
  t.match(heard, /^HTTP\/1\.1 408 /)
})

t.test('a connection that says nothing at all is ended', async t => {
  const { say } = await openImpatient(t, { headers: '1s' })
  t.match(await say(() => {}), /^(HTTP\/1\.1 408 |$)/)
})

t.test('a body of which nothing more arrives is not waited for', async t => {
  const { say, world } = await openImpatient(t, { body: '500ms' })
  const heard = await say(socket =>
    socket.write(
      'POST /api/v1/public/b/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    ),
  )
  t.notMatch(heard, 'HTTP/1.1 200')
  t.equal((await world.get('/api/v1/public/b/x')).status, 200, 'others are served')
})

t.test('a body that is slow but comes is waited for', async t => {
  const { say } = await openImpatient(t, { body: '1s' })
  const LENGTH = 20
  const heard = await say(socket => {
    socket.write(
      `POST /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${LENGTH}\r\n\r\n`,
    )
    let sent = 0
    const timer = setInterval(() => (sent++ < LENGTH ? socket.write('x') : clearInterval(timer)), 100)
    socket.once('close', () => clearInterval(timer))
  })
  t.match(heard, /^HTTP\/1\.1 200 /)
})

t.test('an idle connection is ended', async t => {
  const { say } = await openImpatient(t, { keep_alive: '300ms' })
  t.match(await say(socket => socket.write('GET /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\n\r\n')), /^HTTP\/1\.1 200 /)
})

t.test('connections beyond the most there may be are closed, and the log says so', async t => {
  const world = await openWorld({ config: { listen: { host: '127.0.0.1', port: 0, max_connections: 2 } } })
  t.teardown(() => world.close())
  const { port } = new URL(world.url)
  const open = async (): Promise<Socket> => {
    const socket = connect(Number(port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const ask = async (socket: Socket): Promise<string> => {
    socket.write('GET /api/v1/public/b/x HTTP/1.1\r\nHost: x\r\n\r\n')
    const [answer] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
    return String(answer)
  }
  const [first, second] = [await open(), await open()]
  t.match(await ask(first), /^HTTP\/1\.1 200 /)
  t.match(await ask(second), /^HTTP\/1\.1 200 /)
  const third = await open()
  t.notMatch(await ask(third), /^HTTP/)
  t.ok(world.log.some(line => line.includes('a connection was closed')))
  first.destroy()
  await once(first, 'close')
  t.match(await ask(second), /^HTTP\/1\.1 200 /, 'those that are open are served')
})
