import t from 'tap'
import { arrivalOf, openProviderGateway, SAME } from '../support/provider-gateway.ts'
import { withoutRedis } from '../support/redis-server.ts'

/* Signing in by an OpenID provider, with a real one. */

for (const store of ['embedded', 'redis'] as const) {
  t.test(`${store} store`, { skip: store === 'redis' && withoutRedis }, async t => {
    const gateway = await openProviderGateway(t, { store })

    t.test('a user signs in, and comes back to the page', async t => {
      const browser = gateway.browser()
      const started = await browser.start('/wiki/page?x=1#part')
      t.equal(started.status, 303)
      const query = new URL(String(started.headers.location)).searchParams
      t.match(query.get('state'), /^[A-Za-z0-9]{43}$/)
      t.equal(query.get('code_challenge_method'), 'S256')
      t.equal(query.get('response_mode'), 'query')
      const arrived = await browser.send(await browser.atProvider(started))
      t.equal(arrived.status, 303)
      t.same(arrivalOf(arrived), { to: '/wiki/page?x=1#part', arrived: '1' })
      t.equal(await browser.told(), 'staff:ada')
      t.match(gateway.log.join('\n'), /"provider":"staff"/)
    })

    t.test('a callback is used once, and the second finds its way', async t => {
      const browser = gateway.browser()
      const callback = await browser.atProvider(await browser.start())
      const answers = await Promise.all([browser.send(callback), browser.send(callback)])
      const arrivals = answers.map(arrivalOf)
      t.same(arrivals.map(({ arrived, failed }) => arrived ?? failed).sort(), ['1', 'used-state'])
      t.same(
        arrivals.map(({ to }) => to),
        ['/wiki/page?x=1', '/wiki/page?x=1'],
      )
    })

    t.test('a callback in another browser makes no session, and leaves the first its own', async t => {
      const browser = gateway.browser()
      const callback = await browser.atProvider(await browser.start())
      t.same(arrivalOf(await gateway.browser().send(callback)), { failed: 'other-browser' })
      t.match(arrivalOf(await browser.send(callback)), { arrived: '1' })
    })

    t.test('a logout at the provider ends every session of the user by it', async t => {
      const [first, second, other] = [gateway.browser(), gateway.browser(), gateway.browser()]
      await first.signIn('ada')
      await second.signIn('ada')
      await other.signIn('bob')
      t.same([await first.told(), await second.told()], ['staff:ada', 'staff:ada'])
      await gateway.openid.logout('ada')
      t.same(
        gateway.openid.backChannelCalls.map(({ status }) => status),
        [200],
      )
      t.same([await first.told(), await second.told(), await other.told()], ['401', '401', 'staff:bob'])
    })

    t.test('a sign-out goes on to the provider, and comes back', async t => {
      const browser = gateway.browser()
      await browser.signIn('bob')
      const answer = await browser.send('/sign-out/b', { method: 'POST', headers: SAME })
      t.equal(answer.status, 303)
      t.equal(await browser.told(), '401')
      const back = await gateway.openid.signOut(String(answer.headers.location), 'bob')
      t.equal(back.pathname + back.search, '/sign-in/b/?signed-out=1')
    })

    // Last: the clock goes ahead of the provider's. In Redis ends come nearer instead, and a span could end meanwhile.
    const skip = store === 'redis' && 'the clock does not move'
    t.test('sign-ins that have come back leave room for others, once each', { skip }, async t => {
      const span = 600_000
      // A sign-in leaves room in the span in which it began.
      await gateway.elapse(span - (gateway.now() % span))
      const now = gateway.now()
      await gateway.store.attempts.set(`flows-begun:BUSINESS:${Math.floor(now / span)}`, 99_999, now + span)
      const start = () => gateway.browser().start()
      const browser = gateway.browser()
      const started = await browser.start()
      t.equal(started.status, 303)
      t.equal((await start()).status, 503, 'the store keeps no more')
      const callback = await browser.atProvider(started)
      await Promise.all([browser.send(callback), browser.send(callback)])
      t.equal((await start()).status, 303)
      t.equal((await start()).status, 503)
    })
  })
}
