import { createHmac } from 'node:crypto'
import t from 'tap'
import { hasRepetition } from '../../src/http/routes/keys/token.ts'
import { accessTokenId } from '../../src/key/access-token.ts'
import { digestOfSecret, type Key, makeKey, partsOf } from '../../src/token/key-form.ts'
import type { Answer } from '../support/client.ts'
import { type Fixture, withEveryStore } from '../support/gateway-fixture.ts'
import { addUser, editAccounts, type MadeKey, makeOwnKey, PASSWORD } from '../support/keys.ts'
import { hashAtLowestCost } from '../support/login-work.ts'
import { until } from '../support/until.ts'

/* The token endpoint for software that knows OAuth 2.0 alone (RFC 6749, 4.4): its answers, and what its tokens open. */

hashAtLowestCost()

const PATH = '/api/v1/public/b/token'
const FORM = 'application/x-www-form-urlencoded'
const GRANT = 'grant_type=client_credentials'
const BACKEND = '/api/v1/b/orders'
const HOUR = 3_600_000

const basic = (id: string, secret: string): string => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
const bodyFor = ({ id, key }: Pick<MadeKey, 'id' | 'key'>): string =>
  `${GRANT}&${new URLSearchParams({ client_id: id, client_secret: key })}`

type Rest = { headers?: Record<string, string>; localAddress?: string }

const ask = (fixture: Fixture, body: string, { headers = {}, ...rest }: Rest = {}): Promise<Answer> =>
  fixture.call({ method: 'POST', path: PATH, body, headers: { 'content-type': FORM, ...headers }, ...rest })

async function tokenFor(fixture: Fixture, key: MadeKey): Promise<string> {
  const answer = await ask(fixture, bodyFor(key))
  if (answer.status !== 200) throw new Error(`no token: ${answer.text}`)
  return answer.json().access_token
}

const codeOf = async (fixture: Fixture, token: string, path = BACKEND): Promise<number> =>
  (await fixture.get(path, token)).json().code ?? 200

/** A JWT as every program makes it that has the secret. */
function signedWith(secret: string, claims: object): string {
  const [head, payload] = [{ alg: 'HS256', typ: 'JWT' }, claims].map(part =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  return `${head}.${payload}.${createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url')}`
}

t.test('a form with many names is read as quickly as one with few', async t => {
  // If each name were searched in the form, this would take minutes.
  const names = Array.from({ length: 300_000 }, (_, i) => i.toString(36))
  const form = new URLSearchParams(names.join('&'))
  t.notOk(hasRepetition(form))
  form.append(names[0]!, '')
  t.ok(hasRepetition(form))
})

withEveryStore(
  t,
  async (t, fixture) => {
    const { business } = fixture.gateway.sides
    const user = await addUser(fixture, { roles: ['operator'], permissions: ['orders:read', 'orders:write'] })
    const made = (fields: Record<string, unknown> = {}): Promise<MadeKey> =>
      makeOwnKey(fixture, user.token, fields, PASSWORD)
    const key = await made()

    t.test('a key gets a token, named in the header or in the form', async t => {
      const encoded = basic(key.id, key.key.replaceAll('_', '%5F'))
      const ways: [what: string, body: string, headers: Record<string, string>][] = [
        ['form', bodyFor(key), {}],
        ['Basic', GRANT, { authorization: basic(key.id, key.key) }],
        ['the scheme in another case', GRANT, { authorization: basic(key.id, key.key).replace('Basic', 'BASIC') }],
        ['Basic, form-encoded', GRANT, { authorization: encoded }],
        [
          'Basic, and the same id in the form',
          `${GRANT}&client_id=${key.id}`,
          { authorization: basic(key.id, key.key) },
        ],
        ['empty parameters', `${GRANT}&client_secret=&scope=`, { authorization: basic(key.id, key.key) }],
        ['an unknown parameter', `${bodyFor(key)}&audience=orders`, {}],
        ['a charset', bodyFor(key), { 'content-type': `${FORM}; charset=UTF-8` }],
      ]
      for (const [what, body, headers] of ways) {
        const answer = await ask(fixture, body, { headers })
        t.equal(answer.status, 200, what)
        t.match(answer.headers, {
          'cache-control': 'no-store',
          pragma: 'no-cache',
          'content-type': /^application\/json/,
        })
        t.same(Object.keys(answer.json()), ['access_token', 'token_type', 'expires_in'])
        const { access_token, token_type, expires_in } = answer.json()
        t.same([token_type, expires_in], ['Bearer', 3600])
        t.equal(await codeOf(fixture, access_token), 200, what)
      }
    })

    t.test('what is wrong is refused in the form of RFC 6749, with its real status', async t => {
      const own = basic(key.id, key.key)
      const other = makeKey('BUSINESS')
      const mistyped = `${key.key.slice(0, -1)}${key.key.endsWith('0') ? '1' : '0'}`
      const cases: [what: string, body: string, headers: Record<string, string>, status: number, error: string][] = [
        ['no parameter', '', {}, 400, 'invalid_request'],
        ['no grant', bodyFor(key).replace(GRANT, 'a=b'), {}, 400, 'invalid_request'],
        ['an empty grant', bodyFor(key).replace(GRANT, 'grant_type='), {}, 400, 'invalid_request'],
        ['a doubled grant', `${GRANT}&${bodyFor(key)}`, {}, 400, 'invalid_request'],
        ['a doubled id', `${bodyFor(key)}&client_id=${key.id}`, {}, 400, 'invalid_request'],
        ['a doubled unknown parameter', `${bodyFor(key)}&a=1&a=1`, {}, 400, 'invalid_request'],
        ['both ways at once', bodyFor(key), { authorization: own }, 400, 'invalid_request'],
        ['two ids', `${GRANT}&client_id=${other.id}`, { authorization: own }, 400, 'invalid_request'],
        [
          'JSON',
          JSON.stringify({ grant_type: 'client_credentials' }),
          { 'content-type': 'application/json' },
          400,
          'invalid_request',
        ],
        ['another type', bodyFor(key), { 'content-type': 'text/plain' }, 400, 'invalid_request'],
        ['another grant', bodyFor(key).replace('client_credentials', 'password'), {}, 400, 'unsupported_grant_type'],
        ['another case', bodyFor(key).replace('client_cred', 'Client_cred'), {}, 400, 'unsupported_grant_type'],
        ['a scope', `${bodyFor(key)}&scope=orders`, {}, 400, 'invalid_scope'],
        ['no client', GRANT, {}, 401, 'invalid_client'],
        ['an id alone', `${GRANT}&client_id=${key.id}`, {}, 401, 'invalid_client'],
        ['a secret alone', `${GRANT}&client_secret=${key.key}`, {}, 401, 'invalid_client'],
        ['an empty secret', `${GRANT}&client_id=${key.id}&client_secret=`, {}, 401, 'invalid_client'],
        ['the id of another key', bodyFor({ id: other.id, key: key.key }), {}, 401, 'invalid_client'],
        ['a mistyped key', bodyFor({ id: key.id, key: mistyped }), {}, 401, 'invalid_client'],
        ['an unknown key', bodyFor(other), {}, 401, 'invalid_client'],
        ['an unknown key in Basic', GRANT, { authorization: basic(other.id, other.key) }, 401, 'invalid_client'],
        ['half of Basic', GRANT, { authorization: 'Basic eA' }, 401, 'invalid_client'],
        ['no base64', GRANT, { authorization: 'Basic *' }, 401, 'invalid_client'],
        ['the key as a token', GRANT, { authorization: `Bearer ${key.key}` }, 401, 'invalid_client'],
        ['the password of a user', bodyFor({ id: user.id, key: PASSWORD }), {}, 401, 'invalid_client'],
      ]
      for (const [what, body, headers, status, error] of cases) {
        const answer = await ask(fixture, body, { headers })
        t.equal(answer.status, status, what)
        t.match(answer.json(), { error }, what)
        t.same(
          Object.keys(answer.json()).filter(name => name !== 'error' && name !== 'error_description'),
          [],
          what,
        )
        t.match(answer.headers, { 'cache-control': 'no-store', 'content-type': /^application\/json/ }, what)
        const challenge = status === 401 && 'authorization' in headers ? /^Basic realm="dualgate"/ : undefined
        t.match(answer.headers['www-authenticate'], challenge, what)
        for (const secret of [key.key, other.key]) t.notMatch(answer.text, secret, what)
      }
      const { status, headers } = await fixture.get(PATH)
      t.match([status, headers.allow], [405, /POST/])
    })

    t.test('a refusal is in the log and the metrics by its reason', async t => {
      const from = fixture.log.length
      await ask(fixture, bodyFor(makeKey('BUSINESS')))
      await ask(fixture, 'grant_type=password')
      const refusals = (): string[] =>
        fixture.log.slice(from).flatMap(line => {
          const { msg, path, refused } = JSON.parse(line)
          return msg === 'request' && path === PATH ? [refused] : []
        })
      await until(() => refusals().length === 2)
      t.same(refusals(), ['NOT_LOGGED_IN', 'INVALID'])
    })

    t.test('a token opens what its key opens, and the backend gets the id of the key', async t => {
      const limited = await made({ paths: [BACKEND], permissions: ['orders:read'] })
      const token = await tokenFor(fixture, limited)
      t.equal(await codeOf(fixture, token), 200)
      const { headers } = fixture.upstream.requests.at(-1)!
      t.match(headers, { 'x-login-id': user.id, 'x-login-type': 'BUSINESS', 'x-login-key': limited.id })
      t.equal(headers.authorization, undefined)
      t.match((await fixture.get('/api/v1/b/other', token)).json(), { code: 403, message: /key/ })
      const guarded = await tokenFor(fixture, await made({ permissions: ['orders:read'] }))
      t.equal(await codeOf(fixture, guarded, '/api/v1/b/guarded'), 200)
      t.equal(await codeOf(fixture, guarded, '/api/v1/b/guarded-write'), 403)
      t.equal((await fixture.get('/api/v1/c/orders', guarded)).json().code, 401, 'nothing of the other side')
      const far = await made({ addresses: ['192.0.2.1'] })
      t.match((await ask(fixture, bodyFor(far))).json(), { error: 'invalid_client' }, 'nor from another address')
    })

    t.test('no token reaches what the gateway serves to a session, and none is a session of a browser', async t => {
      const token = await tokenFor(fixture, key)
      for (const [method, path] of [
        ['GET', '/api/v1/b/account'],
        ['POST', '/api/v1/b/account/keys/add'],
        ['GET', '/api/v1/b/session/tokens'],
        ['POST', '/api/v1/b/logout'],
        ['GET', '/api/v1/sys/session/page'],
      ] as const) {
        const answer = await fixture.call({ method, path, token, ...(method === 'POST' && { body: {} }) })
        t.match([answer.status, answer.json()], [403, { code: 403, message: /key/ }], path)
      }
      const withCookie = (value: string) =>
        fixture.call({ path: BACKEND, headers: { cookie: `__Host-dualgate-b=${value}` } })
      t.match((await withCookie(token)).json(), { code: 401 })
      t.match((await withCookie(user.token)).json(), { ok: true }, 'as the token of a login is')
      t.equal(await codeOf(fixture, token), 200, 'no request has ended it')
    })

    t.test('a token is in no list of sessions, and no operation knows it', async t => {
      const token = await tokenFor(fixture, key)
      t.equal(await codeOf(fixture, token), 200)
      t.same((await fixture.operate('business', 'is-login', { token })).data, { is_login: false })
      t.same((await fixture.operate('business', 'get-login-id', { token })).data, { user_id: '' })
      t.equal((await fixture.operate('business', 'kickout-token', { user_id: user.id, token })).code, 400)
      const sessions = (await fixture.get('/api/v1/b/session/tokens', user.token)).json().data
      t.equal(sessions.length, 1, 'the session of the login alone')
      await business.kickout(user.id)
      t.equal(await codeOf(fixture, token), 200)
      user.token = await fixture.signIn(user.id, PASSWORD)
    })

    t.test('a token ends with its key, and is refused while the account is', async t => {
      const doomed = await made()
      const token = await tokenFor(fixture, doomed)
      t.equal(await codeOf(fixture, token), 200)
      await business.disable(user.id, 60)
      t.match(
        [(await fixture.get(BACKEND, token)).status, (await ask(fixture, bodyFor(doomed))).json()],
        [403, { error: 'unauthorized_client' }],
      )
      await business.untieDisable(user.id)
      t.equal(await codeOf(fixture, token), 200)

      const status = (value: string): void =>
        editAccounts(fixture, accounts => accounts.map(one => (one.id === user.id ? { ...one, status: value } : one)))
      status('LOCKED')
      await until(async () => (await codeOf(fixture, token)) === 401)
      t.match((await ask(fixture, bodyFor(doomed))).json(), { error: 'invalid_client' })
      status('ACTIVE')
      await until(async () => (await codeOf(fixture, token)) === 200)

      user.token = await fixture.signIn(user.id, PASSWORD)
      await fixture.post('/api/v1/b/account/keys/revoke', { id: doomed.id }, user.token)
      t.equal(await codeOf(fixture, token), 401)
      t.match((await ask(fixture, bodyFor(doomed))).json(), { error: 'invalid_client' })
    })

    t.test('a token cannot be made with the secret of the JWTs alone, nor changed', async t => {
      const secret = fixture.settings.jwt.secret_key
      const now = Math.floor(fixture.now() / 1000)
      const digest = digestOfSecret(partsOf(key.key as Key).secret).toString('base64url')
      const right = accessTokenId({ id: key.id, digest }, fixture.now() + HOUR)
      t.equal(
        await codeOf(fixture, signedWith(secret, { jti: right, iat: now })),
        200,
        'with the digest of the key it can',
      )
      const [mark, id, end, nonce, proof] = right.split('.') as [string, string, string, string, string]
      const guess = createHmac('sha256', secret).update([mark, id, end, nonce].join('.')).digest('base64url')
      const later = (fixture.now() + 100 * HOUR).toString(36)
      for (const jti of [
        [mark, id, end, nonce, guess],
        [mark, id, end, nonce, ''],
        [mark, id, end, nonce],
        [mark, id, later, nonce, proof],
        [mark, id, end, `${nonce}x`, proof],
        [mark, makeKey('BUSINESS').id, end, nonce, proof],
        [mark, id, 'Infinity', nonce, proof],
        [mark, id],
        [mark],
      ])
        t.equal(await codeOf(fixture, signedWith(secret, { jti: jti.join('.'), iat: now })), 401, jti.join('.'))
      t.equal(await codeOf(fixture, signedWith('another secret of another gateway', { jti: right, iat: now })), 401)
    })

    t.test(
      'a token lives for an hour at most, and no longer than its key',
      { skip: fixture.redis !== null && 'Redis has a clock of its own' },
      async t => {
        const day = await made({ days: 1 })
        const token = await tokenFor(fixture, day)
        await fixture.elapse(HOUR / 2)
        t.equal(await codeOf(fixture, token), 200)
        await fixture.elapse(HOUR / 2 + 2000)
        t.equal(await codeOf(fixture, token), 401)
        t.equal(await codeOf(fixture, day.key), 200)
        await fixture.elapse(22.5 * HOUR)
        const { access_token, expires_in } = (await ask(fixture, bodyFor(day))).json()
        t.ok(expires_in > 1000 && expires_in <= 1800, `${expires_in} seconds`)
        t.equal(await codeOf(fixture, access_token), 200)
        await fixture.elapse(HOUR / 2)
        t.equal(await codeOf(fixture, access_token), 401)
        t.match((await ask(fixture, bodyFor(day))).json(), { error: 'invalid_client' })
      },
    )

    t.test('wrong keys count for their address, and beyond the limit the client learns when to come back', async t => {
      const from = (body: string) => ask(fixture, body, { localAddress: '127.0.0.78' })
      for (let i = 0; i < 30; i++) t.equal((await from(bodyFor(makeKey('BUSINESS')))).status, 401)
      const answer = await from(bodyFor(makeKey('BUSINESS')))
      t.equal(answer.status, 429)
      t.same(answer.json(), { error: 'temporarily_unavailable' })
      t.ok(Number(answer.headers['retry-after']) > 0)
      t.equal((await ask(fixture, bodyFor(makeKey('BUSINESS')))).status, 401, 'from another address')
    })

    t.test(
      'a store that fails is no wrong key',
      { skip: fixture.redis === null && 'a store of its own cannot be away' },
      async t => {
        await fixture.redis!.kill()
        const unused = makeKey('BUSINESS')
        await until(async () => (await ask(fixture, bodyFor(unused))).status === 503)
        t.same((await ask(fixture, bodyFor(unused))).json(), { error: 'temporarily_unavailable' })
      },
    )
  },
  {
    config: { browser: { business: 'on' }, session_administration: true },
    upstreams: [
      { name: 'guarded', match: '/api/v1/b/guarded', target: 'builtin:echo', permission: 'orders:read' },
      { name: 'guarded-write', match: '/api/v1/b/guarded-write', target: 'builtin:echo', permission: 'orders:write' },
    ],
  },
)
