import t from 'tap'
import { type Fixture, openFixture, someone } from '../support/gateway-fixture.ts'

interface Event {
  event: string
  type: string
  by?: string
  [field: string]: unknown
}

const eventsOf = ({ log }: Fixture): Event[] => log.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'event')

const eventOf = (fixture: Fixture, name: string): Event | undefined =>
  eventsOf(fixture).findLast(({ event }) => event === name)

t.test('an event carries who requested it, from which address, and the id of the request', async t => {
  const fixture = await openFixture(t)
  const administrator = await fixture.signIn()
  const user = someone()
  const token = await fixture.gateway.sides.consumer.login(undefined, user)

  const asked = { 'user-agent': 'curl/8.5.0', 'x-request-id': 'a-trace-of-mine' }
  const origin = { by: '1', trace_id: 'a-trace-of-mine', address: '127.0.0.1', device_type: 'curl' }
  const ask = (path: string, body: unknown) =>
    fixture.call({ method: 'POST', path, body, headers: { ...asked, authorization: `Bearer ${administrator}` } })
  await ask('/api/v1/client/session/exit-token', { user_id: user, token })
  t.match(eventOf(fixture, 'kickout-token'), { type: 'CONSUMER', login_id: user, ...origin })
  await ask('/api/v1/client/session/exit', { user_id: user })
  t.match(eventOf(fixture, 'kickout'), { type: 'CONSUMER', login_id: user, ...origin })
  await ask('/api/v1/client/session/disable', { user_id: user, seconds: 60 })
  t.match(eventOf(fixture, 'disable'), { type: 'CONSUMER', login_id: user, ...origin })
  await ask('/api/v1/client/session/untie-disable', { user_id: user })
  t.match(eventOf(fixture, 'untie-disable'), { type: 'CONSUMER', login_id: user, ...origin })
  await ask('/api/v1/b/logout', undefined)
  t.match(eventOf(fixture, 'logout'), { type: 'BUSINESS', login_id: '1', ...origin })
})

t.test(
  'an event of an operation names the operations and the id of the request, of a program the operations',
  async t => {
    const fixture = await openFixture(t, { profile: 2 })
    const user = someone()
    const { data, trace_id } = await fixture.operate('consumer', 'login', {
      user_id: user,
      extra: { username: 'ann', nickname: `${'a'.repeat(127)}𝄞𝄞`, login_ip: '192.0.2.7' },
    })
    t.match(eventOf(fixture, 'login'), {
      login_id: user,
      by: 'operations',
      trace_id,
      username: 'ann',
      nickname: `${'a'.repeat(127)}𝄞`,
      address: '192.0.2.7',
    })
    const bodies = {
      'renew-timeout': { token: data.token, seconds: 60 },
      'kickout-token': { user_id: user, token: data.token },
      kickout: { user_id: user },
      disable: { user_id: user, seconds: 60 },
      'untie-disable': { user_id: user },
    }
    for (const [name, body] of Object.entries(bodies)) {
      const answer = await fixture.operate('consumer', name, body)
      const event = eventOf(fixture, name === 'renew-timeout' ? 'renew' : name)
      t.match(event, { login_id: user, by: 'operations', trace_id: answer.trace_id })
      t.notOk('address' in event!, 'the address of a backend is not that of a client')
    }
    const { consumer } = fixture.gateway.sides
    const token = await consumer.login(undefined, user)
    t.ok(await consumer.logout({ headers: { authorization: token } }))
    t.match(eventOf(fixture, 'logout'), { login_id: user, by: 'operations' })
  },
)

t.test(
  'a lock after failed logins is an event without a by, with its reason and the address of the last attempt',
  async t => {
    const fixture = await openFixture(t)
    const attempt = async () =>
      (await fixture.post('/api/v1/public/b/login', await fixture.credentials(undefined, 'wrong'))).json()
    for (let i = 0; i < 4; i++) await attempt()
    const { trace_id } = await attempt()
    const event = eventOf(fixture, 'disable')
    t.match(event, { login_id: '1', reason: 'too-many-failures', address: '127.0.0.1', trace_id })
    t.notOk('by' in event!)
  },
)

t.test('a session that a login replaces is an event with the origin of that login', async t => {
  const fixture = await openFixture(t, { config: { sessions: { business: { max_tokens_per_user: 1 } } } })
  await fixture.signIn()
  await fixture.signIn()
  const [login] = eventsOf(fixture)
    .filter(({ event }) => event === 'login')
    .slice(-1)
  t.match(eventOf(fixture, 'replaced'), { login_id: '1', by: '1', trace_id: login!.trace_id, address: '127.0.0.1' })
})
