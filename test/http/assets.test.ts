import { connect, type Socket } from 'node:net'
import { fastify } from 'fastify'
import t, { type Test } from 'tap'
import { serveAsset } from '../../src/http/pages/assets.ts'
import { until } from '../support/until.ts'

/** Far more than the system accepts for a client that does not read. */
const LARGE = 32 * 1024 * 1024

/** A listener with one generated file. Returns its URL, and its end of the last connection. */
async function serve(t: Test, length: number): Promise<{ url: string; accepted(): Socket | null }> {
  const app = fastify()
  let accepted: Socket | null = null
  app.server.on('connection', socket => {
    accepted = socket
  })
  serveAsset(app, { path: '/file.js', from: () => 'x'.repeat(length) })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url: `${url}/file.js`, accepted: () => accepted }
}

t.test('of a large file only a part is written ahead of a client that does not read', async t => {
  const { url, accepted } = await serve(t, LARGE)
  const client = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  t.teardown(() => client.destroy())
  client.pause()
  client.write('GET /file.js HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const socket = await until(() => accepted()?.writableNeedDrain && accepted())
  t.ok(socket.writableLength < 1024 * 1024, `${socket.writableLength} bytes wait`)
})

t.test('a file arrives whole, with its length, however long it is', async t => {
  for (const length of [0, 1, 16_384, 16_385, 100_000]) {
    const { url } = await serve(t, length)
    const [plain, zipped, head] = await Promise.all([
      fetch(url, { headers: { 'accept-encoding': 'identity' } }),
      fetch(url),
      fetch(url, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } }),
    ])
    t.equal(plain.headers.get('content-length'), String(length))
    t.equal(head.headers.get('content-length'), String(length))
    t.equal(await plain.text(), 'x'.repeat(length))
    t.equal(await zipped.text(), 'x'.repeat(length))
    t.equal(await head.text(), '')
  }
})
