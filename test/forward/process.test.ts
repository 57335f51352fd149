import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { startUpstream } from '../support/upstream.ts'

const C = '/api/v1/c/things'
const HEADERS = { authorization: TOKEN.consumer }
const GIB = 1024 ** 3
const MIB = 1024 ** 2
/** A tenth of what passes. How much garbage waits for its collection depends on the version of Node: 51 MiB were seen on 26. */
const GARBAGE = 100 * MIB

async function startGateway(t: Test, upstream: WrittenUpstream, env: Record<string, string> = {}) {
  const child: ChildProcess = fork(join(import.meta.dirname, 'gateway-child.js'), [JSON.stringify([upstream])], {
    execArgv: [],
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  t.teardown(async () => {
    const gone = once(child, 'exit')
    child.disconnect()
    await gone
  })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return {
    url,
    /** The peak of resident memory since the last call, in bytes. */
    async peak(): Promise<number> {
      child.send('peak')
      const [message] = await once(child, 'message')
      return message.peak
    },
  }
}

const CHUNK = Buffer.alloc(MIB, 'x')

async function upload(url: string, bytes: number): Promise<IncomingMessage> {
  const request = httpRequest(url + C, {
    method: 'PUT',
    agent: false,
    headers: { ...HEADERS, 'content-length': bytes },
  })
  const answered = once(request, 'response')
  for (let sent = 0; sent < bytes; sent += CHUNK.length) if (!request.write(CHUNK)) await once(request, 'drain')
  request.end()
  return (await answered)[0]
}

async function download(url: string, bytes: number): Promise<number> {
  const request = httpRequest(`${url}${C}?${bytes}`, { agent: false, headers: HEADERS }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let received = 0
  for await (const chunk of response) received += chunk.length
  return received
}

t.test('a gibibyte up and a gibibyte down pass through without staying', async t => {
  let arrived = 0
  const backend = await startUpstream({
    take: async (request, response) => {
      if (request.method === 'PUT') {
        arrived = 0
        for await (const chunk of request) arrived += chunk.length
        response.end()
        return
      }
      const bytes = Number(request.url!.split('?')[1])
      for (let sent = 0; sent < bytes; sent += CHUNK.length) if (!response.write(CHUNK)) await once(response, 'drain')
      response.end()
    },
  })
  t.teardown(() => backend.close())
  const gateway = await startGateway(t, { target: backend.url })
  ;(await upload(gateway.url, 64 * MIB)).resume()
  t.equal(await download(gateway.url, 64 * MIB), 64 * MIB)
  const warm = await gateway.peak()

  const answer = await upload(gateway.url, GIB)
  answer.resume()
  t.equal(answer.statusCode, 200)
  t.equal(arrived, GIB)
  const up = await gateway.peak()
  t.ok(up - warm < GARBAGE, `grew by ${Math.round((up - warm) / MIB)} MiB on the way up`)

  t.equal(await download(gateway.url, GIB), GIB)
  const down = await gateway.peak()
  t.ok(down - warm < GARBAGE, `grew by ${Math.round((down - warm) / MIB)} MiB on the way down`)
  t.comment(`warm ${Math.round(warm / MIB)} MiB, up ${Math.round(up / MIB)} MiB, down ${Math.round(down / MIB)} MiB`)
})

t.test('if one end reads slowly, the gateway reads slowly from the other', async t => {
  const SIZE = 128 * MIB
  const pause = () => new Promise(resolve => setTimeout(resolve, 1))
  const backend = await startUpstream({
    take: async (request, response) => {
      const slow = Number(request.headers['content-length']) === SIZE
      if (request.method === 'PUT') for await (const _chunk of request) await (slow ? pause() : null)
      else
        for (let sent = 0; sent < SIZE; sent += CHUNK.length) if (!response.write(CHUNK)) await once(response, 'drain')
      response.end()
    },
  })
  t.teardown(() => backend.close())
  const gateway = await startGateway(t, { target: backend.url })
  // The heap has found its size when there was something to collect.
  ;(await upload(gateway.url, 64 * MIB)).resume()
  t.equal(await download(gateway.url, SIZE), SIZE)
  const warm = await gateway.peak()

  const slowDownload = async (): Promise<void> => {
    const [response] = await once(httpRequest(gateway.url + C, { agent: false, headers: HEADERS }).end(), 'response')
    let received = 0
    for await (const chunk of response) {
      received += chunk.length
      await pause()
    }
    t.equal(received, SIZE)
  }
  const [answer] = await Promise.all([upload(gateway.url, SIZE), slowDownload()])
  t.equal(answer.statusCode, 200)
  answer.resume()
  const grown = (await gateway.peak()) - warm
  t.ok(grown < 50 * MIB, `grew by ${Math.round(grown / MIB)} MiB`)
})

t.test('a certificate is verified against the target’s name, not the client’s Host', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })

  const hosts: unknown[] = []
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    hosts.push(request.headers.host)
    response.end('trusted')
  })
  await new Promise<void>(resolve => server.listen(0, resolve))
  t.teardown(() => new Promise<void>(resolve => server.close(() => resolve()) && server.closeAllConnections()))
  const { port } = server.address() as AddressInfo
  const target = `https://localhost:${port}`
  const gateway = await startGateway(t, { target, host: 'preserve' }, { NODE_EXTRA_CA_CERTS: cert })
  for (const host of ['one.example', 'two.example']) {
    t.match(await call(gateway.url, { path: C, token: TOKEN.consumer, headers: { host } }), {
      status: 200,
      text: 'trusted',
    })
  }
  t.same(hosts, ['one.example', 'two.example'])
})
