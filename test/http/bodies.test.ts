import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { queryObjects } from 'node:v8'
import t from 'tap'
import { readWhole } from '../../src/http/server/bodies.ts'
import { type Answer, call } from '../support/client.ts'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

/* Bodies of our own routes: where one is needed, and where whatever comes is ignored. */

/** What clients send as a body to a route that needs none, with the type that they say it has. */
const IGNORED: Readonly<Record<string, { headers: Record<string, string>; body: string }>> = {
  'nothing, as JSON': { headers: { 'content-type': 'application/json', 'content-length': '0' }, body: '' },
  'nothing, in chunks': { headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }, body: '' },
  'nothing, of no valid type': { headers: { 'content-type': 'undefined' }, body: '' },
  'an object': { headers: { 'content-type': 'application/json' }, body: '{}' },
  null: { headers: { 'content-type': 'application/json' }, body: 'null' },
  'half an object': { headers: { 'content-type': 'application/json' }, body: '{"a":' },
  'a form': { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=1' },
  'parts of a form': { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--\r\n' },
  'text of no type': { headers: { 'content-type': '' }, body: 'text' },
  'text of no valid type': { headers: { 'content-type': 'undefined' }, body: 'text' },
  'all that a body may have': { headers: { 'content-type': 'application/json' }, body: 'x'.repeat(8192) },
}

async function open(config: Record<string, unknown> = {}): Promise<Fixture> {
  const fixture = await openFixture(t, { profile: 2, config: { session_administration: true, ...config } })
  return fixture
}

const administrator = (fixture: Fixture): Promise<string> =>
  fixture.gateway.sides.business.login(undefined, '1', { roles: ['SUPER_ADMIN'] })

const english = await open()
const chinese = await open({ locale: 'zh-CN' })

for (const [what, { headers, body }] of Object.entries(IGNORED)) {
  for (const side of ['business', 'consumer'] as const) {
    t.test(`the logout of the ${side} side ignores a body that is ${what}`, async t => {
      const token = await english.gateway.sides[side].login(undefined, '7')
      const path = `/api/v1/${side === 'business' ? 'b' : 'c'}/logout`
      const answer = await english.call({ method: 'POST', path, token, headers, body })
      t.match(answer.json(), { code: 200, success: true, data: { message: 'Logged out' } })
      t.equal(await english.gateway.sides[side].getLoginIdByToken(token), '', 'and the session has ended')
    })

    t.test(`get-login-type of the ${side} side ignores a body that is ${what}`, async t => {
      const answer = await operate(side, 'get-login-type', headers, body)
      t.match(answer.json(), { code: 200, data: { login_type: side.toUpperCase() } })
    })
  }

  t.test(`GET routes ignore a body that is ${what}`, async t => {
    const token = await administrator(english)
    for (const path of ['/api/v1/public/b/captcha', '/api/v1/sys/session/page', '/openapi.json']) {
      t.equal((await english.call({ path, token, headers, body })).status, 200, path)
    }
    for (const path of ['/livez', '/readyz', '/metrics', '/openapi.json']) {
      t.equal((await call(english.internal, { path, headers, body })).status, 200, path)
    }
  })
}

const operate = (side: string, operation: string, headers: Record<string, string>, body: string): Promise<Answer> => {
  const path = `/operations/v1/${side}/${operation}`
  return call(english.internal, { method: 'POST', path, token: english.settings.internal.secret, headers, body })
}

t.test('a body beyond the limit is refused where none is needed, too', async t => {
  const token = await english.gateway.sides.business.login(undefined, '7')
  const body = 'x'.repeat(8193)
  t.equal((await english.call({ method: 'POST', path: '/api/v1/b/logout', token, body })).status, 413)
  t.equal(await english.gateway.sides.business.getLoginIdByToken(token), '7')
})

t.test('a required body of length 0 counts as missing, with any content type', async t => {
  const admin = await administrator(english)
  for (const type of ['application/json', 'text/plain', 'undefined', '']) {
    const headers = { 'content-type': type, 'content-length': '0' }
    const login = await english.call({ method: 'POST', path: '/api/v1/public/b/login', headers, body: '' })
    t.match(login.json(), { code: 400, message: 'username: is missing' }, type)
    const exit = await english.call({
      method: 'POST',
      path: '/api/v1/sys/session/exit',
      token: admin,
      headers,
      body: '',
    })
    t.match(exit.json(), { code: 400, message: 'user_id: is missing' }, type)
    t.match((await operate('business', 'kickout', headers, '')).json(), { message: 'user_id: is missing' }, type)
  }
})

const FAULTS: readonly [what: string, path: string, body: unknown, english: string, chinese: string][] = [
  ['no object', '/api/v1/public/b/login', [], 'body: must be a JSON object', 'body: 必须是 JSON 对象'],
  ['no JSON', '/api/v1/public/b/login', '{', 'body: must be a JSON object', 'body: 必须是 JSON 对象'],
  ['without a name', '/api/v1/public/b/login', {}, 'username: is missing', 'username: 缺少该字段'],
  [
    'a name of another kind',
    '/api/v1/public/b/login',
    { username: 1 },
    'username: must be a string',
    'username: 必须是字符串',
  ],
  ['no user', '/api/v1/sys/session/exit', {}, 'user_id: is missing', 'user_id: 缺少该字段'],
  [
    'an id that none has',
    '/api/v1/sys/session/exit',
    { user_id: 'a b' },
    'user_id: must be 1 to 128 characters of A-Z a-z 0-9 . _ @ : -',
    'user_id: 必须是 1 到 128 个字符，且只含 A-Z a-z 0-9 . _ @ : -',
  ],
  ['no token', '/api/v1/sys/session/exit-token', { user_id: '1' }, 'token: is missing', 'token: 缺少该字段'],
  [
    'too long a time',
    '/api/v1/sys/session/disable',
    { user_id: '2', seconds: 1e12 },
    'seconds: must be a whole number from 1 to 315360000',
    'seconds: 必须是 1 到 315360000 之间的整数',
  ],
]

for (const [what, path, body, inEnglish, inChinese] of FAULTS) {
  t.test(`${path}: a body that is or has ${what} is refused in the configured language, with its field`, async t => {
    for (const [fixture, message] of [
      [english, inEnglish],
      [chinese, inChinese],
    ] as const) {
      const answer = await fixture.post(path, body, await administrator(fixture))
      t.match(answer.json(), { code: 400, success: false, data: null, message })
    }
  })
}

t.test('a body of another type than JSON is refused where one is needed, with what it must be', async t => {
  for (const [fixture, message] of [
    [english, 'body: must be sent as application/json'],
    [chinese, 'body: 必须以 application/json 格式发送'],
  ] as const) {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'undefined', '']) {
      const headers = { 'content-type': type }
      const answer = await fixture.call({ method: 'POST', path: '/api/v1/public/b/login', headers, body: '{}' })
      t.match(answer.json(), { code: 400, message }, type)
    }
  }
})

t.test('an upstream gets a body of any type', async t => {
  for (const type of ['undefined', 'json', 'a/b/c', 'multipart/form-data']) {
    const path = '/api/v1/public/b/form'
    const answer = await english.call({ method: 'POST', path, headers: { 'content-type': type }, body: 'text' })
    t.equal(answer.status, 200, type)
    t.equal(english.upstream.requests.at(-1)!.headers['content-type'], type)
  }
})

t.test('a client that leaves while it sends a login is counted as a refusal, not as a fault', async t => {
  const counted = async (reason: string): Promise<number> => {
    const { text } = await call(english.internal, { path: '/metrics' })
    return Number(new RegExp(`dualgate_refusals_total\\{reason="${reason}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
  }
  const incomplete = await counted('BAD_REQUEST')
  const { hostname, port } = new URL(english.url)
  const head = 'POST /api/v1/public/b/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  const before = english.log.length
  /** The ports of the clients whose requests the gateway has begun. */
  const begun = new Set<number | undefined>()
  const note = (message: unknown): void => void begun.add((message as { socket: Socket }).socket.remotePort)
  subscribe('http.server.request.start', note)
  t.teardown(() => unsubscribe('http.server.request.start', note))
  for (const rest of ['Content-Length: 100\r\n\r\n{"a"', 'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n']) {
    for (const leave of ['destroy', 'end', 'resetAndDestroy'] as const) {
      begun.clear()
      const socket = connect(Number(port), hostname)
      const closed = new Promise(resolve => socket.on('error', () => {}).once('close', resolve))
      socket.resume().write(head + rest)
      // A reset takes with it what the gateway has not read yet.
      await until(() => begun.has(socket.localPort))
      socket[leave]()
      await closed
    }
  }
  // Half of a connection that is closed can still be answered, and is: the request was incomplete (RFC 9112 8).
  await until(async () => (await counted('BAD_REQUEST')) === incomplete + 4 && (await counted('CLIENT_LEFT')) === 2)
  const lines = english.log.slice(before).map(line => JSON.parse(line))
  t.equal(lines.filter(({ reason, level }) => reason === 'CLIENT_LEFT' && level === 20).length, 2, 'logged at debug')
  t.same(
    lines.filter(({ level }) => level > 30),
    [],
    'and nowhere above',
  )
})

t.test('a body in pieces of one byte is kept in a few pieces', async t => {
  const request = Object.assign(new Readable({ read() {} }), { headers: {} })
  const countBuffers = (): number => queryObjects(Uint8Array, { format: 'count' })
  const before = countBuffers()
  const read = new Promise<Buffer>((resolve, reject) =>
    readWhole(request as unknown as IncomingMessage, 8192, (error, body) =>
      error === null ? resolve(body) : reject(error),
    ),
  )
  for (let i = 0; i < 8000; i++) request.push(Buffer.alloc(1, 'x'))
  t.ok(await until(() => request.readableLength === 0))
  t.ok(countBuffers() < before + 4000, 'most of the pieces are gone')
  request.push(null)
  t.equal(String(await read), 'x'.repeat(8000))
})
