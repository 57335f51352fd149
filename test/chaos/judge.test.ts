import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Actors } from './actors.ts'
import type { Promises } from './gateway.ts'
import { History } from './history.ts'

/* How answers are judged that come while settings change. */

const LIMITED = { code: 429, message: 'Too many requests, try again later' }

async function judge(
  t: Test,
  codes: Promises['codes'],
  answer: (response: ServerResponse, promises: Promises) => void,
) {
  const promises: Promises = { codes, seen: new Set() }
  const server = createServer((_request, response) => answer(response, promises))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const history = new History({ heartbeat: 1000, patience: Number.POSITIVE_INFINITY })
  const actors = new Actors(() => ({ url, internal: url, secret: '' }), history, promises)
  history.loggedIn('token', 'CONSUMER', 'user', history.now())
  const outcome = await actors.request('CONSUMER', 'token')
  return { outcome, violations: history.violations }
}

const refuse = (response: ServerResponse): void => void response.writeHead(429).end(JSON.stringify(LIMITED))

t.test('a refusal is allowed that was promised when the request was sent', async t => {
  const { outcome, violations } = await judge(t, new Set([429]), (response, promises) => {
    promises.codes = null
    refuse(response)
  })
  t.same([outcome, violations], ['failed', []])
})

t.test('a refusal is allowed that is promised when its answer is read', async t => {
  const { violations } = await judge(t, null, (response, promises) => {
    promises.codes = new Set([429])
    refuse(response)
  })
  t.same(violations, [])
})

t.test('a refusal that was never promised is a violation', async t => {
  const { violations } = await judge(t, null, refuse)
  t.match(violations, [/an unexpected answer: 429/])
})
