import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Answer, call, callRaw } from '../support/client.ts'
import { forwardTo, openForwardFixture, TOKEN } from '../support/forward-fixture.ts'
import { PATIENCE, until } from '../support/until.ts'
import { startRawUpstream } from '../support/upstream.ts'

t.jobs = 12

const C = '/api/v1/c/things'
const OK = 'HTTP/1.1 200 OK\r\n'
const GOOD = `${OK}Content-Length: 4\r\n\r\ngood`

/** How long an upstream is waited for that says no more, in milliseconds: longer than a busy machine keeps one process waiting. */
const SOON = 10_000

/** A gateway before an upstream that misbehaves once, and then behaves. It waits for the upstream up to `limit` milliseconds. */
async function misbehaving(t: Test, misbehave: (socket: Socket) => void, limit = PATIENCE) {
  let first = true
  const upstream = await startRawUpstream(socket => {
    if (first) misbehave(socket)
    else socket.write(GOOD)
    first = false
  })
  t.teardown(() => upstream.close())
  const fixture = await forwardTo(t, upstream.url, {
    timeouts: { connect: limit, response: limit, idle: limit },
    connections: { idle: PATIENCE },
  })
  return {
    ...fixture,
    upstream,
    ask: (headers: Record<string, string> = {}) => call(fixture.url, { path: C, token: TOKEN.consumer, headers }),
  }
}

/** Sent instead of a response; all of it 502, and the next client sees nothing of it. */
const GARBAGE: Record<string, string | Buffer> = {
  'nothing that is HTTP': 'SSH-2.0-OpenSSH_9.6\r\n\r\n',
  'a version that does not exist': 'HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n',
  'status 099': 'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n',
  'status 000': 'HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n',
  'a switch of protocols': 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  'a control byte in a value': `${OK}X-A: a\x01b\r\nContent-Length: 0\r\n\r\n`,
  'a NUL in a value': `${OK}X-A: a\0b\r\nContent-Length: 0\r\n\r\n`,
  'a lone CR in a value': `${OK}X-A: a\rX-Login-Id: 1\r\nContent-Length: 0\r\n\r\n`,
  'a space in a name': `${OK}X A: 1\r\nContent-Length: 0\r\n\r\n`,
  'no colon': `${OK}nonsense\r\nContent-Length: 0\r\n\r\n`,
  'length and chunks at once': `${OK}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n`,
  'chunks and length at once': `${OK}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nevil\r\n0\r\n\r\n`,
  'two lengths': `${OK}Content-Length: 4\r\nContent-Length: 5\r\n\r\nevil!`,
  'a list of lengths': `${OK}Content-Length: 4, 4\r\n\r\nevil`,
  'a negative length': `${OK}Content-Length: -1\r\n\r\n`,
  'a length that is no number': `${OK}Content-Length: 0x4\r\n\r\nevil`,
  'a length beyond all numbers': `${OK}Content-Length: 99999999999999999999999\r\n\r\n`,
  'a coding that is not chunked': `${OK}Transfer-Encoding: gzip\r\nConnection: close\r\n\r\nevil`,
  'two codings': `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n`,
  '10 MB of headers': Buffer.concat([
    Buffer.from(OK),
    Buffer.from(`X-A: ${'a'.repeat(1000)}\r\n`.repeat(10_000)),
    Buffer.from('\r\n'),
  ]),
  'one header of 1 MB': `${OK}X-A: ${'a'.repeat(1_000_000)}\r\nContent-Length: 0\r\n\r\n`,
  'half a head': `${OK}X-A: 1\r\nX-B`,
  'nothing at all': '',
}

for (const [name, bytes] of Object.entries(GARBAGE)) {
  t.test(`an upstream that answers with ${name} is 502, and the next answer is whole`, async t => {
    const { ask } = await misbehaving(t, socket => {
      socket.write(bytes)
      // What could be the beginning of something goes on no further.
      if (bytes === '' || bytes.toString().endsWith('X-B')) socket.end()
    })
    const broken = await ask()
    t.equal(broken.status, 502)
    t.match(broken.json(), { code: 502, success: false, data: null })
    t.notMatch(broken.text, /127\.0\.0\.1|evil|UND_ERR|ECONN/)
    t.match(await ask(), { status: 200, text: 'good' })
  })
}

t.test('an upstream that resets before its head is 502', async t => {
  const { ask, log } = await misbehaving(t, socket => socket.resetAndDestroy())
  t.equal((await ask()).status, 502)
  t.match(
    log.find(line => line.msg === 'not served'),
    { reason: 'BAD_GATEWAY', err: { message: /^upstream backend at http:\/\/127/ } },
    'the log says which upstream',
  )
  t.match(await ask(), { status: 200, text: 'good' })
})

t.test('an upstream that sends no head in time is 504', async t => {
  const { ask } = await misbehaving(t, socket => socket.write('HTTP/1.1 200'), SOON)
  t.match((await ask()).json(), { code: 504 })
  t.match(await ask(), { status: 200, text: 'good' })
})

t.test('an upstream that sends informational responses and nothing else is 504', async t => {
  const { ask } = await misbehaving(t, socket => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(3)), SOON)
  t.match((await ask()).json(), { code: 504 })
  t.match(await ask(), { status: 200, text: 'good' })
})

const asClient = (version = '1.1'): string =>
  `GET ${C} HTTP/${version}\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\nConnection: close\r\n\r\n`

t.test(
  'early hints reach a client of HTTP/1.1, with their links alone; other informational responses do not',
  async t => {
    const informational =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n' +
      'Set-Cookie: a=1\r\nX-Login-Id: 1\r\nContent-Length: 9\r\nlink: </b.js>\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n'
    const { ask, url } = await misbehaving(t, socket => {
      socket.write(informational)
      setImmediate(() => socket.write(GOOD))
    })
    const text = await callRaw(url, asClient())
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nLink: </b.js>\r\n\r\n'
    t.ok(text.startsWith(`${hints}HTTP/1.1 200 OK\r\n`), text)
    t.match(await ask(), { status: 200, text: 'good' })
  },
)

t.test('a client of HTTP/1.0 gets no early hints', async t => {
  const { url } = await misbehaving(t, socket => socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${GOOD}`))
  t.match(await callRaw(url, asClient('1.0')), /^HTTP\/1\.1 200 OK\r\n/)
})

t.test('a client gets no more than ten early hints of one request', async t => {
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
  const { url } = await misbehaving(t, socket => socket.write(hint.repeat(50) + GOOD))
  const text = await callRaw(url, asClient())
  t.equal(text.split('103 Early Hints').length - 1, 10)
  t.match(text, /\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
})

t.test('an upstream that sends informational responses without end is 502', async t => {
  const { ask } = await misbehaving(t, socket => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1001)))
  t.match((await ask()).json(), { code: 502 })
  t.match(await ask(), { status: 200, text: 'good' })
})

t.test('a refusal can follow early hints', async t => {
  const { url } = await misbehaving(t, socket => socket.end('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'))
  t.match(await callRaw(url, asClient()), /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 502 /)
})

t.test('a second response is not the answer to the next request', async t => {
  const second = `${OK}Content-Length: 4\r\n\r\nevil`
  const { ask, upstream } = await misbehaving(t, socket => {
    socket.write(GOOD + second)
    setTimeout(() => socket.write(second), 20)
  })
  t.match(await ask(), { status: 200, text: 'good' })
  await new Promise(resolve => setTimeout(resolve, 50))
  for (let i = 0; i < 3; i++) t.match(await ask(), { status: 200, text: 'good' })
  t.equal(upstream.heard.length, 2, 'the connection was given up')
})

t.test('a second response that follows later is not the answer to the next request', async t => {
  const { ask } = await misbehaving(t, socket => {
    socket.write(GOOD)
    setTimeout(() => socket.write(`${OK}Content-Length: 4\r\n\r\nevil`), 30)
  })
  t.match(await ask(), { status: 200, text: 'good' })
  await new Promise(resolve => setTimeout(resolve, 100))
  t.match(await ask(), { status: 200, text: 'good' })
})

t.test('bytes beyond the Content-Length are not forwarded', async t => {
  const { ask } = await misbehaving(t, socket => socket.write(`${OK}Content-Length: 4\r\n\r\ngoodevil`))
  t.match(await ask(), { status: 200, text: 'good' })
  t.match(await ask(), { status: 200, text: 'good' })
})

/** Node ends a socket before it resets it, and the other side may see that end first. This resets only. */
function reset(socket: Socket): void {
  socket.destroySoon = socket.destroy
  socket.resetAndDestroy()
}

/** A request of which `arrived` knows when its half has come: a reset takes with it what the gateway has not read yet. */
const askForHalf = (url: string, arrived: () => void): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: TOKEN.consumer }
    const request = httpRequest(url + C, { agent: false, headers }, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
        if (text === 'half') arrived()
      })
      response.on('error', reject)
      response.on('end', () => resolve(text))
    })
    request.on('error', reject)
    request.end()
  })

/** Sent after a head, then the upstream falls silent or leaves: the client must see that something is missing. */
const BROKEN: Record<string, [head: string, part: string, leave: (socket: Socket) => void]> = {
  'half of the length, then the end': [`${OK}Content-Length: 100\r\n`, 'half', socket => socket.end()],
  'half of the length, then a reset': [`${OK}Content-Length: 100\r\n`, 'half', reset],
  'half of the length, then silence': [`${OK}Content-Length: 100\r\n`, 'half', () => {}],
  'a chunk, then the end': [`${OK}Transfer-Encoding: chunked\r\n`, '4\r\nhalf\r\n', socket => socket.end()],
  'a chunk, then a reset': [`${OK}Transfer-Encoding: chunked\r\n`, '4\r\nhalf\r\n', reset],
  'a chunk, then silence': [`${OK}Transfer-Encoding: chunked\r\n`, '4\r\nhalf\r\n', () => {}],
  'a chunk, then no chunk': [`${OK}Transfer-Encoding: chunked\r\n`, '4\r\nhalf\r\nzz\r\n', () => {}],
  'no length, then a reset': [`${OK}Connection: close\r\n`, 'half', reset],
  'no length, then silence': [`${OK}Connection: close\r\n`, 'half', () => {}],
}

for (const [name, [head, part, leave]] of Object.entries(BROKEN)) {
  t.test(`an upstream that sends ${name} never looks whole`, async t => {
    let leaveNow = (): void => {
      t.fail('the client received what the upstream has not sent')
    }
    const misbehave = (socket: Socket): void => {
      leaveNow = () => leave(socket)
      socket.write(`${head}\r\n${part}`)
    }
    const isSilent = name.endsWith('silence')
    const { ask, url, upstream, log, table } = await misbehaving(t, misbehave, isSilent ? SOON : PATIENCE)
    await t.rejects(
      askForHalf(url, () => leaveNow()),
      'an HTTP/1.1 client',
    )
    t.ok(
      log.some(line => line.msg === 'response broken off'),
      'the log says so',
    )
    t.match(await ask(), { status: 200, text: 'good' })
    t.ok(await until(() => table.upstreams[0]!.targets[0]!.open === 0))
    t.ok(await until(() => upstream.sockets.size <= 1), 'the broken connection is not kept')
  })
}

t.test('an HTTP/1.0 client, whose body ends with the connection, sees a reset', async t => {
  let reset = (): void => {
    t.fail('the client received what the upstream has not sent')
  }
  const { url } = await misbehaving(t, socket => {
    reset = () => void socket.resetAndDestroy()
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`)
  })
  const { hostname, port } = new URL(url)
  let received = ''
  const outcome = await new Promise<string>(resolve => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${C} HTTP/1.0\r\nAuthorization: ${TOKEN.consumer}\r\n\r\n`),
    )
    socket.on('data', bytes => {
      received += bytes.toString('latin1')
      // Not before: a reset takes with it what the gateway has not read yet.
      if (received.endsWith('half')) reset()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    socket.on('end', () => resolve('a clean end'))
  })
  t.match(received, /^HTTP\/1\.1 200 /)
  t.equal(outcome, 'ECONNRESET')
})

t.test('a reset while the client reads slowly breaks off that answer and nothing else', async t => {
  const { url, ask, table } = await misbehaving(t, socket => {
    socket.write(`${OK}Connection: close\r\nContent-Length: 60000000\r\n\r\n${'x'.repeat(20_000_000)}`)
    setTimeout(() => socket.resetAndDestroy(), 300)
  })
  const failed = await new Promise<string>(resolve => {
    const request = httpRequest(url + C, { agent: false, headers: { authorization: TOKEN.consumer } }, response => {
      response.on('error', error => resolve(error.message))
      response.on('end', () => resolve('a clean end'))
      setTimeout(() => response.resume(), 600)
    })
    request.on('error', error => resolve(error.message))
    request.end()
  })
  t.equal(failed, 'aborted')
  t.match(await ask(), { status: 200, text: 'good' })
  t.ok(await until(() => table.upstreams[0]!.targets[0]!.open === 0))
})

const TRAILING = 'Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n'

for (const status of [204, 304]) {
  t.test(`a ${status} that announces trailers has none, and the next answer on its connection is whole`, async t => {
    const { url } = await misbehaving(t, socket => socket.write(`HTTP/1.1 ${status} x\r\nX-A: kept\r\n${TRAILING}`))
    const text = await callRaw(url, asClient().replace('Connection: close\r\n', '') + asClient())
    const [first, second, body] = text.split('\r\n\r\n')
    t.match(first, new RegExp(`^HTTP/1\\.1 ${status} .*\r\nX-A: kept\r\n`, 's'))
    t.notMatch(first, /trailer|transfer-encoding|content-length/i)
    t.match(second, /^HTTP\/1\.1 200 OK\r\n/)
    t.equal(body, 'good')
  })
}

t.test('a head that cannot be written ends the connection of the client, and no refusal follows', async t => {
  let isRefusing = true
  const fixture = await openForwardFixture({
    upstreams: [{ target: (await misbehaving(t, socket => socket.write(GOOD))).upstream.url, retries: 1 }],
    prepare: app =>
      void app.addHook('onRequest', async (_request, { raw }) => {
        const { writeHead } = raw
        raw.writeHead = (...args: unknown[]) => {
          if (!isRefusing) return Reflect.apply(writeHead, raw, args)
          isRefusing = false
          throw new Error('refused')
        }
      }),
  })
  t.teardown(() => fixture.close())
  await t.rejects(callRaw(fixture.url, asClient()).then(text => text || Promise.reject(new Error('no answer'))))
  t.notOk(isRefusing)
  t.ok(fixture.log.some(line => line.msg === 'response broken off'))
  t.match(await call(fixture.url, { path: C, token: TOKEN.consumer }), { status: 200, text: 'good' })
})

t.test('headers of the upstream that are not for clients do not arrive', async t => {
  const { ask } = await misbehaving(t, socket =>
    socket.write(
      `${OK}Connection: X-Secret, keep-alive\r\nX-Secret: internal\r\nX-Login-Id: 1\r\nX_Login_Type: BUSINESS\r\nProxy-Authenticate: x\r\nContent-Length: 4\r\n\r\ngood`,
    ),
  )
  const { headers } = await ask()
  t.match(headers, {
    'x-secret': undefined,
    'x-login-id': undefined,
    x_login_type: undefined,
    'proxy-authenticate': undefined,
  })
})

t.test('a reason phrase is not forwarded', async t => {
  const { url } = await misbehaving(t, socket =>
    socket.write(`HTTP/1.1 200 \xff\xfe evil\r\nContent-Length: 0\r\n\r\n`),
  )
  const text = await callRaw(
    url,
    `GET ${C} HTTP/1.1\r\nHost: h\r\nAuthorization: ${TOKEN.consumer}\r\nConnection: close\r\n\r\n`,
  )
  t.match(text, /^HTTP\/1\.1 200 OK\r\n/)
})

t.test('an upstream that keeps one client waiting does not keep the others waiting', async t => {
  const { ask, upstream } = await misbehaving(t, () => {})
  const stalled = ask()
  t.ok(await until(() => upstream.heard[0]?.startsWith('GET ')))
  const [silent] = upstream.sockets
  const others: Answer[] = await Promise.all([ask(), ask(), ask()])
  for (const answer of others) t.match(answer, { status: 200, text: 'good' })
  silent!.destroy()
  t.equal((await stalled).status, 502)
})
