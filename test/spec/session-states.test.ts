import t from 'tap'
import { type Fixture, openFixture, someone, withEveryPair } from '../support/gateway-fixture.ts'
import { isLeftOf, isLeftOfSession, secondsUntil } from '../support/time-left.ts'

const PATHS = { business: '/api/v1/b/x', consumer: '/api/v1/c/x' } as const
const TYPES = { business: 'BUSINESS', consumer: 'CONSUMER' } as const
const asRequest = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

async function isServed(fixture: Fixture, side: 'business' | 'consumer', token: string): Promise<boolean> {
  const answer = await fixture.get(PATHS[side], token)
  if (answer.status !== 200) throw new Error(`unexpected status ${answer.status}: ${answer.text}`)
  return answer.json().code !== 401
}

withEveryPair(t, async (t, fixture) => {
  for (const side of ['business', 'consumer'] as const) {
    const operations = fixture.gateway.sides[side]

    t.test(`${side}: login makes a token active: record stored, token in the user's set, JWT returned`, async t => {
      const user = someone()
      const token = await operations.login(undefined, user, { nickname: 'N', role: 'r' })
      t.ok(await isServed(fixture, side, token))
      const record = await fixture.store.sessions.find(TYPES[side], token)
      t.match(record, { user_id: user, type: TYPES[side], extra: { nickname: 'N', role: 'r' } })
      t.match(record!.created_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
      t.same(
        (await fixture.store.sessions.tokens(TYPES[side], user)).map(entry => entry.token),
        [token],
      )
    })

    t.test(`${side}: logout ends the request's token only: out of the set, record deleted`, async t => {
      const user = someone()
      const token = await operations.login(undefined, user)
      const other = await operations.login(undefined, user)
      t.ok(await operations.logout(asRequest(token)))
      t.notOk(await isServed(fixture, side, token))
      t.ok(await isServed(fixture, side, other))
      t.same(
        (await fixture.store.sessions.tokens(TYPES[side], user)).map(entry => entry.token),
        [other],
      )
      t.notOk(await operations.logout(asRequest(token)), 'a second time there is nothing to end')
    })

    t.test(`${side}: the logout route ends the session of its client`, async t => {
      const token = await operations.login(undefined, someone())
      const path = `/api/v1/${side === 'business' ? 'b' : 'c'}/logout`
      t.match((await fixture.post(path, undefined, token)).json(), {
        code: 200,
        success: true,
        data: { message: 'Logged out' },
      })
      t.notOk(await isServed(fixture, side, token))
      t.equal((await fixture.post(path, undefined, token)).json().code, 401)
    })

    t.test(`${side}: kickout of a user ends every token of that user and of no other`, async t => {
      const user = someone()
      const tokens = [await operations.login(undefined, user), await operations.login(undefined, user)]
      const bystander = await operations.login(undefined, someone())
      await operations.kickout(user)
      for (const token of tokens) t.notOk(await isServed(fixture, side, token))
      t.ok(await isServed(fixture, side, bystander))
      t.same(await fixture.store.sessions.tokens(TYPES[side], user), [])
      t.ok(await isServed(fixture, side, await operations.login(undefined, user)), 'a later login lives')
    })

    t.test(`${side}: kickout of one token ends that token only`, async t => {
      const user = someone()
      const token = await operations.login(undefined, user)
      const other = await operations.login(undefined, user)
      t.ok(await operations.kickoutToken(user, token))
      t.notOk(await isServed(fixture, side, token))
      t.ok(await isServed(fixture, side, other))
    })

    t.test(`${side}: kickout of a token of another user changes nothing and fails`, async t => {
      const token = await operations.login(undefined, someone())
      t.notOk(await operations.kickoutToken(someone(), token))
      t.ok(await isServed(fixture, side, token))
      t.match(await fixture.operate(side, 'kickout-token', { user_id: someone(), token }), {
        code: 400,
        success: false,
      })
    })

    t.test(
      `${side}: renew timeout resets the lifetime of token and session, to the configured one without seconds`,
      async t => {
        const user = someone()
        const token = await operations.login(undefined, user)
        const { sessions } = fixture.store
        const end = async () => (await sessions.tokenExpiresAt(TYPES[side], token))!
        const sessionEnd = async () => (await sessions.sessionExpiresAt(TYPES[side], user))!
        const began = fixture.now()
        const left = (end: number) => [secondsUntil(end, fixture.now()), fixture.now() - began] as const
        t.ok(await operations.renewTimeout(asRequest(token), 50))
        t.ok(isLeftOf(50, ...left(await end())))
        t.ok(isLeftOfSession(50, ...left(await sessionEnd())))
        t.ok(await operations.renewTimeout(asRequest(token)))
        t.ok(isLeftOf(2_592_000, ...left(await end())))
        // Redis names the time that is left: the ends are as exact as its answers are quick.
        const asked = fixture.now()
        const [last, own] = [await sessionEnd(), await end()]
        t.ok(last >= own - (fixture.now() - asked), `${last} and ${own}`)
        t.ok(await isServed(fixture, side, token))
      },
    )

    t.test(`${side}: renew timeout of a dead token creates nothing`, async t => {
      const user = someone()
      const token = await operations.login(undefined, user)
      await operations.kickout(user)
      t.notOk(await operations.renewTimeout(asRequest(token), 50))
      t.notOk(await isServed(fixture, side, token))
      t.match(await fixture.operate(side, 'renew-timeout', { token, seconds: 50 }), { code: 401, success: false })
    })

    t.test(`${side}: a session whose lifetime elapsed is invalid`, async t => {
      const token = await operations.login(undefined, someone())
      await operations.renewTimeout(asRequest(token), 60)
      t.ok(await isServed(fixture, side, token))
      await fixture.elapse(60_100)
      t.notOk(await isServed(fixture, side, token))
    })
  }

  t.test('logout with a login id is a kickout in profile 2, and absent in profile 1', async t => {
    const user = someone()
    const mine = await fixture.gateway.sides.consumer.login(undefined, someone())
    const tokens = [
      await fixture.gateway.sides.consumer.login(undefined, user),
      await fixture.gateway.sides.consumer.login(undefined, user),
    ]
    await fixture.gateway.sides.consumer.logout(asRequest(mine), user)
    for (const token of tokens) t.equal(await isServed(fixture, 'consumer', token), fixture.profile === 1)
    t.equal(await isServed(fixture, 'consumer', mine), fixture.profile === 2)
  })

  t.test('deleting the record by any means invalidates the token at once', async t => {
    const user = someone()
    const token = await fixture.gateway.sides.business.login(undefined, user)
    t.ok(await isServed(fixture, 'business', token))
    if (fixture.redis === null) await fixture.store.sessions.remove('BUSINESS', user, token)
    else await fixture.redis.cli('DEL', `svc:auth:BUSINESS:token:${token}`)
    t.notOk(await isServed(fixture, 'business', token))
  })
})

t.test('sessions last expire_seconds', async t => {
  const fixture = await openFixture(t, { environment: { JWT__EXPIRE_SECONDS: '60' } })
  const token = await fixture.gateway.sides.business.login(undefined, someone())
  t.ok(await isServed(fixture, 'business', token))
  await fixture.elapse(60_100)
  t.notOk(await isServed(fixture, 'business', token))
})
