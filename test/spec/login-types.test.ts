import t from 'tap'
import { business } from '../../src/package/library.ts'
import { someone, withEveryPair } from '../support/gateway-fixture.ts'

withEveryPair(t, async (t, fixture) => {
  t.test('login types: BUSINESS is the B side, CONSUMER the C side, as get login type returns', async t => {
    t.equal(business.getLoginType(), 'BUSINESS')
    t.equal(fixture.gateway.sides.business.getLoginType(), 'BUSINESS')
    t.equal(fixture.gateway.sides.consumer.getLoginType(), 'CONSUMER')
    t.same((await fixture.operate('business', 'get-login-type')).data, { login_type: 'BUSINESS' })
    t.same((await fixture.operate('consumer', 'get-login-type')).data, { login_type: 'CONSUMER' })
  })

  t.test('the two sides are isolated: a token of one is invalid on the other', async t => {
    const user = someone()
    const b = await fixture.gateway.sides.business.login(undefined, user)
    const c = await fixture.gateway.sides.consumer.login(undefined, user)
    t.equal((await fixture.get('/api/v1/sys/x', b)).status, 200)
    t.equal((await fixture.get('/api/v1/c/x', c)).status, 200)
    t.equal((await fixture.get('/api/v1/c/x', b)).json().code, 401)
    t.equal((await fixture.get('/api/v1/sys/x', c)).json().code, 401)
  })

  t.test('the same user id on both sides is two users: a kickout on one leaves the other', async t => {
    const user = someone()
    const b = await fixture.gateway.sides.business.login(undefined, user)
    const c = await fixture.gateway.sides.consumer.login(undefined, user)
    await fixture.gateway.sides.consumer.kickout(user)
    t.equal((await fixture.get('/api/v1/c/x', c)).json().code, 401)
    t.equal((await fixture.get('/api/v1/b/x', b)).status, 200)
    await fixture.gateway.sides.business.disable(user, 60)
    t.notOk(await fixture.gateway.sides.consumer.isDisable(user))
    await fixture.gateway.sides.business.untieDisable(user)
  })
})
