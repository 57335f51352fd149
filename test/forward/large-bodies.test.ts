import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freeWhenWritten } from '../../src/upstream/wire/free-when-written.ts'
import { createCertificate } from '../support/certificate.ts'
import { openForwardFixture, TOKEN } from '../support/forward-fixture.ts'

/* The memory of a chunk is freed as soon as its bytes are written. So no byte of it may be read, or written, later. */

const folder = mkdtempSync(join(tmpdir(), 'dualgate-bodies-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

/** Not a multiple of any size of a read, and no two parts of it are the same. */
const BODY = Buffer.alloc(9_000_007)
for (let at = 0; at + 4 <= BODY.length; at += 4) BODY.writeUInt32LE(at, at)

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const DIGEST = digestOf(BODY)

async function readAll(message: IncomingMessage, isSlow = false): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) {
    chunks.push(chunk)
    if (isSlow && chunks.length % 20 === 0) await pause(5)
  }
  return Buffer.concat(chunks)
}

/** Answers with the body, and with the digest of what it was sent. */
const answering =
  (withLength: boolean): RequestListener =>
  async (request, response) => {
    response.setHeader('x-digest', digestOf(await readAll(request)))
    if (withLength) response.setHeader('content-length', BODY.length)
    response.write(BODY.subarray(0, 100_000))
    response.end(BODY.subarray(100_000))
  }

async function listening(t: Test, server: ReturnType<typeof createServer>, scheme: string): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `${scheme}://localhost:${(server.address() as AddressInfo).port}`
}

async function before(t: Test, withTls: boolean, withLength: boolean): Promise<string> {
  const certificate = withTls ? createCertificate(folder) : null
  const answers = answering(withLength)
  const server =
    certificate === null
      ? createServer(answers)
      : createTlsServer({ cert: readFileSync(certificate), key: readFileSync(join(folder, 'key.pem')) }, answers)
  const target = await listening(t, server, withTls ? 'https' : 'http')
  const upstream = { target, body_limit: BODY.length, ...(certificate !== null && { tls: { ca: certificate } }) }
  const fixture = await openForwardFixture({ upstreams: [upstream] })
  t.teardown(() => fixture.close())
  return fixture.url
}

for (const withTls of [false, true])
  for (const withLength of [true, false])
    t.test(
      `large bodies arrive as sent, ${withTls ? 'with TLS' : 'without TLS'}, ${withLength ? 'of known length' : 'in chunks'}`,
      async t => {
        const url = await before(t, withTls, withLength)
        for (const isSlow of [false, true, false]) {
          const asked = request(`${url}/api/v1/c/bodies`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${TOKEN.consumer}`,
              ...(withLength && { 'content-length': BODY.length }),
            },
          })
          const answered = once(asked, 'response') as Promise<[IncomingMessage]>
          await pipeline(Readable.from([BODY.subarray(0, 50_000), BODY.subarray(50_000)]), asked)
          const [answer] = await answered
          t.match(answer, { statusCode: 200, headers: { 'x-digest': DIGEST } })
          t.equal(digestOf(await readAll(answer, isSlow)), DIGEST)
        }
      },
    )

t.test('only a long chunk with memory of its own is freed, and only when it was written', t => {
  const chunk = Buffer.from(new ArrayBuffer(65_536))
  t.equal(freeWhenWritten(chunk.subarray(1)), undefined)
  t.equal(freeWhenWritten(Buffer.from(new ArrayBuffer(1000))), undefined)
  const written = freeWhenWritten(chunk)!
  written(new Error('the connection was reset'))
  t.equal(chunk.length, 65_536)
  written(null)
  t.equal(chunk.length, 0)
  t.end()
})
