import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Test } from 'tap'

/** A Redis that reads its data: it answers INFO and what sets up a connection, and refuses the rest. Returns its port. */
export async function startLoadingRedis(t: Test): Promise<number> {
  const info = 'loading:1\r\nloading_eta_seconds:1000\r\n'
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.on('data', bytes => {
      for (const [, name] of String(bytes).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        if (/^info$/i.test(name!)) socket.write(`$${info.length}\r\n${info}\r\n`)
        else socket.write(/^client$/i.test(name!) ? '+OK\r\n' : '-LOADING Redis is loading the dataset in memory\r\n')
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}
