import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../support/client.ts'
import { openForwardFixture, TOKEN, type WrittenUpstream } from '../support/forward-fixture.ts'
import { until } from '../support/until.ts'
import { type Recorder, startRawUpstream, startUpstream } from '../support/upstream.ts'

t.jobs = 6

const C = '/api/v1/c/things'

async function before(t: Test, upstream: WrittenUpstream) {
  const fixture = await openForwardFixture({ upstreams: [upstream] })
  t.teardown(() => fixture.close())
  return {
    ...fixture,
    ask: (method = 'GET', body?: string) => call(fixture.url, { method, path: C, token: TOKEN.consumer, body }),
  }
}

async function backends(t: Test, names: string[]): Promise<Recorder[]> {
  const started = await Promise.all(
    names.map(name => startUpstream({ answer: (_request, response) => response.end(name) })),
  )
  t.teardown(() => Promise.all(started.map(backend => backend.close())))
  return started
}

t.test('requests go to the targets in turn', async t => {
  const started = await backends(t, ['a', 'b', 'c'])
  const { ask } = await before(t, { targets: started.map(({ url }) => url) })
  const answers: string[] = []
  for (let i = 0; i < 7; i++) answers.push((await ask()).text)
  t.equal(answers.join(''), 'abcabca')
  for (const backend of started) t.equal(backend.requests[0]!.headers.host, `127.0.0.1:${backend.port}`)
})

t.test('with a hash of the login id, each user keeps a target and requests without a session go in turn', async t => {
  const started = await backends(t, ['a', 'b', 'c'])
  const fixture = await openForwardFixture({
    upstreams: [{ targets: started.map(({ url }) => url), balance: { hash: 'login-id' } }],
  })
  t.teardown(() => fixture.close())
  const answersTo = async (path: string, token = ''): Promise<string> => {
    const answers: string[] = []
    for (let i = 0; i < 6; i++) answers.push((await call(fixture.url, { path, token })).text)
    return answers.join('')
  }
  const users = await Promise.all(Array.from({ length: 40 }, (_, i) => answersTo(C, `CONSUMER.user-${i}.signed`)))
  for (const answers of users) t.match(answers, /^(a+|b+|c+)$/)
  t.ok(new Set(users).size > 1, 'not all users have the same')
  t.equal(await answersTo('/api/v1/public/c/x'), 'abcabc')

  await started['abc'.indexOf(users[0]![0]!)]!.close()
  const elsewhere = await answersTo(C, 'CONSUMER.user-0.signed')
  t.match(elsewhere, /^(a+|b+|c+)$/, 'without its target it keeps another one')
  t.not(elsewhere, users[0])
})

t.test('with a hash of the address, clients of one address keep one target', async t => {
  const started = await backends(t, ['a', 'b', 'c'])
  const fixture = await openForwardFixture({
    upstreams: [{ targets: started.map(({ url }) => url), balance: { hash: 'address' } }],
    trustedProxies: ['127.0.0.1'],
  })
  t.teardown(() => fixture.close())
  const answersTo = async (address: string): Promise<string> => {
    const headers = { 'x-forwarded-for': address }
    const { text } = await call(fixture.url, { path: '/api/v1/public/c/x', headers })
    return text
  }
  const seen = new Set<string>()
  for (let i = 0; i < 20; i++) {
    const own = await answersTo(`10.0.0.${i}`)
    t.equal(await answersTo(`10.0.0.${i}`), own)
    seen.add(own)
  }
  t.ok(seen.size > 1)
  t.equal(await answersTo('2001:db8::1'), await answersTo('2001:db8::ffff:2'), 'a client has a whole /64')
})

t.test('a request that could not be sent at all goes to the next target, with its host', async t => {
  const [gone, alive] = (await backends(t, ['gone', 'alive'])) as [Recorder, Recorder]
  await gone.close()
  const { ask, log } = await before(t, { targets: [gone.url, alive.url] })
  for (let i = 0; i < 4; i++) t.match(await ask(), { status: 200, text: 'alive' })
  for (const { headers } of alive.requests) t.equal(headers.host, `127.0.0.1:${alive.port}`)
  t.ok(log.some(line => line.msg === 'trying the next target'))
})

t.test('a request with a body that could not be sent at all goes to the next target, body and all', async t => {
  const [gone, alive] = (await backends(t, ['gone', 'alive'])) as [Recorder, Recorder]
  await gone.close()
  const { ask } = await before(t, { targets: [gone.url, alive.url] })
  for (let i = 0; i < 4; i++) t.match(await ask('POST', 'body'), { status: 200, text: 'alive' })
  t.same(
    alive.requests.map(({ body }) => body),
    ['body', 'body', 'body', 'body'],
  )
})

t.test('a written request is not sent again, with any result', async t => {
  const dying = await startRawUpstream(socket => socket.resetAndDestroy())
  const [alive] = (await backends(t, ['alive'])) as [Recorder]
  t.teardown(() => dying.close())
  const { ask } = await before(t, { targets: [dying.url, alive.url] })
  t.equal((await ask()).status, 502)
  t.equal(alive.requests.length, 0)
})

t.test('if no target accepts a connection, each is tried once and the answer is 502', async t => {
  const started = await backends(t, ['a', 'b', 'c'])
  for (const backend of started) await backend.close()
  const { ask, log } = await before(t, { targets: started.map(({ url }) => url) })
  const answer = await ask()
  t.match(answer.json(), { code: 502, success: false })
  t.equal(log.filter(line => line.msg === 'trying the next target').length, 2)
  for (const backend of started) t.notMatch(answer.text, String(backend.port))
})

t.test('a target that cannot be connected to in time is 504', async t => {
  // It accepts, and does not answer the TLS handshake.
  const silent = await startRawUpstream(() => {})
  t.teardown(() => silent.close())
  const { ask } = await before(t, { target: silent.url.replace('http', 'https'), timeouts: { connect: 300 } })
  t.match((await ask()).json(), { code: 504 })
  t.ok(await until(() => silent.sockets.size === 0), 'the connection is given up')
})

t.test('the time limit for the head is counted from the end of the body', async t => {
  const [backend] = (await backends(t, ['whole'])) as [Recorder]
  const fixture = await openForwardFixture({ upstreams: [{ target: backend.url, timeouts: { response: 600 } }] })
  t.teardown(() => fixture.close())
  const statusOfSlow = () =>
    new Promise<number>(resolve => {
      const slow = request(fixture.url + C, { method: 'POST', headers: { authorization: TOKEN.consumer } })
      slow.on('response', response => resolve(response.resume().statusCode!))
      slow.on('error', () => resolve(0))
      let parts = 0
      const timer = setInterval(() => {
        slow.write('part')
        if (++parts < 12) return
        clearInterval(timer)
        slow.end()
      }, 200)
    })
  // Where it is counted from the beginning, none of them is answered in time. A stall of the machine may end one.
  t.ok(await until(async () => (await statusOfSlow()) === 200))
  t.equal(backend.requests.at(-1)!.body.length, 48)
})

/** Between two parts, and the limit, in milliseconds. */
const [PAUSE, IDLE] = [100, 800]
/** So many take longer than the limit. */
const PARTS = 9

t.test('a response body that pauses longer than the limit is cut off, a slow one is not', async t => {
  const { ask } = await (async () => {
    const dripping = await startUpstream({
      answer: (request, response) => {
        response.writeHead(200)
        let parts = 0
        const timer = setInterval(() => {
          response.write('part')
          if (++parts < PARTS) return
          clearInterval(timer)
          if (request.headers['x-then'] === undefined) response.end()
        }, PAUSE)
      },
    })
    t.teardown(() => dripping.close())
    const fixture = await before(t, { target: dripping.url, timeouts: { idle: IDLE } })
    return {
      ask: (headers = {}) => call(fixture.url, { path: C, token: TOKEN.consumer, headers }),
    }
  })()
  t.equal((await ask()).text, 'part'.repeat(PARTS))
  await t.rejects(ask({ 'x-then': 'silence' }))
})

/** A self-signed certificate. */
function selfSigned(t: Test): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      key,
      '-out',
      cert,
      ...subject,
    ],
    { stdio: 'ignore' },
  )
  return { key: readFileSync(key), cert: readFileSync(cert) }
}

t.test('an upstream with an untrusted certificate is 502, and gets no request', async t => {
  let requests = 0
  const names = new Set<unknown>()
  const server = createTlsServer(
    {
      ...selfSigned(t),
      SNICallback: (name, done) => {
        names.add(name)
        done(null)
      },
    },
    (_request, response) => {
      requests++
      response.end('trusted')
    },
  )
  await new Promise<void>(resolve => server.listen(0, resolve))
  t.teardown(() => new Promise<void>(resolve => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  for (const host of ['target', 'preserve'] as const) {
    const fixture = await before(t, { target: `https://localhost:${port}`, host })
    const answer = await call(fixture.url, { path: C, token: TOKEN.consumer, headers: { host: 'evil.example' } })
    t.match(answer.json(), { code: 502 })
    t.match(
      fixture.log.find(line => line.reason === 'BAD_GATEWAY'),
      { err: { cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } } },
    )
  }
  t.equal(requests, 0)
  t.same([...names], ['localhost'], 'the client’s Host does not choose the certificate')
})
