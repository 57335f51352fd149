import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { forwardTo, TOKEN } from '../support/forward-fixture.ts'

/** An upstream whose answer, in chunks of these sizes, is one write. */
async function answering(t: Test, sizes: readonly number[]): Promise<string> {
  const chunks = sizes.map((size, index) => `${size.toString(16)}\r\n${String(index).repeat(size)}\r\n`)
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () =>
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const headers = { authorization: `Bearer ${TOKEN.consumer}` }

t.test('every chunk of an answer that arrives at once reaches the client, in its order', async t => {
  for (const sizes of [
    [20_000, 5_000],
    [5_000, 20_000],
    [20_000, 5_000, 5_000],
    [5_000, 20_000, 5_000],
    [1, 2, 3],
  ]) {
    const { url } = await forwardTo(t, await answering(t, sizes))
    const text = await (await fetch(`${url}/api/v1/c/x`, { headers })).text()
    t.ok(
      text === sizes.map((size, index) => String(index).repeat(size)).join(''),
      `${sizes.join(' and ')}: ${text.length}`,
    )
  }
})
