import t from 'tap'
import { business } from '../../src/index.ts'
import { inEveryWorld, someone } from '../support/gateway.ts'

inEveryWorld(t, async (t, world) => {
  t.test('login types: BUSINESS is the B side, CONSUMER the C side, as get login type says', async t => {
    t.equal(business.getLoginType(), 'BUSINESS')
    t.equal(world.gateway.sides.business.getLoginType(), 'BUSINESS')
    t.equal(world.gateway.sides.consumer.getLoginType(), 'CONSUMER')
    t.same((await world.operate('business', 'get-login-type')).data, { login_type: 'BUSINESS' })
    t.same((await world.operate('consumer', 'get-login-type')).data, { login_type: 'CONSUMER' })
  })

  t.test('the two sides are isolated: a token of one is none of the other', async t => {
    const user = someone()
    const b = await world.gateway.sides.business.login(undefined, user)
    const c = await world.gateway.sides.consumer.login(undefined, user)
    t.equal((await world.get('/api/v1/sys/x', b)).status, 200)
    t.equal((await world.get('/api/v1/c/x', c)).status, 200)
    t.equal((await world.get('/api/v1/c/x', b)).json().code, 401)
    t.equal((await world.get('/api/v1/sys/x', c)).json().code, 401)
  })

  t.test('the same user id on both sides is two users: a kickout on one leaves the other', async t => {
    const user = someone()
    const b = await world.gateway.sides.business.login(undefined, user)
    const c = await world.gateway.sides.consumer.login(undefined, user)
    await world.gateway.sides.consumer.kickout(user)
    t.equal((await world.get('/api/v1/c/x', c)).json().code, 401)
    t.equal((await world.get('/api/v1/b/x', b)).status, 200)
    await world.gateway.sides.business.disable(user, 60)
    t.notOk(await world.gateway.sides.consumer.isDisable(user))
    await world.gateway.sides.business.untieDisable(user)
  })
})
