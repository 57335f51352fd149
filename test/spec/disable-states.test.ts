import t from 'tap'
import { openFixture, someone, withEveryPair } from '../support/gateway-fixture.ts'
import { isLeftOf } from '../support/time-left.ts'

withEveryPair(t, async (t, fixture) => {
  for (const side of ['business', 'consumer'] as const) {
    const operations = fixture.gateway.sides[side]

    t.test(`${side}: disable prevents logins of a login id for the given seconds`, async t => {
      const user = someone()
      const began = fixture.now()
      await operations.disable(user, 60)
      t.ok(await operations.isDisable(user))
      await t.rejects(operations.login(undefined, user), { message: 'DISABLED' })
      const answer = await fixture.operate(side, 'login', { user_id: user })
      t.match(answer, { code: 403, success: false, message: 'Account disabled' })
      t.ok(isLeftOf(60, answer.data.disable_time, fixture.now() - began))
      t.notOk(await operations.isDisable(someone()))
    })

    t.test(`${side}: untie disable lets it log in again`, async t => {
      const user = someone()
      await operations.disable(user, 60)
      t.ok(await operations.untieDisable(user))
      t.notOk(await operations.isDisable(user))
      t.ok(await operations.login(undefined, user))
      t.notOk(await operations.untieDisable(user), 'twice changes nothing more')
    })

    t.test(`${side}: a disable ends when the seconds have elapsed`, async t => {
      const user = someone()
      await operations.disable(user, 60)
      t.ok(await operations.isDisable(user))
      await fixture.elapse(60_100)
      t.notOk(await operations.isDisable(user))
      t.ok(await operations.login(undefined, user))
    })

    t.test(`${side}: a session that exists goes on while its id is disabled`, async t => {
      const user = someone()
      const token = await operations.login(undefined, user)
      await operations.disable(user, 60)
      t.equal((await fixture.get(side === 'business' ? '/api/v1/b/x' : '/api/v1/c/x', token)).status, 200)
    })
  }
})

withEveryPair(
  t,
  async (t, fixture) => {
    t.test('disable.enforce request: failed logins of strangers lock the login, and refuse no session', async t => {
      const token = await fixture.signIn()
      for (let i = 0; i < 5; i++) {
        await fixture.post('/api/v1/public/b/login', await fixture.credentials(undefined, 'wrong'))
      }
      const login = async () => (await fixture.post('/api/v1/public/b/login', await fixture.credentials())).json()
      const { message, data } = await login()
      t.equal(message, 'Account disabled, try again in 5 min')
      t.ok(data.disable_time > 240 && data.disable_time <= 300)
      const unknown = await fixture.credentials('nobody', 'wrong')
      for (let i = 0; i < 5; i++) await fixture.post('/api/v1/public/b/login', await fixture.credentials('nobody', 'x'))
      t.match((await fixture.post('/api/v1/public/b/login', unknown)).json(), { message }, 'as for an unknown name')
      t.equal((await fixture.get('/api/v1/b/x', token)).status, 200, 'the session goes on')
      const { business } = fixture.gateway.sides
      t.ok(await business.isDisable('1'), 'whoever asks, asks about logins')
      await t.rejects(business.login(undefined, '1'), { message: 'DISABLED' })
      t.equal(await fixture.store.sessions.disabledUntil('BUSINESS', '1'), null, 'it is no disable record')

      await business.disable('1', 7200)
      t.equal((await fixture.get('/api/v1/b/x', token)).status, 403, 'an administrator disables sessions too')
      t.ok(await business.untieDisable('1'), 'ends both')
      t.notOk(await business.isDisable('1'))
      t.equal((await fixture.get('/api/v1/b/x', token)).status, 200)
      t.ok(await business.login(undefined, '1'))
      t.equal((await login()).code, 200)
      t.notOk(await business.untieDisable('1'))
    })

    t.test('disable.enforce request: a disabled id is refused on every request too', async t => {
      const user = someone()
      const token = await fixture.gateway.sides.consumer.login(undefined, user)
      t.equal((await fixture.get('/api/v1/c/x', token)).status, 200)
      await fixture.gateway.sides.consumer.disable(user, 60)
      const refused = await fixture.get('/api/v1/c/x', token)
      t.equal(refused.status, 403)
      t.match(refused.json(), { code: 403, success: false })
      await fixture.gateway.sides.consumer.untieDisable(user)
      t.equal((await fixture.get('/api/v1/c/x', token)).status, 200)
    })
  },
  { config: { disable: { enforce: 'request' } } },
)

t.test('invalid seconds are refused, and disable no id', async t => {
  const fixture = await openFixture(t)
  const user = someone()
  for (const seconds of [0, -1, 1.5, '60', null, 1e12, '__missing__']) {
    const body = seconds === '__missing__' ? { user_id: user } : { user_id: user, seconds }
    t.match(await fixture.operate('business', 'disable', body), { code: 400, success: false, message: /^seconds: / })
  }
  t.notOk(await fixture.gateway.sides.business.isDisable(user))
})
