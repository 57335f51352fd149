import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import { KEYS_PATH } from '../../src/gate/own-pages.ts'
import { generateIdentityKey } from '../../src/settings/identity-key.ts'
import { call, callRaw } from '../support/client.ts'
import { openFixture, withEveryStore } from '../support/gateway-fixture.ts'
import { temporaryFolder } from '../support/image.ts'
import { startUpstream } from '../support/upstream.ts'
import { openEnd, startSocketUpstream } from '../support/websocket-sockets.ts'

/* Assertions: what an upstream gets, and what it can prove by it. */

const HEADER = 'x-login-assertion'
const ORDERS = '/api/v1/orders/x'
const FORGED = ['X-Login-Assertion', 'x_login_assertion', 'X-Login_Assertion', 'x.login.assertion']

const OPTIONS = {
  config: {
    identity: { issuer: 'https://gate.example' },
    browser: { business: 'on' },
    gate: { pages: [{ path: '/wiki/*', needs: 'business' }], exceptions: [{ path: '/api/v1/file', needs: 'either' }] },
  },
  upstreams: [
    {
      name: 'orders',
      match: '/api/v1/orders',
      target: 'builtin:echo',
      identity: { assertion: { audience: 'https://orders.example' } },
    },
    { name: 'billing', match: '/api/v1/billing', target: 'builtin:echo', identity: { assertion: {} } },
    { name: 'file', match: '/api/v1/file', target: 'builtin:echo', identity: { assertion: {} } },
    { name: 'open', match: '/api/v1/public', target: 'builtin:echo', identity: { optional: 'on', assertion: {} } },
    {
      name: 'wiki',
      match: '/wiki',
      target: 'builtin:echo',
      identity: { headers: { 'X-User': 'username' }, assertion: { header: 'X-Proof', lifetime: '10s' } },
    },
    { name: 'plain', match: '/api/v1/plain', target: 'builtin:echo' },
  ],
}

withEveryStore(
  t,
  async (t, fixture) => {
    const user = { user_id: '7', extra: { username: '王芳', roles: ['ops', 'audit'] } }
    const login = async (side: 'business' | 'consumer') => (await fixture.operate(side, 'login', user)).data.token
    const [business, consumer] = [await login('business'), await login('consumer')]
    /** The headers that arrive. */
    const arriving = async (path: string, token?: string, headers: Record<string, string> = {}, rest: object = {}) =>
      (await fixture.call({ path, headers, ...(token !== undefined && { token }), ...rest })).json().headers
    const expected = { issuer: 'https://gate.example', algorithms: ['ES256'] }
    const verified = (text: string, audience: string, listener = fixture.url) =>
      jwtVerify(text, createRemoteJWKSet(new URL(KEYS_PATH, listener)), { ...expected, audience })

    t.test('an upstream verifies who the user is, by the keys of either listener', async t => {
      const { [HEADER]: assertion, ...others } = await arriving(ORDERS, business)
      for (const listener of [fixture.url, fixture.internal]) {
        const { payload } = await verified(assertion, 'https://orders.example', listener)
        const { jti, iat = 0, nbf, exp, ...claims } = payload
        t.same(claims, {
          iss: 'https://gate.example',
          sub: '7',
          aud: 'https://orders.example',
          login_type: 'BUSINESS',
          username: '王芳',
          roles: ['ops', 'audit'],
        })
        t.same([nbf, exp], [iat, iat + 60])
        t.ok(jti)
      }
      t.same([others['x-login-id'], others.authorization], ['7', undefined])
    })

    t.test('a request of the same session brings the same assertion; another session, another one', async t => {
      // Without an assertion so far: the gateway makes another one half a minute after the first.
      const session = await login('business')
      const first = (await arriving(ORDERS, session))[HEADER]
      t.equal((await arriving(ORDERS, session))[HEADER], first)
      t.equal((await arriving(ORDERS, session, {}, { method: 'POST', body: { a: 1 } }))[HEADER], first)
      t.not((await arriving(ORDERS, await login('business')))[HEADER], first)
    })

    t.test('an upstream cannot use it at another one', async t => {
      const { [HEADER]: assertion } = await arriving('/api/v1/billing', business)
      t.equal((await verified(assertion, 'billing')).payload.aud, 'billing', 'for which its name is the audience')
      await t.rejects(verified(assertion, 'https://orders.example'), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' })
    })

    t.test('the side stands in it', async t => {
      for (const [token, type] of [
        [business, 'BUSINESS'],
        [consumer, 'CONSUMER'],
      ]) {
        const { payload } = await verified((await arriving('/api/v1/file', token))[HEADER], 'file')
        t.equal(payload.login_type, type)
      }
    })

    t.test('without a session there is no assertion, and no client brings its own', async t => {
      const forged = Object.fromEntries(FORGED.map(name => [name, 'forged']))
      const open = await arriving('/api/v1/public/b/x', undefined, forged)
      t.same(
        Object.keys(open).filter(name => /assertion/i.test(name)),
        [],
      )
      t.ok((await arriving('/api/v1/public/b/x', consumer, forged))[HEADER], 'where a live session is optional')
      const asked = await arriving(ORDERS, business, forged)
      t.same(
        Object.keys(asked).filter(name => /assertion/i.test(name)),
        [HEADER],
      )
      await verified(asked[HEADER], 'https://orders.example')
      t.equal((await arriving('/api/v1/plain', business))[HEADER], undefined, 'another upstream gets none')
    })

    t.test('a page by cookie gets it in the header of its upstream', async t => {
      const cookie = `__Host-dualgate-b=${business}`
      const headers = await arriving('/wiki/a', undefined, { cookie, x_proof: 'forged' })
      const { payload } = await verified(headers['x-proof'], 'wiki')
      t.same([payload.exp! - payload.iat!, headers['x-user'], headers.x_proof], [10, '%E7%8E%8B%E8%8A%B3', undefined])
    })

    t.test('the key set may be kept for minutes, and answers what has not changed with 304', async t => {
      const keys = await fixture.get(KEYS_PATH)
      t.same([keys.status, keys.headers['cache-control']], [200, 'public, max-age=300'])
      t.match(keys.headers['content-type'], /^application\/json/)
      t.same(
        keys.json().keys.map((key: { d?: string }) => key.d),
        [undefined],
      )
      const again = await fixture.call({ path: KEYS_PATH, headers: { 'if-none-match': keys.headers.etag! } })
      t.equal(again.status, 304)
      t.equal((await fixture.call({ path: KEYS_PATH, method: 'POST', body: {} })).json().code, 405)
    })
  },
  OPTIONS,
)

t.test('a backend gets it with bodies that arrive slowly, and with the handshake of a WebSocket', async t => {
  const backend = await startUpstream()
  const sockets = await startSocketUpstream(t)
  t.teardown(() => backend.close())
  const identity = () => ({ assertion: {} })
  const fixture = await openFixture(t, {
    upstreams: [
      { name: 'slow', match: '/api/v1/slow', target: backend.url, identity: identity() },
      { name: 'live', match: '/api/v1/c/live', target: sockets.url, websocket: {}, identity: identity() },
    ],
  })
  const { token: b } = (await fixture.operate('business', 'login', { user_id: '1' })).data
  const { token: c } = (await fixture.operate('consumer', 'login', { user_id: '2' })).data
  const host = new URL(fixture.url).host
  const head = `POST /api/v1/slow HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${b}\r\nConnection: close\r\n`
  const answer = callRaw(fixture.url, `${head}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`)
  t.match(await answer, /^HTTP\/1\.1 200/)
  t.match(backend.requests[0], { body: 'a', headers: { [HEADER]: /^eyJ/ } })
  await openEnd(t, fixture.url, { token: c })
  t.match(sockets.handshakes[0]!.headers[HEADER], /^eyJ/)
})

t.test('after half of its lifetime another one is signed with the same key', async t => {
  const upstream = { name: 'a', match: '/api/v1/a', target: 'builtin:echo', identity: { assertion: {} } }
  const fixture = await openFixture(t, { upstreams: [upstream] })
  const { token } = (await fixture.operate('business', 'login', { user_id: '1' })).data
  const next = async (): Promise<string> => (await fixture.get('/api/v1/a', token)).json().headers[HEADER]
  const first = await next()
  await fixture.elapse(15_000)
  t.equal(await next(), first)
  await fixture.elapse(15_000)
  const second = await next()
  t.not(second, first)
  t.equal(decodeProtectedHeader(second).kid, decodeProtectedHeader(first).kid)
})

t.test('where no upstream gets assertions, there is no key set', async t => {
  const key_file = join(temporaryFolder(t, 'key'), 'identity.pem')
  writeFileSync(key_file, generateIdentityKey(), { mode: 0o600 })
  const fixture = await openFixture(t, { config: { identity: { key_file } } })
  t.equal((await fixture.get(KEYS_PATH)).status, 404)
  t.equal((await call(fixture.internal, { path: KEYS_PATH })).status, 404)
  t.equal((await fixture.call({ path: KEYS_PATH, method: 'HEAD' })).status, 404)
})
