import bcrypt from 'bcrypt'
import t from 'tap'
import { servedRoutes } from '../../src/settings/own-routes.ts'
import { PROFILES } from '../../src/settings/profile.ts'
import { makeKey } from '../../src/token/key-form.ts'
import { call } from '../support/client.ts'
import { type Fixture, openFixture, someone, withEveryStore } from '../support/gateway-fixture.ts'
import { addUser, editAccounts, encrypted, HASH, type MadeKey, makeOwnKey, PASSWORD } from '../support/keys.ts'
import { hashAtLowestCost } from '../support/login-work.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

/* Keys: what their users see, what they open, and when they end. Each law of keys has its test here, on both stores. */

hashAtLowestCost()

const KEYS = '/api/v1/b/account/keys'
const BACKEND = '/api/v1/b/orders'

/** A backend with other settings than the fixture's. */
const backend = await startUpstream()
t.teardown(() => backend.close())

const REFUSED = { code: 401, success: false }

const codeOf = async (fixture: Fixture, key: string, path = BACKEND): Promise<number> =>
  (await fixture.get(path, key)).json().code ?? 200

const opens = async (fixture: Fixture, key: string, path = BACKEND): Promise<boolean> =>
  (await fixture.get(path, key)).text === '{"ok":true}'

withEveryStore(
  t,
  async (t, fixture) => {
    const { profile } = fixture
    const admin = await fixture.signIn()

    t.test('a user makes a key that is shown once, lists it, and uses it as a token', async t => {
      const { id: user, token } = await addUser(fixture, { nickname: 'Ann' })
      const made = await makeOwnKey(fixture, token, { days: 7, paths: null, addresses: null }, PASSWORD)
      t.same(Object.keys(made), ['id', 'key', 'expires_at'])
      const answer = await fixture.get(KEYS, token)
      t.notMatch(answer.text, made.key)
      const [listed] = answer.json().data
      t.same(Object.keys(listed), [
        'id',
        'name',
        'hint',
        'user_id',
        'username',
        'permissions',
        'paths',
        'addresses',
        'created_at',
        'expires_at',
        'last_used_at',
        'created_by',
        'created_by_type',
        'replaced',
      ])
      t.match(listed, {
        id: made.id,
        name: 'nightly report',
        hint: made.key.slice(0, 8),
        user_id: user,
        permissions: null,
        last_used_at: null,
        created_by: user,
        created_by_type: 'BUSINESS',
        replaced: false,
      })
      t.ok(await opens(fixture, made.key))
      const { headers } = fixture.upstream.requests.at(-1)!
      t.match(headers, { 'x-login-id': user, 'x-login-type': 'BUSINESS', 'x-login-key': made.id })
      t.equal(headers.authorization, undefined)
      await until(async () => (await fixture.get(KEYS, token)).json().data[0].last_used_at !== null)
      t.ok(await opens(fixture, token))
      t.equal(fixture.upstream.requests.at(-1)!.headers['x-login-key'], undefined, 'a token has none')
    })

    t.test('what is wrong in a wanted key is refused by its field, before the password is checked', async t => {
      const { token } = await addUser(fixture)
      const current_password = await encrypted(fixture, PASSWORD)
      const many = (beginning: string, count: number) =>
        Array.from({ length: count }, (_, i) => `${beginning}${i}`.padEnd(128, 'x'))
      for (const [fields, message] of [
        [{ name: ' ' }, /^name: /],
        [{ name: 'x'.repeat(65) }, /^name: /],
        [{ name: 'a\u0007' }, /^name: /],
        [{ name: 'a\uffff' }, /^name: /],
        [{ days: 0 }, /^days: /],
        [{ days: 366 }, /^days: .*365/],
        [{ days: 1.5 }, /^days: /],
        [{ paths: [] }, /^paths: /],
        [{ paths: ['/api/v1/b/../c'] }, /^paths: /],
        [{ paths: ['/api/v1/b/orders/'] }, /^paths: /],
        [{ paths: ['orders'] }, /^paths: /],
        [{ addresses: [] }, /^addresses: /],
        [{ addresses: ['10.0.0.0/33'] }, /^addresses: /],
        [{ permissions: many('p', 45), paths: many('/', 5) }, /^permissions: must be shorter: .* 6144 bytes/],
        [{ permissions: many('p', 5), paths: many('/', 45) }, /^paths: must be shorter: /],
        [{ current_password: undefined }, /^current_password: /],
      ] as const) {
        const body = { name: 'a', current_password, ...fields }
        t.match((await fixture.post(`${KEYS}/add`, body, token)).json(), { code: 400, message }, JSON.stringify(fields))
      }
      const wrong = { name: 'a', current_password: await encrypted(fixture, 'wrong') }
      t.match((await fixture.post(`${KEYS}/add`, wrong, token)).json(), { code: 400, message: /Wrong/ })
      const more = { name: 'a', current_password, permissions: ['sys:session:page'] }
      t.match(
        (await fixture.post(`${KEYS}/add`, more, token)).json(),
        { code: 403 },
        'a right that the user does not hold',
      )
      t.same((await fixture.get(KEYS, token)).json().data, [])
    })

    t.test('a key with limits reaches the named paths on segment boundaries, from the named addresses', async t => {
      const { token } = await addUser(fixture)
      const near = await makeOwnKey(fixture, token, { paths: [BACKEND], addresses: ['127.0.0.0/8'] }, PASSWORD)
      for (const path of [BACKEND, `${BACKEND}/1`, `${BACKEND}?a=/other`])
        t.ok(await opens(fixture, near.key, path), path)
      for (const path of [`${BACKEND}x`, '/api/v1/b/other', '/api/v1/sys/u'])
        t.match((await fixture.get(path, near.key)).json(), { code: 403, message: /key/ }, path)
      const far = await makeOwnKey(fixture, token, { addresses: ['192.0.2.1'] }, PASSWORD)
      const refused = await fixture.get(BACKEND, far.key)
      t.equal(refused.status, 403)
      t.match(refused.json(), { code: 403 })
    })

    t.test(
      'a request has the rights that the account has now and the key includes; an empty list grants nothing',
      async t => {
        const { id, token } = await addUser(fixture, { permissions: ['orders:*'] })
        const all = await makeOwnKey(fixture, token, {}, PASSWORD)
        const one = await makeOwnKey(fixture, token, { permissions: ['orders:read'] }, PASSWORD)
        const none = await makeOwnKey(fixture, token, { permissions: [] }, PASSWORD)
        const read = '/api/v1/b/guarded'
        const write = '/api/v1/b/guarded-write'
        t.same(await Promise.all([all, one, none].map(({ key }) => codeOf(fixture, key, read))), [200, 200, 403])
        t.same(await Promise.all([all, one, none].map(({ key }) => codeOf(fixture, key, write))), [200, 403, 403])
        t.ok(await opens(fixture, none.key), 'where no permission is needed')
        editAccounts(fixture, accounts =>
          accounts.map(account => (account.id === id ? { ...account, permissions: [] } : account)),
        )
        await until(async () => (await codeOf(fixture, all.key, read)) === 403)
        t.equal(await codeOf(fixture, one.key, read), 403)
        t.ok(await opens(fixture, all.key), 'the key itself lives on')
      },
    )

    t.test('where no session is needed, a key tells whose it is, and never leads to a refusal', async t => {
      const { id, token } = await addUser(fixture)
      const near = await makeOwnKey(fixture, token, {}, PASSWORD)
      const far = await makeOwnKey(fixture, token, { paths: [BACKEND] }, PASSWORD)
      for (const [key, expected] of [
        [near.key, id],
        [far.key, undefined],
        [makeKey('BUSINESS').key, undefined],
      ] as const) {
        t.equal((await fixture.get('/api/v1/public/b/optional', key)).status, 200)
        t.equal(backend.requests.at(-1)!.headers['x-login-id'], expected)
      }
    })

    t.test('a limited key tells backends no roles', async t => {
      const { token } = await addUser(fixture, { roles: ['operator'], permissions: ['orders:read', 'orders:write'] })
      const { key } = await makeOwnKey(fixture, token, { permissions: ['orders:read'] }, PASSWORD)
      t.ok(await opens(fixture, key, '/api/v1/b/told'))
      const extra = backend.requests.at(-1)!.headers['x-login-extra'] as string
      t.match(JSON.parse(Buffer.from(extra, 'base64url').toString()), { roles: [], permissions: ['orders:read'] })
    })

    t.test('no key reaches what the gateway serves to a session, whatever its permissions', async t => {
      const { key } = await makeOwnKey(fixture, admin)
      const routes = servedRoutes(fixture.settings, PROFILES[profile]).filter(({ needs }) => needs !== 'nothing')
      t.ok(routes.length > 10, `${routes.length} routes`)
      for (const { method, path, type } of routes) {
        const answer = await fixture.call({ method, path, token: key, ...(method === 'POST' && { body: {} }) })
        const expected = type === 'CONSUMER' && path.includes('/c/') ? 401 : 403
        t.equal(answer.json().code, expected, `${method} ${path}`)
        if (expected === 403) t.match(answer.json().message, /key/i)
      }
      t.ok(await opens(fixture, key), 'the session of a key is none that they could have ended')
    })

    t.test('a key counts in its header alone, and reaches no backend', async t => {
      const { id, token } = await addUser(fixture)
      const { key } = await makeOwnKey(fixture, token, {}, PASSWORD)
      t.match((await fixture.get(`${BACKEND}?token=${key}`)).json(), REFUSED)
      t.match((await fixture.call({ path: BACKEND, headers: { cookie: `__Host-dualgate-b=${key}` } })).json(), REFUSED)
      for (const path of [BACKEND, '/api/v1/b/passing', '/api/v1/b/bare', '/api/v1/public/b/open']) {
        for (const value of [key, `Bearer ${key}`, `bearer ${key}`]) {
          const note = someone()
          await fixture.call({ path, headers: { authorization: value, 'x-note': note } })
          const arrived = [...fixture.upstream.requests, ...backend.requests]
          const { rawHeaders } = arrived.find(({ headers }) => headers['x-note'] === note)!
          t.notMatch(rawHeaders.join(' '), key, path)
        }
      }
      const basic = `Basic ${Buffer.from(`${key.slice(4, 16)}:${key}`).toString('base64')}`
      for (const path of ['/api/v2/public/b/token', '/api/v1/public/b/passing']) {
        await fixture.call({ method: 'POST', path, headers: { authorization: basic } })
        t.notOk(
          [...fixture.upstream.requests, ...backend.requests].some(({ headers }) => headers.authorization === basic),
        )
      }
      await fixture.get(`/api/v1/public/b/open?a=1&token=${key}`)
      t.notMatch(fixture.upstream.requests.at(-1)!.url, key)
      for (const path of ['/api/v1/b/passing', '/api/v1/b/bare']) {
        await fixture.get(`${path}?a=1&%74oken=${key}&token=other`, admin)
        t.equal(backend.requests.at(-1)!.url, `${path}?a=1&token=other`)
      }
      await fixture.call({ path: BACKEND, token: key, headers: { 'x-login-key': 'forged', X_Login_Key: 'forged' } })
      t.not(fixture.upstream.requests.at(-1)!.headers['x-login-key'], 'forged')
      t.notMatch(fixture.upstream.requests.at(-1)!.rawHeaders.join(' '), 'forged')
      t.equal(fixture.upstream.requests.at(-1)!.headers['x-login-id'], id)
    })

    t.test('a key of one side opens nothing of the other', async t => {
      const { key } = await makeOwnKey(fixture, admin)
      t.match((await fixture.get('/api/v1/c/orders', key)).json(), REFUSED)
      const other = makeKey('CONSUMER').key
      t.match((await fixture.get('/api/v1/c/orders', other)).json(), REFUSED)
      t.match((await fixture.get(BACKEND, other)).json(), REFUSED)
    })

    t.test('a revoked key is refused at once, and only its user revokes it there', async t => {
      const { token } = await addUser(fixture)
      const stranger = await addUser(fixture)
      const { id, key } = await makeOwnKey(fixture, token, {}, PASSWORD)
      t.ok(await opens(fixture, key))
      const foreign = await fixture.post(`${KEYS}/revoke`, { id }, stranger.token)
      const unknown = await fixture.post(`${KEYS}/revoke`, { id: 'AAAAAAAAAAAA' }, stranger.token)
      t.same({ ...foreign.json(), trace_id: '' }, { ...unknown.json(), trace_id: '' })
      t.ok(await opens(fixture, key))
      t.match((await fixture.post(`${KEYS}/revoke`, { id }, token)).json(), { code: 200, data: null })
      t.match((await fixture.get(BACKEND, key)).json(), REFUSED)
      t.same((await fixture.get(KEYS, token)).json().data, [])
    })

    t.test('a rotated key lives on for the overlap, does not count, and is rotated once', async t => {
      const { token } = await addUser(fixture)
      const current_password = await encrypted(fixture, PASSWORD)
      const made: MadeKey[] = []
      for (let i = 0; i < 20; i++) made.push(await makeOwnKey(fixture, token, { paths: [BACKEND] }, PASSWORD))
      t.match((await fixture.post(`${KEYS}/add`, { name: 'one more', current_password }, token)).json(), {
        code: 400,
        message: /20/,
      })
      const [old] = made
      const rotations = await Promise.all(
        Array.from({ length: 8 }, () => fixture.post(`${KEYS}/rotate`, { id: old!.id, current_password }, token)),
      )
      const done = rotations.filter(answer => answer.json().code === 200)
      t.equal(done.length, 1, 'of several at once one succeeds')
      const { data: next } = done[0]!.json()
      t.ok((await opens(fixture, old!.key)) && (await opens(fixture, next.key)))
      t.equal(await codeOf(fixture, next.key, '/api/v1/b/other'), 403, 'the new one has the limits of the old one')
      const listed = (await fixture.get(KEYS, token)).json().data
      t.equal(listed.length, 21)
      t.match(
        listed.find(({ id }: { id: string }) => id === old!.id),
        { replaced: true },
      )
      await fixture.elapse(24 * 3_600_000 + 2000)
      t.match((await fixture.get(BACKEND, old!.key)).json(), REFUSED)
      t.ok(await opens(fixture, next.key))
    })

    t.test('64 keys at the same time are as many as a user may have', async t => {
      const { token } = await addUser(fixture)
      const body = { name: 'many', current_password: await encrypted(fixture, PASSWORD) }
      const answers = await Promise.all(Array.from({ length: 64 }, () => fixture.post(`${KEYS}/add`, body, token)))
      const keys = answers.map(answer => answer.json()).filter(({ code }) => code === 200)
      t.ok(keys.length > 0 && keys.length <= 20, `${keys.length} keys`)
      t.equal((await fixture.get(KEYS, token)).json().data.length, keys.length)
      for (const { data } of keys) t.ok(await opens(fixture, data.key))
    })

    t.test('every key has an end', async t => {
      const { token } = await addUser(fixture)
      const { key } = await makeOwnKey(fixture, token, { days: 1 }, PASSWORD)
      t.ok(await opens(fixture, key))
      await fixture.elapse(24 * 3_600_000 + 2000)
      t.match((await fixture.get(BACKEND, key)).json(), REFUSED)
    })

    t.test(
      'a key is refused while its account is not ACTIVE, or its id is disabled, and valid again afterwards',
      async t => {
        const { id, token } = await addUser(fixture)
        const { key } = await makeOwnKey(fixture, token, {}, PASSWORD)
        for (const status of ['INACTIVE', 'LOCKED']) {
          editAccounts(fixture, accounts =>
            accounts.map(account => (account.id === id ? { ...account, status } : account)),
          )
          await until(async () => (await codeOf(fixture, key)) === 401)
          editAccounts(fixture, accounts =>
            accounts.map(account => (account.id === id ? { ...account, status: 'ACTIVE' } : account)),
          )
          await until(() => opens(fixture, key))
        }
        for (const [status, expected] of [
          ['INACTIVE', 401],
          ['ACTIVE', 200],
        ] as const) {
          const changed = await fixture.post('/api/v1/sys/account/edit', { id, status }, admin)
          t.equal(changed.json().code, 200, changed.text)
          t.equal(await codeOf(fixture, key), expected, 'known when the change is answered')
        }
        const { business } = fixture.gateway.sides
        await business.disable(id, 60)
        const refused = await fixture.get(BACKEND, key)
        t.match([refused.status, refused.json().code], [403, 403])
        await business.untieDisable(id)
        t.ok(await opens(fixture, key))
      },
    )

    t.test('kickout, a lockout by failed logins and the own password change leave a key', async t => {
      const { id, token } = await addUser(fixture)
      const { key } = await makeOwnKey(fixture, token, {}, PASSWORD)
      for (let i = 0; i < 6; i++)
        await fixture.post('/api/v1/public/b/login', await fixture.credentials(id, 'a wrong guess'))
      t.ok(await opens(fixture, key), 'a stranger who guesses does not stop a job')
      const { business } = fixture.gateway.sides
      await business.untieDisable(id)
      const change = {
        current_password: await encrypted(fixture, PASSWORD),
        new_password: await encrypted(fixture, 'another horse 3'),
      }
      t.match((await fixture.post('/api/v1/b/account/password', change, token)).json(), { code: 200 })
      t.ok(await opens(fixture, key))
      await business.kickout(id)
      t.ok(await opens(fixture, key))
      const signedIn = await fixture.signIn(id, 'another horse 3')
      t.equal((await fixture.get(KEYS, signedIn)).json().data.length, 1, 'another file look does not end it either')
    })

    t.test('a password that the login demands leaves a key, too', async t => {
      const { id, token } = await addUser(fixture)
      const { key } = await makeOwnKey(fixture, token, {}, PASSWORD)
      editAccounts(fixture, accounts =>
        accounts.map(account => (account.id === id ? { ...account, must_change_password: true } : account)),
      )
      const login = '/api/v1/public/b/login'
      let ticket: string | undefined
      await until(async () => {
        const answer = await fixture.post(login, await fixture.credentials(id, PASSWORD))
        ticket = answer.json().data?.ticket
        return ticket !== undefined
      })
      const new_password = await encrypted(fixture, 'another horse 4')
      t.match((await fixture.post(`${login}/password`, { ticket, new_password })).json(), { code: 200 })
      t.ok(await opens(fixture, key))
      const signedIn = await fixture.signIn(id, 'another horse 4')
      t.equal((await fixture.get(KEYS, signedIn)).json().data.length, 1)
      t.ok(await opens(fixture, key))
    })

    t.test('a removed account, and a password set by an administrator or in the file, end keys for good', async t => {
      const removed = await addUser(fixture)
      const [first] = [await makeOwnKey(fixture, removed.token, {}, PASSWORD)]
      t.ok(await opens(fixture, first!.key))
      editAccounts(fixture, accounts => accounts.filter(({ id }) => id !== removed.id))
      await until(async () => (await codeOf(fixture, first!.key)) === 401)
      await until(async () => (await fixture.store.credentials.of('BUSINESS', removed.id)).length === 0)
      editAccounts(fixture, accounts => [...accounts, { id: removed.id, username: removed.id, password: HASH }])
      await until(async () => (await fixture.signIn(removed.id, PASSWORD).catch(() => '')) !== '')
      t.equal(await codeOf(fixture, first!.key), 401, 'an account that comes back brings no key back')

      const reset = await addUser(fixture)
      const second = await makeOwnKey(fixture, reset.token, {}, PASSWORD)
      editAccounts(fixture, accounts =>
        accounts.map(account =>
          account.id === reset.id ? { ...account, password: bcrypt.hashSync(PASSWORD, 4) } : account,
        ),
      )
      await until(async () => (await codeOf(fixture, second.key)) === 401)
      await until(async () => (await fixture.store.credentials.of('BUSINESS', reset.id)).length === 0)
    })

    t.test(
      'wrong keys count for their address; beyond the limit only keys that are known to be right pass',
      async t => {
        const { token } = await addUser(fixture)
        const known = await makeOwnKey(fixture, token, {}, PASSWORD)
        const unused = await makeOwnKey(fixture, token, {}, PASSWORD)
        const from = (key: string) => fixture.call({ path: BACKEND, token: key, localAddress: '127.0.0.77' })
        t.match((await from(known.key)).json(), { ok: true })
        const nonsense = `${known.key.slice(0, -1)}${known.key.endsWith('0') ? '1' : '0'}`
        for (let i = 0; i < 40; i++) t.match((await from(nonsense)).json(), REFUSED)
        t.match((await from(makeKey('BUSINESS').key)).json(), REFUSED, 'nonsense was not counted')
        for (let i = 0; i < 29; i++) await from(makeKey('BUSINESS').key)
        const limited = await from(makeKey('BUSINESS').key)
        t.equal(limited.status, 429)
        t.match(limited.json(), { code: 429 })
        t.ok(Number(limited.headers['retry-after']) > 0)
        t.equal((await from(unused.key)).status, 429)
        t.match((await from(known.key)).json(), { ok: true })
        const { text } = await call(fixture.internal, { path: '/metrics' })
        t.match(text, /^dualgate_wrong_keys_total\{side="BUSINESS"\} [1-9]\d*$/m)
        t.ok(await opens(fixture, unused.key), 'from another address')
      },
    )

    t.test('the journal and the log name a key by its id', async t => {
      const { id, token } = await addUser(fixture)
      const made = await makeOwnKey(fixture, token, {}, PASSWORD)
      await opens(fixture, made.key)
      await fixture.post(`${KEYS}/revoke`, { id: made.id }, token)
      let records: { event: string; key: string }[] = []
      await until(async () => {
        const path = `/api/v1/sys/journal/page?login_id=${id}`
        records = (await fixture.get(path, admin)).json().data.records
        return records.some(({ event }) => event === 'key-revoked')
      })
      t.match(
        records.filter(({ event }) => event.startsWith('key-')).map(({ event, key }) => [event, key]),
        [
          ['key-revoked', made.id],
          ['key-added', made.id],
        ],
      )
      await until(() =>
        fixture.log.some(line => line.includes(`"key":"${made.id}"`) && line.includes('"msg":"request"')),
      )
      t.notOk(fixture.log.some(line => line.includes(made.key)))
    })
  },
  {
    config: { session_administration: true, account_administration: true },
    upstreams: [
      { name: 'guarded', match: '/api/v1/b/guarded', target: 'builtin:echo', permission: 'orders:read' },
      { name: 'guarded-write', match: '/api/v1/b/guarded-write', target: 'builtin:echo', permission: 'orders:write' },
      { name: 'optional', match: '/api/v1/public/b/optional', target: backend.url, identity: { optional: true } },
      { name: 'told', match: '/api/v1/b/told', target: backend.url, identity: { extra: true } },
      { name: 'passing', match: '/api/v1/b/passing', target: backend.url, pass_authorization: true },
      { name: 'bare', match: '/api/v1/b/bare', target: backend.url, pass_authorization: 'bare' },
      { name: 'open', match: '/api/v1/public/b/passing', target: backend.url, pass_authorization: true },
    ],
  },
)

t.test('the use of a key is noted once a minute, also where the clock was set back', async t => {
  const fixture = await openFixture(t)
  const token = await fixture.signIn()
  const { key } = await makeOwnKey(fixture, token)
  const lastUse = async (): Promise<string | null> => (await fixture.get(KEYS, token)).json().data[0].last_used_at
  t.ok(await opens(fixture, key))
  t.ok(await until(async () => (await lastUse()) !== null))
  const before = await lastUse()
  fixture.setBack(3_600_000)
  await fixture.elapse(60_000)
  t.ok(await opens(fixture, key))
  t.ok(await until(async () => (await lastUse()) !== before))
})
