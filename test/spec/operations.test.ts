import t from 'tap'
import { business } from '../../src/package/library.ts'
import { openFixture, someone, withEveryPair } from '../support/gateway-fixture.ts'
import { isLeftOf, isLeftOfSession } from '../support/time-left.ts'

const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const UNKNOWN = 'aa.bb.cc'
/** Of a session, in seconds. */
const LIFETIME = 2_592_000

withEveryPair(t, async (t, fixture) => {
  for (const side of ['business', 'consumer'] as const) {
    const operations = fixture.gateway.sides[side]
    const operate = (operation: string, body?: unknown) => fixture.operate(side, operation, body)

    t.test(`${side}: the operations of the table, in process`, async t => {
      const user = someone()
      const token = await operations.login(asRequest('x'), user, { nickname: 'N' })
      t.ok(await operations.isLogin(asRequest(token)))
      t.notOk(await operations.isLogin(asRequest(UNKNOWN)))
      t.notOk(await operations.isLogin({ headers: {} }))
      t.equal(await operations.getLoginId(asRequest(token)), user)
      t.equal(await operations.getLoginId({ headers: {} }), '', 'empty means not logged in')
      t.equal(await operations.getLoginIdByToken(token), user)
      t.equal(await operations.getLoginIdByToken(UNKNOWN), '')
      t.equal(operations.getTokenValue(asRequest(token)), token)
      t.equal(operations.getTokenValue({ headers: {} }), null)
    })

    t.test(`${side}: the operations of the table, over the internal listener`, async t => {
      const user = someone()
      const { data } = await operate('login', { user_id: user, extra: { nickname: 'N' } })
      const { token } = data
      t.same((await operate('is-login', { token })).data, { is_login: true })
      t.same((await operate('is-login', { token: UNKNOWN })).data, { is_login: false })
      t.same((await operate('get-login-id', { token })).data, { user_id: user })
      t.same((await operate('get-login-id', { token: UNKNOWN })).data, { user_id: '' })
      t.same((await operate('get-login-id-by-token', { token })).data, { user_id: user })
      t.same((await operate('get-token-value', { token: `Bearer ${token}` })).data, { token })
      t.equal((await operate('renew-timeout', { token, seconds: 60 })).data, null)
      t.equal((await operate('renew-timeout', { token })).success, true)
      t.equal((await operate('disable', { user_id: user, seconds: 60 })).data, null)
      t.same((await operate('is-disable', { user_id: user })).data, { is_disable: true })
      t.equal((await operate('untie-disable', { user_id: user })).data, null)
      t.same((await operate('is-disable', { user_id: user })).data, { is_disable: false })
      t.match(await operate('kickout-token', { user_id: user, token }), { code: 200, success: true, data: null })
      t.same((await operate('is-login', { token })).data, { is_login: false })
      const again = (await operate('login', { user_id: user })).data.token
      t.match(await operate('logout', { token: again }), { code: 200, success: true, data: null })
      const last = (await operate('login', { user_id: user })).data.token
      t.match(await operate('kickout', { user_id: user }), { code: 200, success: true, data: null })
      t.same((await operate('is-login', { token: last })).data, { is_login: false })
    })

    t.test(`${side}: the ten further operations are there in profile 2 only`, async t => {
      if (fixture.profile === 1) {
        t.equal(operations.getTokenInfo, undefined)
        t.equal((await operate('get-token-info', { token: UNKNOWN })).code, 404)
        return
      }
      const user = someone()
      const began = fixture.now()
      const token = await operations.login(undefined, user, { nickname: 'N', toString: 1 })
      const request = asRequest(token)
      t.equal(await operations.getLoginIdDefaultNull!(request), user)
      t.equal(await operations.getLoginIdDefaultNull!({ headers: {} }), null)
      const record = await operations.getTokenInfo!(request)
      t.match(record, { user_id: user, extra: { nickname: 'N' } })
      t.same(await operations.getSession!(request), record)
      t.equal(await operations.getExtra!(request, 'nickname'), 'N')
      t.equal(await operations.getExtra!(request, 'constructor'), null, 'own properties only')
      t.ok(isLeftOf(LIFETIME, await operations.getTokenTimeout!(request), fixture.now() - began))
      t.equal(await operations.getTokenTimeout!({ headers: {} }), -1)
      t.ok(isLeftOfSession(LIFETIME, await operations.getSessionTimeout!(request), fixture.now() - began))
      t.equal(await operations.getSessionTimeout!({ headers: {} }), -1)
      t.equal(await operations.getTokenValueByLoginId!(user), token)
      t.equal(await operations.getTokenValueByLoginId!(someone()), null)
      const second = await operations.login(undefined, user)
      t.same(new Set(await operations.getTokenValuesByLoginId!(user)), new Set([token, second]))
      t.same(await operations.getTokenValuesByLoginId!(someone()), [])
      t.equal(await operations.getDisableTime!(user), -1)
      await operations.checkDisable!(user)
      const disabledAt = fixture.now()
      await operations.disable(user, 60)
      t.ok(isLeftOf(60, await operations.getDisableTime!(user), fixture.now() - disabledAt))
      await t.rejects(operations.checkDisable!(user), { message: 'DISABLED' })
    })

    t.test(`${side}: the ten further operations over the internal listener in profile 2`, async t => {
      if (fixture.profile === 1) return
      const user = someone()
      const began = fixture.now()
      const { token } = (await operate('login', { user_id: user, extra: { nickname: 'N' } })).data
      t.same((await operate('get-login-id-default-null', { token: UNKNOWN })).data, { user_id: null })
      t.match((await operate('get-token-info', { token })).data, {
        user_id: user,
        type: operations.getLoginType(),
        extra: { nickname: 'N' },
      })
      t.same((await operate('get-session', { token })).data, (await operate('get-token-info', { token })).data)
      t.equal((await operate('get-token-info', { token: UNKNOWN })).data, null)
      t.same((await operate('get-extra', { token, name: 'nickname' })).data, { value: 'N' })
      t.same((await operate('get-extra', { token, name: 'toString' })).data, { value: null })
      for (const [operation, isLeft] of [
        ['get-token-timeout', isLeftOf],
        ['get-session-timeout', isLeftOfSession],
      ] as const)
        t.ok(isLeft(LIFETIME, (await operate(operation, { token })).data.timeout, fixture.now() - began), operation)
      t.same((await operate('get-token-timeout', { token: UNKNOWN })).data, { timeout: -1 })
      t.same((await operate('get-session-timeout', { token: UNKNOWN })).data, { timeout: -1 })
      t.same((await operate('get-token-value-by-login-id', { user_id: user })).data, { token })
      t.same((await operate('get-token-values-by-login-id', { user_id: user })).data, { tokens: [token] })
      t.same((await operate('get-disable-time', { user_id: user })).data, { disable_time: -1 })
      t.equal((await operate('check-disable', { user_id: user })).data, null)
      await operate('disable', { user_id: user, seconds: 60 })
      t.match(await operate('check-disable', { user_id: user }), { code: 403, success: false })
      t.match(await operate('logout', { user_id: user }), { code: 200 })
      t.same((await operate('is-login', { token })).data, { is_login: false })
    })
  }

  t.test('the B side offers its operations as functions, the C side as an instance', async t => {
    const user = someone()
    const token = await business.login(undefined, user)
    t.equal(await fixture.gateway.sides.business.getLoginId(asRequest(token)), user)
    t.equal(await fixture.gateway.sides.consumer.getLoginId(asRequest(token)), '')
    await business.kickout(user)
    t.notOk(await business.isLogin(asRequest(token)))
  })
})

t.test('invalid inputs are refused with their name and change nothing', async t => {
  const fixture = await openFixture(t, { profile: 2 })
  const rows: [operation: string, body: unknown, field: string][] = [
    ['login', {}, 'user_id'],
    ['login', '{"user_id":12345678901234567890}', 'user_id'],
    ['login', { user_id: null }, 'user_id'],
    ['login', { user_id: '' }, 'user_id'],
    ['login', { user_id: 'a b' }, 'user_id'],
    ['login', { user_id: 'é' }, 'user_id'],
    ['login', { user_id: 'a'.repeat(129) }, 'user_id'],
    ['login', { user_id: 'x', extra: [] }, 'extra'],
    ['login', { user_id: 'x', extra: 'y' }, 'extra'],
    ['login', { user_id: 'x', extra: { a: 'b'.repeat(8200) } }, 'extra'],
    ['login', { user_id: 'x', extra: JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`) }, 'extra'],
    ['kickout', { user_id: ['x'] }, 'user_id'],
    ['kickout-token', { user_id: 'x' }, 'token'],
    ['is-login', {}, 'token'],
    ['is-login', { token: 12 }, 'token'],
    ['renew-timeout', { token: UNKNOWN, seconds: '60' }, 'seconds'],
    ['renew-timeout', { token: UNKNOWN, seconds: 0 }, 'seconds'],
    ['renew-timeout', { token: UNKNOWN, seconds: 1.5 }, 'seconds'],
    ['get-extra', { token: UNKNOWN }, 'name'],
    ['login', '{"user_id":', 'body'],
    ['login', '[]', 'body'],
    ['login', '"x"', 'body'],
  ]
  for (const [operation, body, field] of rows) {
    t.match(await fixture.operate('business', operation, body), {
      code: 400,
      success: false,
      data: null,
      message: new RegExp(`^${field}: `),
    })
  }
})

t.test('an extra named __proto__ is data, never a prototype', async t => {
  const fixture = await openFixture(t, { profile: 2 })
  const { data } = await fixture.operate(
    'consumer',
    'login',
    '{"user_id":"x","extra":{"__proto__":{"admin":true},"a":1}}',
  )
  t.same((await fixture.operate('consumer', 'get-extra', { token: data.token, name: '__proto__' })).data, {
    value: { admin: true },
  })
  t.same((await fixture.operate('consumer', 'get-extra', { token: data.token, name: 'admin' })).data, { value: null })
})
