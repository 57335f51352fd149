import t, { type Test } from 'tap'
import { Unavailable } from '../../src/base/refusal.ts'
import { EmbeddedTickets } from '../../src/store/embedded/tickets.ts'
import { codeAt } from '../second-factor/factor-fixture.ts'
import type { Answer } from '../support/client.ts'
import { ADMIN } from '../support/gateway-fixture.ts'
import {
  arrivalOf,
  openProviderGateway,
  type ProviderGateway,
  type ProviderGatewayOptions,
  SAME,
} from '../support/provider-gateway.ts'
import { withoutRedis } from '../support/redis-server.ts'

/* What holds for a sign-in by a provider, whatever its user, another page or the provider does. */

function onEveryStore(
  name: string,
  options: ProviderGatewayOptions,
  suite: (t: Test, gateway: ProviderGateway) => Promise<void>,
): void {
  for (const store of ['embedded', 'redis'] as const)
    t.test(`${name}, ${store} store`, { skip: store === 'redis' && withoutRedis }, async t =>
      suite(t, await openProviderGateway(t, { ...options, store })),
    )
}

/** By which a callback continues a sign-in. */
const stateOf = (started: Answer): string => new URL(String(started.headers.location)).searchParams.get('state')!

/** Where the link of a page leads. */
const linkOf = ({ text }: Answer): string | undefined => /<a href="([^"]*)">/.exec(text)?.[1]

const MALLORY = { id: 'staff:bob', username: 'mallory' }

onEveryStore('an account of claims', { accounts: [MALLORY] }, async (t, gateway) => {
  const failureOf = async (...signIn: Parameters<ReturnType<ProviderGateway['browser']>['signIn']>) =>
    arrivalOf(await gateway.browser().signIn(...signIn)).failed

  t.test('a page of another origin begins no sign-in', async t => {
    const send = (headers: Record<string, string>) =>
      gateway.call({ method: 'POST', path: '/sign-in/b/staff/start', headers, body: 'to=%2F' })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    t.equal((await send({ ...form, 'sec-fetch-site': 'cross-site' })).status, 403)
    t.equal((await send({ ...form, origin: 'https://evil.example' })).status, 403)
    t.equal((await send({ ...form, ...SAME })).status, 303)
  })

  t.test('each failure has a reason of its own, and leads back to the sign-in', async t => {
    const browser = gateway.browser()
    const state = stateOf(await browser.start('/wiki/a'))
    const iss = encodeURIComponent(gateway.openid.issuer)
    const declined = await browser.send(
      `/sign-in/b/staff/callback?error=access_denied&error_description=%3Cb%3Etold&state=${state}&iss=${iss}`,
    )
    t.same(arrivalOf(declined), { to: '/wiki/a', failed: 'denied' })
    t.same(arrivalOf(await browser.send('/sign-in/b/staff/callback?code=x&state=unknown')), { failed: 'unknown-state' })
    t.same(arrivalOf(await browser.send('/sign-in/b/staff/callback')), { failed: 'unknown-state' })
    const again = await browser.send(
      await browser.atProvider(await browser.start()).then(callback => callback.replace(/code=[^&]+/, 'code=forged')),
    )
    t.match(arrivalOf(again), { failed: 'code-refused' })
    t.match(gateway.log.join('\n'), /"because":"denied"/)
    t.notMatch(declined.text, 'told', 'the texts of the provider stay in the log')
  })

  t.test('of a wanted address that is too long, the fragment is left out', async t => {
    const arrival = async (to: string) => arrivalOf(await gateway.browser().signIn('bob', to))
    t.same(await arrival(`/wiki/page#${'a'.repeat(5000)}`), { to: `/wiki/page#${'a'.repeat(5000)}`, arrived: '1' })
    t.same(await arrival(`/wiki/page#${'a'.repeat(7000)}`), { to: '/wiki/page', arrived: '1' })
    t.same(await arrival(`/wiki/page#${'('.repeat(2500)}`), { to: '/wiki/page', arrived: '1' })
    t.same(await arrival(`/wiki/page?${'a'.repeat(7000)}`), { arrived: '1' })
  })

  t.test('the cookie of the sign-in reaches no upstream', async t => {
    const browser = gateway.browser()
    await browser.signIn()
    browser.cookies.set('other', '1')
    t.ok(browser.cookies.has('dualgate-flow'))
    t.equal((await browser.send('/wiki/page')).json().headers.cookie, 'other=1')
  })

  t.test('neither code nor state nor a token is logged', async t => {
    const browser = gateway.browser()
    const callback = await browser.atProvider(await browser.start())
    await browser.send(callback)
    await browser.send(callback)
    const { searchParams } = new URL(callback, 'http://gateway')
    const log = gateway.log.join('\n')
    for (const name of ['code', 'state']) t.notMatch(log, searchParams.get(name)!)
    t.notMatch(log, browser.cookies.get('dualgate-flow')!)
  })

  t.test('the journal says by which provider a user has signed in', async t => {
    await gateway.browser().signIn('ada')
    const token = await gateway.signIn()
    const page = await gateway.get('/api/v1/sys/journal/page?login_id=staff:ada&size=5', token)
    t.match(page.json().data.records[0], { event: 'login', username: 'ada', provider: 'staff' })
  })

  t.test('a SUPER_ADMIN administers the accounts beside the provider', async t => {
    const browser = gateway.browser()
    await browser.signIn('ada')
    const { data } = (await browser.send('/api/v1/sys/account/page')).json()
    t.same(data.records[0], { ...data.records[0], username: ADMIN.username, editable: true })
    const edited = await browser.send('/api/v1/sys/account/edit', {
      method: 'POST',
      headers: { ...SAME, 'content-type': 'application/json' },
      body: JSON.stringify({ id: '1', nickname: 'Chief' }),
    })
    t.match(edited.json(), { code: 200 })
  })

  t.test('no account of the side signs in under the login id of a user of the provider', async t => {
    const answer = await gateway.post('/api/v1/public/b/login', await gateway.credentials(MALLORY.username))
    t.match(answer.json(), { code: 503, data: null })
    t.ok(gateway.log.some(line => line.includes('the login id staff:bob would be a user of the provider staff')))
  })

  t.test('a disabled user is not signed in', async t => {
    await gateway.gateway.sides.business.disable('staff:bob', 600)
    t.equal(await failureOf('bob'), 'disabled')
    await gateway.gateway.sides.business.untieDisable('staff:bob')
  })

  t.test('a sign-in has ten minutes', async t => {
    const browser = gateway.browser()
    const callback = await browser.atProvider(await browser.start())
    await gateway.elapse(600_000)
    t.match(arrivalOf(await browser.send(callback)), { failed: 'unknown-state' })
  })

  t.test('a provider that is down answers 503, and nothing else does', async t => {
    const [browser, signedIn] = [gateway.browser(), gateway.browser()]
    await signedIn.signIn()
    await gateway.openid.stop()
    const answers = []
    for (const one of [browser, signedIn]) {
      const started = await one.start('/wiki/page?x=1&y="<#part')
      t.equal(started.status, 303, 'its configuration is known')
      const iss = encodeURIComponent(gateway.openid.issuer)
      answers.push(await one.send(`/sign-in/b/staff/callback?code=x&iss=${iss}&state=${stateOf(started)}`))
    }
    const [answer, led] = answers
    t.equal(answer!.status, 503)
    t.match(answer!.headers['content-type'], 'text/html')
    t.equal(linkOf(answer!), '/sign-in/b/?to=%2Fwiki%2Fpage%3Fx%3D1%26y%3D%22%3C%23part')
    t.equal(led!.status, 303)
    t.match(arrivalOf(led!), { to: '/wiki/page?x=1&y="<#part' }, 'a live session leads on')
    t.equal(await signedIn.told(), 'staff:ada')
    t.ok(await gateway.signIn(), 'a password still signs in')
  })
})

t.test('a provider whose configuration is not known while it is down keeps where its users want to go', async t => {
  const gateway = await openProviderGateway(t)
  await gateway.openid.stop()
  const answer = await gateway.browser().start('/wiki/page#part')
  t.equal(answer.status, 503)
  t.equal(linkOf(answer), '/sign-in/b/?to=%2Fwiki%2Fpage%23part')
})

onEveryStore(
  'a callback beyond the limit of attempts',
  { config: { login: { rate_limit: { captcha: 9, login: 2, window: '60s' } } } },
  async (t, gateway) => {
    const [browser, signedIn] = [gateway.browser(), gateway.browser()]
    const callback = await browser.atProvider(await browser.start())
    const another = await signedIn.atProvider(await signedIn.start('/wiki/other'))
    signedIn.cookies.set('dualgate-b', await gateway.gateway.sides.business.login(undefined, '1'))
    for (const _ of [1, 2]) await browser.send('/sign-in/b/staff/callback')

    t.test('is 429, and keeps where its user wants to go', async t => {
      const answer = await browser.send(callback)
      t.match(answer, { status: 429, headers: { 'retry-after': /^\d+$/ } })
      t.equal(linkOf(answer), '/sign-in/b/?to=%2Fwiki%2Fpage%3Fx%3D1')
      t.equal(linkOf(await gateway.browser().send(callback)), '/sign-in/b/', 'another browser learns nothing of it')
    })

    t.test('leads on with a live session', async t => {
      const answer = await signedIn.send(another)
      t.equal(answer.status, 303)
      t.match(arrivalOf(answer), { to: '/wiki/other', failed: 'too-many-attempts' })
      t.equal(await signedIn.told(), '1')
    })

    t.test('can be sent again later', async t => {
      await gateway.elapse(60_000)
      t.same(arrivalOf(await browser.send(callback)), { to: '/wiki/page?x=1', arrived: '1' })
    })
  },
)

t.test('a callback while the store fails is 503, with a live session, too', { skip: withoutRedis }, async t => {
  const gateway = await openProviderGateway(t, { store: 'redis' })
  const browser = gateway.browser()
  await browser.signIn()
  const callback = await browser.atProvider(await browser.start())
  await gateway.redis!.kill()
  const answer = await browser.send(callback)
  t.equal(answer.status, 503)
  t.equal(linkOf(answer), '/sign-in/b/')
  t.notOk(answer.headers['set-cookie'])
})

t.test('a session ends after 12 hours, however often it is renewed', async t => {
  const gateway = await openProviderGateway(t, { config: { sessions: { auto_renew: '1s' } } })
  const browser = gateway.browser()
  const cookie = (await browser.signIn('bob')).headers['set-cookie']![0]!
  const seconds = Number(/Max-Age=(\d+)/.exec(cookie)![1])
  t.ok(seconds > 43_100 && seconds <= 43_200, `${seconds} seconds`)
  for (const hours of [6, 5.9]) {
    await gateway.elapse(hours * 3_600_000)
    t.equal(await browser.told(), 'staff:bob')
  }
  await gateway.elapse(0.2 * 3_600_000)
  t.equal(await browser.told(), '401')
})

onEveryStore(
  'an account that must exist',
  { provider: { account: 'match', match: { claim: 'preferred_username' }, roles: undefined } },
  async (t, gateway) => {
    gateway.openid.users.eve = { preferred_username: ADMIN.username, groups: ['/other'] }
    t.test('is found by a claim, and has its own rights and id', async t => {
      const browser = gateway.browser()
      await browser.signIn('eve')
      t.equal(await browser.told(), '1')
      const own = await browser.send('/api/v1/sys/session/current')
      t.match(own.json().data, { user_id: '1', username: 'admin' })
    })

    t.test('is not made', async t => {
      t.match(arrivalOf(await gateway.browser().signIn('bob')), { failed: 'no-account' })
    })

    t.test('is found by its own name alone, whatever the accounts find by another', async t => {
      const { users } = gateway.openid
      users.mike = { preferred_username: 'MIKE' }
      users.kelvin = { preferred_username: 'mi\u212ae' }
      const token = await gateway.signIn()
      const added = await gateway.post('/api/v1/sys/account/add', { username: 'mike' }, token)
      const [mike, kelvin] = [gateway.browser(), gateway.browser()]
      await mike.signIn('mike')
      t.equal(await mike.told(), added.json().data.id)
      t.match(arrivalOf(await kelvin.signIn('kelvin')), { failed: 'no-account' })
      t.equal(await kelvin.told(), '401')
    })

    t.test('ends its sessions by the provider with a logout there, and no others', async t => {
      const [browser, token] = [gateway.browser(), await gateway.signIn()]
      await browser.signIn('eve')
      await gateway.openid.logout('eve')
      t.equal(await browser.told(), '401')
      t.equal((await gateway.get('/wiki/page', token)).json().headers['x-login-id'], '1')
    })
  },
)

/** Sign-ins with the second factor of the gateway. */
function stepsAt(gateway: ProviderGateway) {
  const post = async (path: string, body: object) => {
    const answer = await gateway.call({
      method: 'POST',
      path: `/api/v1/public/b/login/${path}`,
      headers: { ...SAME, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { ...answer.json(), cookie: answer.headers['set-cookie']?.[0] }
  }
  /** Signs in up to the step, and shows the new second factor. */
  const stepOf = async (user: string): Promise<{ ticket: string; secret: string }> => {
    const browser = gateway.browser()
    const { step } = arrivalOf(await browser.signIn(user))
    const shown = await browser.send(`/sign-in/b/step?step=${step}`, { method: 'POST', headers: SAME })
    const { ticket } = shown.json().data
    return { ticket, secret: (await post('second-factor/setup', { ticket })).data.secret }
  }
  return { post, stepOf }
}

onEveryStore(
  'a second factor of the gateway',
  {
    provider: { second_factor: 'own', session: '1h', claims: { username: 'name' } },
    config: { login: { second_factor: { for: 'all' } } },
  },
  async (t, gateway) => {
    const { post, stepOf } = stepsAt(gateway)

    t.test('is that of the user, whoever else has the same name', async t => {
      Object.assign(gateway.openid.users, { wei: { name: 'Wei Zhang' }, zhang: { name: 'Wei Zhang' } })
      const steps = { wei: await stepOf('wei'), zhang: await stepOf('zhang') }
      for (const [user, { ticket, secret }] of Object.entries(steps)) {
        const signedIn = await post('second-factor', { ticket, code: codeAt(secret, gateway.now()) })
        t.equal(signedIn.code, 200, user)
        const own = await gateway.get('/wiki/page', signedIn.data.token)
        t.equal(own.json().headers['x-login-id'], `staff:${user}`)
      }
    })

    t.test('begins a session whose client learns when it ends', async t => {
      const isAnHour = (seconds: number) => t.ok(seconds > 3500 && seconds <= 3600, `${seconds} seconds`)
      for (const [user, session] of [['ada'], ['bob', 'cookie']] as const) {
        const { ticket, secret } = await stepOf(user)
        const { data, cookie } = await post('second-factor', { ticket, code: codeAt(secret, gateway.now()), session })
        isAnHour(data.expires_in)
        if (session !== undefined) isAnHour(Number(/Max-Age=(\d+)/.exec(cookie!)![1]))
      }
    })
  },
)

t.test('a store that fails between the ticket of a step and the way to it is shown to the user in a page', async t => {
  const gateway = await openProviderGateway(t, {
    provider: { second_factor: 'own' },
    config: { login: { second_factor: { for: 'all' } } },
  })
  const { put } = EmbeddedTickets.prototype
  t.teardown(() => Object.assign(EmbeddedTickets.prototype, { put }))
  Object.assign(EmbeddedTickets.prototype, {
    async put(this: EmbeddedTickets, ...entry: Parameters<typeof put>) {
      if (entry[1].startsWith('flow-step:')) throw new Unavailable('the test')
      return put.apply(this, entry)
    },
  })
  const browser = gateway.browser()
  const answer = await browser.signIn()
  t.equal(answer.status, 503)
  t.match(answer.headers['content-type'], 'text/html')
  t.equal(linkOf(answer), '/sign-in/b/?to=%2Fwiki%2Fpage%3Fx%3D1')
  browser.cookies.set('dualgate-b', await gateway.gateway.sides.business.login(undefined, '1'))
  t.match(arrivalOf(await browser.signIn()), { to: '/wiki/page?x=1' }, 'a live session leads on')
})

t.test('a sign-in whose steps take longer than its session may live is refused', async t => {
  const gateway = await openProviderGateway(t, {
    provider: { second_factor: 'own', session: '1m' },
    config: { login: { second_factor: { for: 'all' } } },
  })
  const { post, stepOf } = stepsAt(gateway)
  const { ticket, secret } = await stepOf('ada')
  await gateway.elapse(61_000)
  const late = await post('second-factor', { ticket, code: codeAt(secret, gateway.now()) })
  t.match(late, { success: false, message: 'This sign-in has expired, sign in again' })
})

for (const logout of ['user', 'session'] as const)
  onEveryStore(`logouts of a ${logout}`, { provider: { logout } }, async (t, gateway) => {
    const { openid } = gateway
    const client = (await openid.provider.Client.find('dualgate')) as unknown as {
      backchannelLogout(user: string, sid?: string): Promise<void>
    }
    const send = (token: string) =>
      gateway.call({
        method: 'POST',
        path: '/sign-in/b/staff/logout',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ logout_token: token }).toString(),
      })
    /** The logout token that the provider sends, and the status of the answer. */
    const sent = async (user: string, sid?: string): Promise<{ token: string; status: number | null }> => {
      await client.backchannelLogout(user, sid).catch(() => undefined)
      const { body, status } = openid.backChannelCalls.at(-1)!
      return { token: body.get('logout_token')!, status }
    }
    const sidOf = async (browser: ReturnType<ProviderGateway['browser']>, user: string): Promise<string> => {
      await browser.signIn(user)
      return openid.sidOf(user)
    }

    t.test('what is forged, and what comes twice, is 400', async t => {
      const { token, status } = await sent('unknown')
      t.equal(status, 200, 'a user who is not known has no session')
      t.equal((await send(token)).status, 400, 'a second time')
      const [head, body] = token.split('.')
      t.equal((await send(`${head}.${body}.${'A'.repeat(342)}`)).status, 400)
      t.equal((await send('nonsense')).status, 400)
      t.equal((await gateway.call({ method: 'POST', path: '/sign-in/b/staff/logout' })).status, 400)
      t.match(gateway.log.join('\n'), /"because":"logout-repeated"/)
    })

    t.test(`ends ${logout === 'user' ? 'all sessions' : 'the session'} that it is for`, async t => {
      const [first, second] = [gateway.browser(), gateway.browser()]
      await sidOf(first, 'ada')
      openid.forget('ada')
      const sid = await sidOf(second, 'ada')
      t.equal((await sent('ada', sid)).status, 200)
      t.same([await first.told(), await second.told()], [logout === 'user' ? '401' : 'staff:ada', '401'])
    })

    t.test('of the session of another user is 400, and ends nothing', async t => {
      const browser = gateway.browser()
      const sid = await sidOf(browser, 'bob')
      t.equal((await sent('ada', sid)).status, 400)
      t.equal(await browser.told(), 'staff:bob')
    })

    t.test('that overtakes a sign-in ends it, too', async t => {
      const browser = gateway.browser()
      const callback = await browser.atProvider(await browser.start(), 'bob')
      t.equal((await sent('bob', openid.sidOf('bob'))).status, 200)
      t.match(arrivalOf(await browser.send(callback)), { failed: 'ended-at-provider' })
      t.equal(await browser.told(), '401')
    })
  })
