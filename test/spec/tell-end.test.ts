import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { createLog } from '../../src/base/log/log.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { createClient } from '../../src/package/client.ts'
import type { EndReason } from '../../src/session/end-reason.ts'
import { call } from '../support/client.ts'
import { type Fixture, openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { withoutRedis, withoutRedisServer } from '../support/redis-server.ts'
import { PATIENCE, until } from '../support/until.ts'
import { openWebSocketFixture } from '../support/websocket-fixture.ts'
import { open } from '../support/websocket-sockets.ts'

/* `sessions.tell_end`: the 401 of a token whose session was ended says why. */

const HOUR = 3_600_000
const TELLING = {
  config: {
    sessions: { tell_end: '24h', consumer: { max_tokens_per_user: 2 } },
    own_sessions: { consumer: true },
    session_administration: true,
    account_administration: true,
  },
}
const PATHS = { business: '/api/v1/b/x', consumer: '/api/v1/c/x' } as const
type SideName = keyof typeof PATHS

const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** What a page reads from the refusal of a token: the reason, or `null` for a 401 without one. */
async function toldOf(fixture: Fixture, side: SideName, token: string): Promise<EndReason | null> {
  const { code, data } = (await fixture.get(PATHS[side], token)).json()
  if (code !== 401) throw new Error(`answered with ${code}`)
  return data === null ? null : data.ended
}

withEveryStore(
  t,
  async (t, fixture) => {
    const admin = await fixture.signIn()

    t.test('the 401 of a session says what has changed of its account, whoever changed it', async t => {
      const administer = async (path: string, body: object) =>
        (await fixture.post(`/api/v1/sys/account/${path}`, body, admin)).json().data
      const encrypted = async (text: string) => (await fixture.credentials('any', text)).password
      const [present, next] = await Promise.all(['battery staple 7', 'another staple 9'].map(encrypted))
      const change = { current_password: present, new_password: next }
      const ends: [reason: EndReason, end: (id: string, another: string) => Promise<unknown>][] = [
        ['password-changed', (_, another) => fixture.post('/api/v1/b/account/password', change, another)],
        ['password-changed', id => administer('reset-password', { id })],
        ['account-changed', id => administer('edit', { id, roles: ['operator'] })],
        ['account-changed', id => administer('edit', { id, status: 'LOCKED' })],
        ['account-changed', id => administer('remove', { id })],
      ]
      for (const [reason, end] of ends) {
        const username = someone()
        const { id } = await administer('add', { username, password: present, must_change_password: false })
        const signIn = () => fixture.signIn(username, 'battery staple 7')
        const [token, another] = [await signIn(), await signIn()]
        await end(id, another)
        t.equal(await toldOf(fixture, 'business', token), reason, `${end}`)
      }
    })

    for (const side of ['business', 'consumer'] as const) {
      const operations = fixture.gateway.sides[side]
      const section = side === 'business' ? 'b' : 'c'
      const login = (user: string) => operations.login(undefined, user)
      const handleOf = async (token: string): Promise<string> =>
        (await fixture.get(`/api/v1/${section}/session/tokens`, token)).json().data[0].token
      const administer = (path: string, body: object) =>
        fixture.post(`/api/v1/${side === 'business' ? 'sys' : 'client'}/session/${path}`, body, admin)

      const ENDS: Record<string, [EndReason, (token: string, user: string) => Promise<unknown>]> = {
        'a logout': ['logged-out', token => operations.logout(asRequest(token))],
        'the logout route': ['logged-out', token => fixture.post(`/api/v1/${section}/logout`, undefined, token)],
        'a kickout': ['kicked-out', (_, user) => operations.kickout(user)],
        'a kickout of one token': ['kicked-out', (token, user) => operations.kickoutToken(user, token)],
        'the operation over HTTP': ['kicked-out', (_, user_id) => fixture.operate(side, 'kickout', { user_id })],
        'an administrator': ['kicked-out', (_, user_id) => administer('exit', { user_id })],
        'an administrator, by its handle': [
          'kicked-out',
          async (token, user_id) => administer('exit-token', { user_id, token: await handleOf(token) }),
        ],
        'the user, in the list of sessions': [
          'kicked-out',
          async token => fixture.post(`/api/v1/${section}/session/exit-token`, { token: await handleOf(token) }, token),
        ],
        'the user, with all others': [
          'kicked-out',
          async (_, user) => fixture.post(`/api/v1/${section}/session/exit-others`, {}, await login(user)),
        ],
      }
      for (const [who, [reason, end]] of Object.entries(ENDS)) {
        t.test(`${side}: the 401 of a session that ${who} ended says ${reason}, again and again`, async t => {
          const user = someone()
          const token = await login(user)
          await end(token, user)
          for (let i = 0; i < 2; i++) t.equal(await toldOf(fixture, side, token), reason)
          t.equal(await toldOf(fixture, side === 'business' ? 'consumer' : 'business', token), null, 'the other side')
        })
      }

      t.test(`${side}: a reason is reported for as long as the setting says, and that of expiry never`, async t => {
        const [ended, expired] = [await login(someone()), await login(someone())]
        await operations.renewTimeout(asRequest(expired), 60)
        await operations.logout(asRequest(ended))
        await fixture.elapse(23 * HOUR)
        t.equal(await toldOf(fixture, side, ended), 'logged-out')
        t.equal(await toldOf(fixture, side, expired), null)
        await fixture.elapse(HOUR + 1000)
        t.equal(await toldOf(fixture, side, ended), null)
      })
    }

    t.test('after a login beyond the limit of a user, the older session is refused as replaced', async t => {
      const user = someone()
      const tokens = []
      for (let i = 0; i < 4; i++) tokens.push(await fixture.gateway.sides.consumer.login(undefined, user))
      for (const token of tokens.slice(0, 2)) t.equal(await toldOf(fixture, 'consumer', token), 'replaced')
      for (const token of tokens.slice(2)) t.equal((await fixture.get('/api/v1/c/x', token)).json().ok, true)
    })

    t.test('nothing is reported without a valid signature, whatever the store knows', async t => {
      const token = await fixture.gateway.sides.business.login(undefined, someone())
      await fixture.gateway.sides.business.logout(asRequest(token))
      const signature = token.slice(token.lastIndexOf('.') + 1)
      const forged = token.slice(0, -signature.length) + [...signature].reverse().join('')
      const { sessions } = fixture.store
      // The clock of the fixture is ahead.
      const end = Date.now() + 72 * HOUR
      await sessions.add('BUSINESS', forged, { user_id: '9', type: 'BUSINESS', created_at: '', extra: {} }, end)
      await sessions.remove('BUSINESS', '9', forged, { reason: 'kicked-out', until: end })
      t.equal(await sessions.whyEnded('BUSINESS', forged), 'kicked-out', 'the store knows it')
      t.equal(await toldOf(fixture, 'business', forged), null)
      t.equal(await toldOf(fixture, 'business', token), 'logged-out')
    })

    t.test('/verify, the operations and their client tell the reason, too', async t => {
      const token = await fixture.gateway.sides.consumer.login(undefined, '42')
      await fixture.gateway.sides.consumer.kickout('42')
      const headers = { 'x-original-uri': '/api/v1/c/x', 'x-original-method': 'GET' }
      const verified = await call(fixture.internal, { path: '/verify', headers, token })
      t.equal(verified.status, 401)
      t.match(verified.json(), { code: 401, data: { ended: 'kicked-out' } })
      const renewed = await fixture.operate('consumer', 'renew-timeout', { token })
      t.match(renewed, { code: 401, data: { ended: 'kicked-out' } })
      const { consumer, business } = createClient({
        url: fixture.internal,
        secret: fixture.settings.internal.secret,
        timeout: PATIENCE,
      })
      await t.rejects(consumer.renewTimeout(token), { name: 'OperationError', code: 401, ended: 'kicked-out' })
      await t.rejects(business.renewTimeout(token), { code: 401, ended: null }, 'the other side')
    })
  },
  TELLING,
)

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`${store} store: another gateway refuses an ended session at once, with the reason`, { skip }, async t => {
    // A session that is cached may be accepted until Redis announces its end.
    const config = { ...TELLING.config, session_cache: { consumer: 'off' } }
    const fixture = await openFixture(t, { config, store })
    const other = await createGateway(fixture.settings, { log: createLog('silent', { write: () => undefined }) })
    t.teardown(() => other.close())
    const { public: url } = await other.listen()
    const ask = async (path: string, token: string) => (await call(url, { path, token })).json()
    for (const [side, section] of [
      ['business', 'b'],
      ['consumer', 'c'],
    ] as const) {
      const login = async (): Promise<string> =>
        (await fixture.operate(side, 'login', { user_id: someone() })).data.token
      // Its connection to the store may come later than its listeners.
      const first = await login()
      t.ok(await until(async () => (await ask(PATHS[side], first)).ok === true))
      for (let i = 0; i < 20; i++) {
        const token = await login()
        t.equal((await ask(PATHS[side], token)).ok, true)
        const [{ token: handle }] = (await fixture.get(`/api/v1/${section}/session/tokens`, token)).json().data
        await fixture.post(`/api/v1/${section}/session/exit-token`, { token: handle }, token)
        t.match(await ask(PATHS[side], token), { code: 401, data: { ended: 'kicked-out' } })
      }
    }
  })
}

t.test('without the setting no reason is kept and none is reported', async t => {
  const fixture = await openFixture(t)
  const token = await fixture.gateway.sides.business.login(undefined, '7')
  await fixture.gateway.sides.business.kickout('7')
  t.equal(await toldOf(fixture, 'business', token), null)
  t.equal(await fixture.store.sessions.whyEnded('BUSINESS', token), null)
})

t.test('where either side will do, the reason of both sides is found', async t => {
  const exceptions = [{ path: '/api/v1/file/x', needs: 'either' }]
  const fixture = await openFixture(t, { config: { ...TELLING.config, gate: { exceptions } } })
  for (const side of ['business', 'consumer'] as const) {
    const token = await fixture.gateway.sides[side].login(undefined, '7')
    await fixture.gateway.sides[side].logout(asRequest(token))
    t.match((await fixture.get('/api/v1/file/x', token)).json(), { code: 401, data: { ended: 'logged-out' } })
  }
})

t.test('the sessions of a changed account are refused with what has changed', async t => {
  const fixture = await openFixture(t, TELLING)
  const file = join(fixture.folder, 'accounts.yaml')
  const rewrite = (from: RegExp, to: string) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to))
  const isEnded = (token: string) => until(async () => (await fixture.get('/api/v1/b/x', token)).json().code === 401)

  const first = await fixture.signIn()
  rewrite(/password: .*/, `password: ${bcrypt.hashSync('another horse 3', 4)}`)
  t.ok(await isEnded(first))
  t.equal(await toldOf(fixture, 'business', first), 'password-changed')

  let second = ''
  await until(async () => {
    second = await fixture.signIn('admin', 'another horse 3').catch(() => '')
    return second !== ''
  })
  rewrite(/status: ACTIVE/, 'status: LOCKED')
  t.ok(await isEnded(second))
  t.equal(await toldOf(fixture, 'business', second), 'account-changed')
})

t.test('the handshake of a WebSocket is refused with the reason', async t => {
  const { fixture, login } = await openWebSocketFixture(t, TELLING)
  const token = await login('u1')
  await fixture.operate('consumer', 'kickout', { user_id: 'u1' })
  for (const opening of [{ token }, { path: `/api/v1/c/live?token=${token}` }]) {
    const { refused } = await open(t, fixture.url, opening)
    t.equal(refused?.status, 401)
    t.match(JSON.parse(refused!.body), { code: 401, data: { ended: 'kicked-out' } })
  }
})

t.test('`explain --live` shows why a session has ended', async t => {
  const fixture = await openFixture(t, TELLING)
  const token = await fixture.gateway.sides.consumer.login(undefined, '7')
  await fixture.gateway.sides.consumer.logout(asRequest(token))
  const { json } = await call(fixture.internal, {
    method: 'POST',
    path: '/operations/v1/explain',
    token: fixture.settings.internal.secret,
    body: { method: 'GET', target: '/api/v1/c/x', token },
  })
  const session = json().data.rows.find(({ name }: { name: string }) => name === 'session')
  t.match(session.value, /its session of CONSUMER has ended: logged-out$/)
})

t.test(
  'a store that fails is answered with 503, also for a session that had ended',
  { skip: withoutRedis || withoutRedisServer },
  async t => {
    const fixture = await openFixture(t, { ...TELLING, store: 'redis' })
    const token = await fixture.gateway.sides.business.login(undefined, '7')
    await fixture.gateway.sides.business.kickout('7')
    t.equal(await toldOf(fixture, 'business', token), 'kicked-out')
    await fixture.redis!.kill()
    for (let i = 0; i < 3; i++) t.match((await fixture.get('/api/v1/b/x', token)).json(), { code: 503, data: null })
  },
)
