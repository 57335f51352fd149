import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A way to Redis on which a test can hold up the announcements alone. */
export interface Relay {
  url: string
  /** Nothing reaches the subscribers; no connection is closed, and others go on. */
  hold(): void
  release(): void
}

export async function startRelay(t: Test, port: number): Promise<Relay> {
  const sockets = new Set<Socket>()
  /** The way from Redis of those who have subscribed. */
  const subscribed = new Set<Socket>()
  let held = false

  const server = createServer(client => {
    const redis = connect(port, '127.0.0.1')
    client.on('data', chunk => {
      if (chunk.toString('latin1').includes('subscribe')) {
        subscribed.add(redis)
        if (held) redis.pause()
      }
      redis.write(chunk)
    })
    redis.on('data', chunk => client.write(chunk))
    for (const [socket, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        subscribed.delete(socket)
        other.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold() {
      held = true
      for (const socket of subscribed) socket.pause()
    },
    release() {
      held = false
      for (const socket of subscribed) socket.resume()
    },
  }
}
