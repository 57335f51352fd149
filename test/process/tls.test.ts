import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, createServer, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import t from 'tap'
import { ownFileName } from '../../src/store/embedded/file/running-process.ts'
import { call, callRaw } from '../support/client.ts'
import { CHANGING } from '../support/open-lock.ts'
import { ownPorts } from '../support/ports.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'
import { startLoad } from './load.ts'

t.jobs = 2

/* The public port speaks HTTPS. */

const FOLDER = t.testdir()
const TLS = { LISTEN__TLS: '{ cert: tls.crt, key: tls.key }' }

/** A certificate for a name, and its key. */
function certificateFor(name: string): { 'tls.crt': string; 'tls.key': string } {
  const [cert, key] = [join(FOLDER, 'cert.pem'), join(FOLDER, 'key.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, '-subj', `/CN=${name}`], {
    stdio: 'ignore',
  })
  return { 'tls.crt': readFileSync(cert, 'utf8'), 'tls.key': readFileSync(key, 'utf8') }
}

/** The name in the certificate that a new client gets. */
async function nameAt(url: string): Promise<string> {
  const socket = await greeted(url)
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return subject.CN as string
}

function greeted(url: string, options: { session?: Buffer } = {}): Promise<TLSSocket> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ ...options, host: hostname, port: Number(port), rejectUnauthorized: false })
    socket.once('secureConnect', () => resolve(socket))
    socket.once('error', reject)
  })
}

function ask(url: string, agent: Agent, token: string): Promise<IncomingMessage & { text: string }> {
  return new Promise((answered, failed) => {
    const options = { agent, rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` } }
    get(`${url}/api/v1/c/x`, options, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => answered(Object.assign(response, { text })))
    }).on('error', failed)
  })
}

for (const workers of ['1', '2']) {
  t.test(`a certificate is replaced while clients go on, with ${workers} of workers`, async t => {
    const environment = { ...TLS, WORKERS: workers }
    const gateway = await startSupervised(t, { environment, files: certificateFor('one.example') })
    t.match(gateway.url, /^https:/)
    t.equal(await nameAt(gateway.url), 'one.example')
    gateway.backend.answer = (request, response) => void response.end(String(request.headers['x-forwarded-proto']))
    const options = { token: gateway.token, path: '/api/v1/c/x', clients: 8, rate: 50, expected: 'https' }
    const load = startLoad(t, gateway.url, options)

    for (const [file, text] of Object.entries(certificateFor('two.example'))) gateway.write(file, text)
    t.ok(await until(async () => (await nameAt(gateway.url)) === 'two.example'))
    t.ok(await until(() => gateway.logged('the certificate was renewed').length === 1))

    gateway.write('tls.key', certificateFor('three.example')['tls.key'])
    const refused = () => gateway.logged('the certificate was not renewed; the previous one stays in use')
    t.ok(await until(() => refused().length === 1), 'a key of another certificate is not taken')
    t.match(refused()[0]?.faults, [{ message: /is not the key of the certificate/ }])
    for (let tries = 0; tries < 4; tries++) t.equal(await nameAt(gateway.url), 'two.example')

    t.ok(await until(() => load.outcome.answered > 50))
    t.same((await load.stop()).failures, [])
  })
}

t.test('a certificate is logged as renewed when every worker has it', async t => {
  const gateway = await startSupervised(t, { environment: TLS, files: certificateFor('one.example') })
  const [stopped] = gateway.workers()
  process.kill(stopped!, 'SIGSTOP')
  for (const [file, text] of Object.entries(certificateFor('two.example'))) gateway.write(file, text)
  // One client is handed to the worker that does nothing; the next ones to the other worker.
  const name = () => Promise.any([nameAt(gateway.url), nameAt(gateway.url)])
  t.ok(await until(async () => (await name()) === 'two.example'), 'one worker has it')
  t.same(gateway.logged('the certificate was renewed'), [])
  process.kill(stopped!, 'SIGCONT')
  t.ok(await until(() => gateway.logged('the certificate was renewed').length === 1))
})

t.test('a certificate that cannot be reached ends no process, and is taken when it is back', async t => {
  const gateway = await startSupervised(t, { environment: TLS, files: certificateFor('one.example') })
  const file = join(gateway.folder, 'tls.crt')
  // Put in its place at once: a file that is missing for longer is another fault.
  symlinkSync('tls.crt', `${file}~`)
  renameSync(`${file}~`, file)
  const refused = () => gateway.logged('the certificate was not renewed; the previous one stays in use')
  t.ok(await until(() => refused().length === 1))
  t.match(refused()[0]?.faults, [{ message: /cannot be read \(ELOOP\)/ }])
  t.equal(await nameAt(gateway.url), 'one.example')

  rmSync(file)
  for (const [name, text] of Object.entries(certificateFor('two.example'))) gateway.write(name, text)
  t.ok(await until(async () => (await nameAt(gateway.url)) === 'two.example'))
})

t.test('a worker that comes after a faulty renewal has the certificate of the others', async t => {
  const environment = { ...TLS, ...(await ownPorts()) }
  const gateway = await startSupervised(t, { environment, files: certificateFor('one.example') })
  gateway.write('tls.crt', 'nothing')
  for (const worker of gateway.workers()) process.kill(worker, 'SIGKILL')
  const name = () => nameAt(gateway.url).catch(() => null)
  t.ok(await until(async () => (await name()) === 'one.example'))
})

t.test('workers that start during a renewal have the new certificate', async t => {
  const environment = { ...TLS, ...(await ownPorts()) }
  const gateway = await startSupervised(t, { environment, files: certificateFor('one.example') })
  const store = join(gateway.folder, 'data', 'sessions.mdb')
  // The store is opened when no process changes it, and until then it is being opened.
  const changing = join(`${store}-processes`, ownFileName('changing'))
  writeFileSync(changing, CHANGING)
  for (const worker of gateway.workers()) process.kill(worker, 'SIGKILL')
  t.ok(await until(() => readdirSync(`${store}-opening`).length === 2))
  for (const [file, text] of Object.entries(certificateFor('two.example'))) gateway.write(file, text)
  t.ok(await until(() => gateway.logged('the certificate was renewed').length === 1))
  rmSync(changing)
  t.equal(await until(() => nameAt(gateway.url).catch(() => null)), 'two.example')
})

t.test('workers that start while a file of certificates is changed use it as it was checked', async t => {
  const { 'tls.crt': cert, 'tls.key': key } = certificateFor('backend.example')
  const backend = createServer({ cert, key }, (_, response) => void response.end('served'))
  backend.listen(0, '127.0.0.1')
  await once(backend, 'listening')
  t.teardown(() => {
    backend.close()
    backend.closeAllConnections()
  })
  const target = `https://127.0.0.1:${(backend.address() as AddressInfo).port}`
  const entry = `{ name: a, match: /api, target: "${target}", tls: { ca: ca.pem, server_name: backend.example } }`
  const files = { 'config/ca.pem': cert, 'config/upstreams.yaml': `upstreams: [${entry}]\n` }
  const gateway = await startSupervised(t, { files, environment: await ownPorts() })
  const visit = () => call(gateway.url, { token: gateway.token, path: '/api/v1/c/x' })
  t.equal((await visit()).text, 'served')

  gateway.write('config/ca.pem', 'half of a certi')
  const before = gateway.workers()
  for (const worker of before) process.kill(worker, 'SIGKILL')
  // Nothing listens until the first of the new ones does.
  t.equal(
    await until(() =>
      visit()
        .then(({ text }) => text === 'served' && text)
        .catch(() => false as const),
    ),
    'served',
  )
  t.ok(await until(() => gateway.logged('a new worker replaced it').length === before.length))
  t.match(await gateway.reload(), { code: 1, errors: /holds no certificate in PEM form/ }, 'a reload reads it again')
})

t.test('a client can resume its TLS session with every worker', async t => {
  const gateway = await startSupervised(t, { environment: TLS, files: certificateFor('one.example') })
  const first = await greeted(gateway.url)
  const session = await new Promise<Buffer>(resolve => {
    first.once('session', resolve)
    first.write('GET /docs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    first.resume()
  })
  for (let tries = 0; tries < 4; tries++) {
    const again = await greeted(gateway.url, { session })
    t.ok(again.isSessionReused())
    again.destroy()
  }
})

t.test('plain HTTP or invalid data on the TLS port closes only that connection', async t => {
  const gateway = await startSupervised(t, { environment: TLS, files: certificateFor('one.example') })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const base = gateway.url.replace('https:', 'http:')
  for (const bytes of ['GET /docs HTTP/1.1\r\nHost: x\r\n\r\n', '\x16\x03\x01\xff\xff nonsense', '\0'.repeat(1000)]) {
    t.notMatch(await callRaw(base, bytes), 'HTTP/1.1 200')
  }
  t.equal((await ask(gateway.url, agent, gateway.token)).statusCode, 200)
  t.same(gateway.logged('a worker crashed'), [])
})

t.test('TLS before 1.2 is refused', async t => {
  const gateway = await startSupervised(t, { environment: TLS, files: certificateFor('one.example') })
  const { hostname, port } = new URL(gateway.url)
  const old = connect({
    host: hostname,
    port: Number(port),
    rejectUnauthorized: false,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  const outcome = await new Promise(resolve => {
    old.once('secureConnect', () => resolve('greeted'))
    old.once('error', () => resolve('refused'))
  })
  old.destroy()
  t.equal(outcome, 'refused')
})
