import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log/log.ts'
import { withoutWorthless } from '../../src/event/event.ts'
import { createWebhooks } from '../../src/event/webhooks.ts'
import { openFixture, someone, startFixture } from '../support/gateway-fixture.ts'
import { PATIENCE, until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

const SECRET = 'a key of at least thirty-two characters'
const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

t.test('receivers get no refused captcha, and while they are away failed logins displace no other event', async t => {
  const bodies: string[] = []
  let isAway = true
  const receiver = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => {
      text += chunk
    })
    request.on('end', () => {
      if (!isAway) bodies.push(text)
      response.writeHead(isAway ? 503 : 204).end()
    })
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  t.teardown(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const options = { url: `http://127.0.0.1:${port}`, secret: SECRET, timeout: PATIENCE, give_up_after: 60_000 }
  const webhooks = await createWebhooks([options], systemClock, createLog('silent'))
  t.teardown(() => webhooks.close(0))
  const publish = withoutWorthless(webhooks.publish)
  const event = { type: 'BUSINESS', login_id: null } as const
  for (let i = 0; i < 50; i++) publish({ ...event, event: 'login', login_id: String(i) })
  for (let i = 0; i < 20_000; i++) publish({ ...event, event: 'login-failed', reason: 'WRONG_CREDENTIALS' })
  for (const reason of ['CAPTCHA_GONE', 'TICKET_INVALID']) publish({ ...event, event: 'login-failed', reason })
  publish({ ...event, event: 'logout', login_id: '1' })
  isAway = false
  await until(() => bodies.at(-1)?.includes('logout') === true)
  const events = bodies.map(body => JSON.parse(body))
  t.equal(events.filter(({ event }) => event === 'login').length, 50)
  t.equal(events.filter(({ event }) => event === 'login-failed').length, 950)
  t.equal(events.at(-1).event, 'logout')
})

t.test('dropped events are logged with the next attempt, while the receiver is away', async t => {
  const receiver = await startUpstream({ answer: (_request, response) => response.writeHead(503).end() })
  t.teardown(() => receiver.close())
  const lines: Record<string, unknown>[] = []
  const log = createLog('error', { write: line => void lines.push(JSON.parse(line)) })
  const options = { url: receiver.url, secret: SECRET, timeout: PATIENCE, give_up_after: 24 * PATIENCE }
  const webhooks = await createWebhooks([options], systemClock, log)
  t.teardown(() => webhooks.close(0))
  const event = { type: 'BUSINESS', login_id: null, event: 'login-failed', reason: 'WRONG_CREDENTIALS' } as const
  for (let i = 0; i < 1006; i++) webhooks.publish(event)
  t.match(await until(() => lines[0]), {
    msg: 'webhook events dropped',
    events: 6,
    webhook: `127.0.0.1:${receiver.port}`,
  })
})

/** A receiver of events that answers the first attempts with 503, in a line of webhooks. */
async function openLine(t: Test, { failing, giveUpAfter = 60_000 }: { failing: number; giveUpAfter?: number }) {
  const receiver = await startUpstream()
  t.teardown(() => receiver.close())
  receiver.answer = (_request, response) => {
    response.statusCode = receiver.requests.length > failing ? 204 : 503
    response.end()
  }
  const options = { url: receiver.url, secret: SECRET, timeout: PATIENCE, give_up_after: giveUpAfter }
  const webhooks = await createWebhooks([options], systemClock, createLog('silent'))
  t.teardown(() => webhooks.close(0))
  const publish = (...users: string[]): void => {
    for (const login_id of users) webhooks.publish({ event: 'login', type: 'BUSINESS', login_id })
  }
  const asked = (): string[] => receiver.requests.map(({ body }) => JSON.parse(body).login_id)
  return { publish, asked, webhooks }
}

t.test('there is a pause behind each failure, also where an event is too old to be sent again', async t => {
  const { publish, asked } = await openLine(t, { failing: 2, giveUpAfter: 0 })
  const began = performance.now()
  publish('1', '2', '3')
  await until(() => asked().length === 3)
  t.same(asked(), ['1', '2', '3'])
  t.ok(performance.now() - began > 700, 'the shortest pauses are 250 and 500 ms')
})

t.test('a receiver that answers a little at a time gets the event again when the time limit is over', async t => {
  const PARTS = {
    'of the body': 'x',
    'of informational responses': 'HTTP/1.1 103 Early Hints\r\n\r\n',
  }
  for (const [what, part] of Object.entries(PARTS)) {
    let attempts = 0
    const receiver = createTcpServer(socket => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        attempts++
        if (part === 'x') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
        const trickle = setInterval(() => socket.write(part), 20)
        socket.once('close', () => clearInterval(trickle))
      })
    })
    await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
    t.teardown(() => receiver.close())
    const { port } = receiver.address() as AddressInfo
    const log = createLog('silent')
    const warnings = t.capture(log, 'warn')
    const options = { url: `http://127.0.0.1:${port}`, secret: SECRET, timeout: 1000, give_up_after: 60_000 }
    const webhooks = await createWebhooks([options], systemClock, log)
    t.teardown(() => webhooks.close(0))
    webhooks.publish({ event: 'login', type: 'BUSINESS', login_id: '1' })
    await until(() => attempts > 1)
    t.match(warnings()[0]?.args, [{ err: { message: 'no answer within 1000 ms' } }, 'webhook not delivered'], what)
  }
})

t.test('a gateway that stops sends its events to a receiver that is back, also within a pause', async t => {
  const { publish, asked, webhooks } = await openLine(t, { failing: 4 })
  publish('1', '2')
  await until(() => asked().length === 4)
  // The next attempt would come 2.5 s later at the earliest.
  await webhooks.close(PATIENCE)
  t.same(asked(), ['1', '1', '1', '1', '1', '2'])
})

t.test('every event arrives, in order and signed, and is a log line', async t => {
  const receiver = await startUpstream()
  t.teardown(() => receiver.close())
  const fixture = await openFixture(t, {
    config: { events: { webhooks: [{ url: receiver.url, secret: SECRET, timeout: '5m' }] } },
  })
  const side = fixture.gateway.sides.consumer
  const user = someone()
  const first = await side.login(undefined, user)
  await side.renewTimeout(asRequest(first), 60)
  await side.logout(asRequest(first))
  const second = await side.login(undefined, user)
  await side.kickoutToken(user, second)
  await side.kickout(user)
  await side.disable(user, 30)
  await side.untieDisable(user)
  const wrong = await fixture.credentials('nobody', 'wrong')
  await fixture.post('/api/v1/public/b/login', wrong)

  const expected = [
    'login',
    'renew',
    'logout',
    'login',
    'kickout-token',
    'kickout',
    'disable',
    'untie-disable',
    'login-failed',
  ]
  await until(() => receiver.requests.length >= expected.length)
  const events = receiver.requests.map(({ body }) => JSON.parse(body))
  t.same(
    events.map(({ event }) => event),
    expected,
  )
  for (const event of events.slice(0, -1))
    t.match(event, { type: 'CONSUMER', login_id: user, at: /^\d{4}-\d\d-\d\dT/, id: /-/ })
  t.match(events.at(-1), { type: 'BUSINESS', login_id: null, reason: 'WRONG_CREDENTIALS', address: '127.0.0.1' })
  t.match(events[1], { seconds: 60, jti: events[0].jti })
  for (const { by } of events.slice(0, -1)) t.equal(by, 'operations')
  t.notOk('by' in events.at(-1), 'no user is known before the password was right')
  for (const { headers, body } of receiver.requests) {
    const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['x-dualgate-signature'] as string)!
    t.equal(mac, createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex'))
  }
  const logged = fixture.log.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'event')
  t.same(
    logged.map(({ event }) => event),
    expected,
  )
  t.notMatch(receiver.requests.map(({ body }) => body).join(), new RegExp(first), 'never a token')
})

t.test('a failing receiver gets events again, in order, and delays no other receiver', async t => {
  const receiver = await startUpstream()
  t.teardown(() => receiver.close())
  const fixture = await openFixture(t, {
    config: { events: { webhooks: [{ url: receiver.url, secret: SECRET, timeout: '5m' }] } },
  })
  receiver.answer = (_request, response) => {
    response.statusCode = receiver.requests.length < 3 ? 500 : 204
    response.end()
  }
  const users = [someone(), someone()]
  for (const user of users) await fixture.gateway.sides.consumer.disable(user, 30)
  await until(() => receiver.requests.length >= 4)
  const told = receiver.requests.map(({ body }) => JSON.parse(body))
  t.same(
    told.map(({ login_id }) => login_id),
    [users[0], users[0], users[0], users[1]],
  )
  t.equal(new Set(told.slice(0, 3).map(({ id }) => id)).size, 1, 'the same event has the same id')
})

t.test('an unreachable receiver delays neither requests nor the end of the gateway', async t => {
  const fixture = await startFixture({
    config: { events: { webhooks: [{ url: 'http://127.0.0.1:1/', secret: SECRET }] } },
  })
  for (let i = 0; i < 50; i++) await fixture.gateway.sides.consumer.disable(someone(), 30)
  await fixture.close()
  const lost = fixture.log.map(line => JSON.parse(line)).find(({ msg }) => msg === 'webhook events dropped')
  t.match(lost, { events: 50, webhook: '127.0.0.1:1' })
})

t.test('logins and failed ones name the address and the browser, and no secret', async t => {
  const receiver = await startUpstream()
  t.teardown(() => receiver.close())
  const fixture = await openFixture(t, {
    config: { events: { webhooks: [{ url: receiver.url, secret: SECRET, timeout: '5m' }] } },
  })
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36' }
  const attempt = async (password?: string) => {
    const body = { ...(await fixture.credentials(undefined, password)), device_id: 'WEB_PC' }
    return (await fixture.call({ method: 'POST', path: '/api/v1/public/b/login', headers, body })).json()
  }
  const { token } = (await attempt()).data
  await attempt('a wrong password')
  await until(() => receiver.requests.length >= 2)
  const events = receiver.requests.map(({ body }) => JSON.parse(body))
  const origin = { address: '127.0.0.1', device_type: 'Chrome', device_id: 'WEB_PC' }
  t.match(events, [
    { event: 'login', login_id: '1', by: '1', username: 'admin', ...origin },
    { event: 'login-failed', login_id: '1', username: 'admin', reason: 'WRONG_CREDENTIALS', ...origin },
  ])
  t.notOk(receiver.requests.some(({ body }) => body.includes(token) || body.includes('wrong password')))
})
