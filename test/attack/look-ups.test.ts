import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import bcrypt from 'bcrypt'
import t from 'tap'
import { openFixture } from '../support/gateway-fixture.ts'

/* A user who is signed in keeps all others from signing in: by occupying the backend that looks up the accounts. */

const PASSWORD = 'correct horse 3'
const password = bcrypt.hashSync(PASSWORD, 4)

/** A backend that answers a question when it is released. */
async function startBackend() {
  const held: { username: string; answer(): void }[] = []
  const backend = { held, isHolding: false, url: '' }
  const answer = (username: string, response: ServerResponse) =>
    response.writeHead(200).end(JSON.stringify({ id: `id-${username}`, username, password, status: 'ACTIVE' }))
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { username } = JSON.parse(body)
    if (backend.isHolding) held.push({ username, answer: () => answer(username, response) })
    else answer(username, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  backend.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return backend
}

t.test('a user with many requests at once leaves the source of the accounts to the logins of others', async t => {
  const backend = await startBackend()
  const accounts = { kind: 'http', url: backend.url, secret: 'a secret between two', timeout: '5m' }
  const fixture = await openFixture(t, { config: { accounts } })
  const token = await fixture.signIn('mallory', PASSWORD)
  const body = await fixture.credentials('ann', PASSWORD)
  backend.isHolding = true
  const asked = Array.from({ length: 100 }, () => fixture.get('/api/v1/b/account', token))
  while (backend.held.length === 0) await new Promise(setImmediate)
  const login = fixture.post('/api/v1/public/b/login', body)
  const isThere = () => backend.held.some(({ username }) => username === 'ann')
  await Promise.race([
    login,
    (async () => {
      while (!isThere()) await new Promise(setImmediate)
    })(),
  ])
  backend.isHolding = false
  for (const { answer } of backend.held) answer()
  t.equal((await login).json().code, 200)
  for (const answer of await Promise.all(asked)) {
    if (answer.json().data?.user_id !== 'id-mallory') t.fail(answer.text)
  }
})
