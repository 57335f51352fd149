import t from 'tap'
import { makeKey } from '../../src/token/key-form.ts'
import { call } from '../support/client.ts'
import { openFixture, withEveryStore } from '../support/gateway-fixture.ts'
import { addUser, editAccounts, makeOwnKey, PASSWORD } from '../support/keys.ts'
import { hashAtLowestCost } from '../support/login-work.ts'
import { until } from '../support/until.ts'

/* The operation `verify-key`, by which a service that programs call directly learns whose a key is. */

hashAtLowestCost()

const PATH = '/operations/v1/business/verify-key'

withEveryStore(t, async (t, fixture) => {
  const verify = async (key: unknown) => fixture.operate('business', 'verify-key', { key })
  const user = await addUser(fixture, { roles: ['operator'], permissions: ['orders:*'] })
  const made = (fields: Record<string, unknown> = {}) => makeOwnKey(fixture, user.token, fields, PASSWORD)

  t.test('the operation answers whose a key is, and the rights that key and owner share', async t => {
    const all = await made()
    const { success, data } = await verify(all.key)
    t.ok(success)
    t.same(data, {
      id: all.id,
      user_id: user.id,
      created_at: data.created_at,
      roles: ['operator'],
      permissions: ['orders:*'],
    })
    t.match(data.created_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    const one = await made({ permissions: ['orders:read', 'sys:session:page'] })
    t.match((await verify(one.key)).data, { id: one.id, roles: [], permissions: ['orders:read'] })
    const none = await made({ permissions: [] })
    t.match((await verify(none.key)).data, { roles: [], permissions: [] })
    const elsewhere = await made({ paths: ['/api/v1/b/orders'], addresses: ['192.0.2.1'] })
    t.match(
      (await verify(elsewhere.key)).data,
      { id: elsewhere.id },
      'limits of requests to the gateway do not count here',
    )
  })

  t.test('a text that is no key of this side, and a token, are answered with null', async t => {
    const { key, id } = await made()
    const { access_token } = (
      await fixture.call({
        method: 'POST',
        path: '/api/v1/public/b/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `grant_type=client_credentials&client_id=${id}&client_secret=${key}`,
      })
    ).json()
    for (const wrong of [
      makeKey('BUSINESS').key,
      makeKey('CONSUMER').key,
      key.slice(0, -1),
      `${key} `,
      `Bearer ${key}`,
      '',
      id,
      user.token,
      access_token,
    ]) {
      const answer = await verify(wrong)
      t.match(answer, { code: 200, data: null }, wrong.slice(0, 8))
      t.equal(answer.data, null)
    }
    for (const invalid of [undefined, null, 7, 'x'.repeat(257), [key]]) t.equal((await verify(invalid)).code, 400)
  })

  t.test('it is null while the owner is disabled or not active, and after the end of the key', async t => {
    const { key, id } = await made()
    const isNull = async () => (await verify(key)).data === null
    t.notOk(await isNull())
    const { business } = fixture.gateway.sides
    await business.disable(user.id, 60)
    t.match(await verify(key), { code: 200, data: null })
    await business.untieDisable(user.id)
    t.notOk(await isNull())
    const status = (value: string): void =>
      editAccounts(fixture, accounts => accounts.map(one => (one.id === user.id ? { ...one, status: value } : one)))
    status('INACTIVE')
    await until(isNull)
    status('ACTIVE')
    await until(async () => !(await isNull()))
    user.token = await fixture.signIn(user.id, PASSWORD)
    await fixture.post('/api/v1/b/account/keys/revoke', { id }, user.token)
    t.ok(await isNull())
  })

  t.test('a question is no use of the key, and wrong ones lock out no client', async t => {
    const { key, id } = await made()
    for (let i = 0; i < 40; i++) t.equal((await verify(makeKey('BUSINESS').key)).data, null)
    t.match((await verify(key)).data, { id })
    const listed = (await fixture.get('/api/v1/b/account/keys', user.token)).json().data
    t.equal(listed.find((one: { id: string }) => one.id === id).last_used_at, null)
  })

  t.test('it needs the internal secret', async t => {
    const { key } = await made()
    for (const token of [undefined, 'wrong', key]) {
      const answer = await call(fixture.internal, {
        method: 'POST',
        path: PATH,
        body: { key },
        ...(token !== undefined && { token }),
      })
      t.equal(answer.json().code, 401)
    }
    t.match((await fixture.post(PATH, { key })).json(), { code: 404 }, 'and is not on the public listener')
  })
})

t.test('the operation is there for the sides that have keys', async t => {
  const consumers = { login: { consumer: { kind: 'file', path: 'consumers.yaml' } } }
  for (const [config, business, consumer] of [
    [{}, 400, 404],
    [{ ...consumers, keys: { business: 'off', consumer: {} } }, 404, 400],
    [{ ...consumers, keys: { consumer: {} } }, 400, 400],
  ] as const) {
    const fixture = await openFixture(t, { config })
    t.equal((await fixture.operate('business', 'verify-key')).code, business)
    t.equal((await fixture.operate('consumer', 'verify-key')).code, consumer)
  }
})
