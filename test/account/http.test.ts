import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { createHttpAccounts } from '../../src/account/http.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { PATIENCE } from '../support/until.ts'
import { HASH, hashContract, reasonOf, type StoredAccount, stored } from './source-contract.ts'

const OLD_HASH = HASH.replace(/.$/, 'x')
const SECRET = 'a secret between two'

interface Question {
  request: IncomingMessage
  body: string
}

type Answer = (question: Question, response: ServerResponse) => void

/** A backend that answers every question in one way, and the questions it got. */
async function startBackend(t: Test, answer: Answer): Promise<{ url: string; questions: Question[]; server: Server }> {
  const questions: Question[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const question = { request, body }
    questions.push(question)
    answer(question, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/accounts?for=gateway`, questions, server }
}

function open(t: Test, url: string, timeout = PATIENCE) {
  const source = createHttpAccounts({ kind: 'http', url, secret: SECRET, timeout }, systemClock)
  t.teardown(() => source.close())
  return source
}

const json =
  (status: number, body: unknown): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const holding =
  (accounts: StoredAccount[]): Answer =>
  (question, response) => {
    const { username, id } = JSON.parse(question.body) as { username?: string; id?: string }
    const found = accounts.find(account => (id === undefined ? account.username === username : account.id === id))
    json(found === undefined ? 404 : 200, found ?? { message: 'nobody' })(question, response)
  }

hashContract(t, 'http', async (t, accounts) => open(t, (await startBackend(t, holding(accounts))).url))

t.test('a request to the backend is signed, so that the backend can verify its sender and time', async t => {
  const { url, questions } = await startBackend(t, holding([stored('admin')]))
  await open(t, url).find('admin')
  const { request, body } = questions[0]!
  t.equal(request.method, 'POST')
  t.equal(request.url, '/accounts?for=gateway')
  t.equal(body, '{"username":"admin"}')
  t.equal(request.headers['content-type'], 'application/json')
  const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers['x-dualgate-signature']))!
  t.ok(Math.abs(Number(seconds) - Date.now() / 1000) < 60)
  t.equal(signature, createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex'))
  t.notMatch(inspect(request.headers), SECRET)
})

const account = { id: '1', username: 'admin', password: HASH, status: 'ACTIVE' }

t.test('changes are sent to the address for updates, signed like questions', async t => {
  const { url, questions } = await startBackend(t, (question, response) => {
    const { id } = JSON.parse(question.body)
    response.writeHead({ gone: 404, odd: 302, other: 409 }[String(id)] ?? 204).end()
  })
  const update_url = `${new URL(url).origin}/update`
  const source = createHttpAccounts({ kind: 'http', url, update_url, secret: SECRET, timeout: PATIENCE }, systemClock)
  t.teardown(() => source.close())
  const updates = source.updates!
  t.same([...updates.can], ['password', 'second-factor'])
  const password = { hash: HASH, before: OLD_HASH, changedAt: 0, mustChange: false }
  t.equal(await updates.setPassword('1', password), true)
  t.equal(await updates.setPassword('other', password), false, 'it has another one')
  t.equal(await updates.setSecondFactor('1', 'abcdefghijkl.SEALED', null), true)
  t.equal(await updates.setSecondFactor('1', null, 'abcdefghijkl.SEALED'), true)
  t.equal(await updates.setSecondFactor('gone', null, null), false)
  t.equal(await updates.setSecondFactor('other', null, 'abcdefghijkl.SEALED'), false, 'it has another one')
  t.equal(await reasonOf(updates.setSecondFactor('odd', null, null)), 'UNAVAILABLE')
  t.same(
    questions.slice(0, 4).map(({ body }) => JSON.parse(body)),
    [
      { id: '1', password: HASH, password_before: OLD_HASH },
      { id: 'other', password: HASH, password_before: OLD_HASH },
      { id: '1', second_factor: 'abcdefghijkl.SEALED', second_factor_before: null },
      { id: '1', second_factor: null, second_factor_before: 'abcdefghijkl.SEALED' },
    ],
  )
  for (const { request, body } of questions) {
    t.equal(request.url, '/update')
    const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers['x-dualgate-signature']))!
    t.equal(signature, createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex'))
  }
})

t.test('a backend that stores second factors and does not tell them fails the login', async t => {
  for (const [told, expected] of [
    [{}, 'UNAVAILABLE'],
    [{ second_factor: null }, undefined],
  ] as const) {
    const { url } = await startBackend(t, json(200, { ...account, ...told }))
    const settings = { kind: 'http', url, update_url: url, secret: SECRET, timeout: PATIENCE } as const
    const source = createHttpAccounts(settings, systemClock)
    t.teardown(() => source.close())
    const found = await source.find('admin').catch(fault => fault)
    t.equal(found.reason, expected)
  }
})

t.test('any answer except an account or 404 is a failure of the source, never a wrong password', async t => {
  const redirect: Answer = (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()
  const text =
    (status: number, body: string): Answer =>
    (_, response) =>
      response.writeHead(status).end(body)
  const failures: Record<string, Answer> = {
    'an error': json(500, account),
    'no content': text(204, ''),
    'another success': json(201, account),
    'a refused signature': json(401, { message: 'who are you' }),
    'a page': text(200, '<html>'),
    nothing: text(200, ''),
    'half of it': text(200, JSON.stringify(account).slice(0, -1)),
    'a list': json(200, [account]),
    'a text': json(200, 'admin'),
    null: json(200, null),
    'bytes that are not UTF-8': (_, response) => response.end(Buffer.from([0x22, 0xff, 0x22])),
    'a redirect': redirect,
    'too much': json(200, { ...account, story: 'x'.repeat(2_200_000) }),
    'no id': json(200, { ...account, id: undefined }),
    'an empty id': json(200, { ...account, id: '' }),
    'an id that does not fit a header': json(200, { ...account, id: 'a b' }),
    'an id in a list': json(200, { ...account, id: ['1'] }),
    'an id that was rounded': (_, response) => response.end(JSON.stringify(account).replace('"1"', '9007199254740993')),
    'two ids': json(200, { ...account, ID: '2' }),
    'a name that is too long': json(200, { ...account, username: 'a'.repeat(129) }),
    'no name': json(200, { ...account, username: null }),
    'no word about the password': json(200, { ...account, password: undefined }),
    'no word about the status': json(200, { ...account, status: undefined }),
    'roles that are no list': json(200, { ...account, roles: { admin: true } }),
    'a connection that ends': (_, response) => response.destroy(),
    'half an answer': (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"id":')
      setImmediate(() => response.destroy())
    },
  }
  for (const [what, answer] of Object.entries(failures)) {
    await t.test(what, async t => {
      const { url, questions } = await startBackend(t, answer)
      const fault = await open(t, url)
        .find('admin')
        .catch((error: unknown) => error)
      t.ok(fault instanceof Unavailable, inspect(fault))
      t.equal(questions.length, 1, 'asked once, and nowhere else')
      t.notMatch(inspect(fault, { depth: 9 }), '$2b$')
      t.notMatch(inspect(fault, { depth: 9 }), SECRET)
    })
  }
})

t.test('a backend that does not answer completely ends with a timeout', async t => {
  const stalls: Record<string, Answer> = {
    silence: () => undefined,
    'a head without a body': (_, response) => void response.writeHead(200).flushHeaders(),
    'a trickle': (_, response) => {
      const drops = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(drops))
    },
  }
  for (const [what, answer] of Object.entries(stalls)) {
    await t.test(what, async t => {
      const { url } = await startBackend(t, answer)
      t.equal(await reasonOf(open(t, url, 200).find('admin')), 'UNAVAILABLE')
    })
  }
})

t.test('an unreachable backend is a failure, and is used again when it is back', async t => {
  const { url, server } = await startBackend(t, holding([stored('admin')]))
  const { port } = server.address() as AddressInfo
  const source = open(t, url)
  t.equal((await source.find('admin'))?.username, 'admin')
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  t.equal(await reasonOf(source.find('admin')), 'UNAVAILABLE')
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.equal((await source.find('admin'))?.username, 'admin')
})

t.test('beyond the limit of simultaneous queries further ones are refused as busy', async t => {
  const waiting: ServerResponse[] = []
  const { url } = await startBackend(t, (_, response) => void waiting.push(response))
  const source = open(t, url)
  const answers = Array.from({ length: 73 }, (_, index) => source.find(`user${index}`).catch(error => error))
  t.match(await answers.at(-1), { reason: 'BUSY' })
  const release = setInterval(() => {
    for (const response of waiting.splice(0)) response.writeHead(404).end()
  }, 5)
  t.same(await Promise.all(answers.slice(0, -1)), Array(72).fill(null))
  clearInterval(release)
})

t.test('an account without a password or with an unknown status exists, but cannot sign in', async t => {
  const found = async (changes: object) => {
    const { url } = await startBackend(t, json(200, { ...account, ...changes }))
    return open(t, url).find('admin')
  }
  t.match(await found({ password: null }), { passwordHash: '' })
  t.match(await found({ id: 42 }), { id: '42' })
  for (const status of ['active', 'BANNED', '', 1, true, null]) t.match(await found({ status }), { status: 'INACTIVE' })
})

t.test('further fields of the answer are stored in the session unchanged', async t => {
  const body = `{"id":"1","username":"admin","password":"${HASH}","status":"ACTIVE","dept":{"name":"北京"},"level":3,"gone":null,"__proto__":{"roles":["SUPER_ADMIN"]}}`
  const { url } = await startBackend(t, (_, response) => response.end(body))
  const { extra } = (await open(t, url).find('admin'))!
  t.equal(JSON.stringify(extra), '{"dept":{"name":"北京"},"level":3,"__proto__":{"roles":["SUPER_ADMIN"]}}')
  t.equal(extra.roles, undefined)
})
