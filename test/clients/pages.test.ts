import t, { type Test } from 'tap'
import { openBrowser, type Visit, withoutBrowser } from '../support/browser.ts'
import { ADMIN, someone } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'
import { type Answer, Front } from './front.ts'
import { CLIENTS, type Client, ORIGINS, openSite, type Site } from './site.ts'

/* What pages send whose requests go through axios, alova or plain fetch, in a real browser, and what they can read. */

const SESSION = '/api/v1/sys/session'
const TRACE_ID = /^[0-9a-f]{32}$/

/** The page gets a refusal as the gateway gave it, with the id by which the log names it. */
function matchRefusal(t: Test, answer: Answer, status: number, code: number, message: string | RegExp): void {
  t.match(answer, { isSuccess: false, status, body: { code, message, data: null, success: false } })
  t.match(answer.requestId, TRACE_ID)
  t.equal(answer.body.trace_id, answer.requestId)
}

function signsIn(t: Test, front: Front, how: string): void {
  t.test(`the page reads why a login was refused ${how}`, async t => {
    t.equal((await front.open()).isSuccess, true, 'without a token, too')
    matchRefusal(t, await front.signIn(undefined, '????'), 200, 400, 'Wrong captcha')
    matchRefusal(t, await front.signIn('wrong'), 200, 400, 'Wrong username or password')
    t.equal(await front.token(), null)
  })

  t.test(`the page signs in ${how}`, async t => {
    t.match(await front.signIn(), { isSuccess: true, body: { data: { token: /^ey/ } } })
    t.equal(await front.site.fixture.gateway.sides.business.getLoginIdByToken((await front.token())!), '1')
  })

  t.test(`the page sends its token bare, on public paths too, and says JSON ${how}`, async t => {
    const since = front.requests.length
    await front.run('showCaptcha')
    t.match(await front.get(`${SESSION}/current`), { isSuccess: true, body: { data: { username: ADMIN.username } } })
    // axios leaves the type out where there is no body, whatever the page has set.
    const type = front.client === 'axios' ? undefined : 'application/json'
    const token = await front.token()
    const sent = await front.sent(since)
    t.equal(sent.length, 2)
    for (const headers of sent) {
      t.equal(headers.authorization, token, `at ${headers.path}`)
      t.equal(headers['content-type'], type, `at ${headers.path}`)
    }
  })
}

function administers(t: Test, front: Front, how: string): void {
  const { business } = front.site.fixture.gateway.sides
  const user = someone()
  const signInUser = () => business.login(undefined, user, { username: user, device_type: 'Firefox' })
  const tokensOf = async () => (await front.get(`${SESSION}/tokens`, { user_id: user })).body.data

  t.test(`the page reads the numbers and the charts ${how}`, async t => {
    t.match(await front.get(`${SESSION}/analysis`), {
      isSuccess: true,
      body: { data: { total_count: Number, proportion_of_b_and_c: /^\d+\/\d+$/ } },
    })
    const { body } = await front.get(`${SESSION}/chart-data`)
    t.equal(body.data.bar_chart.days.length, 7)
    t.equal(body.data.pie_chart.data[0].category, 'BUSINESS')
  })

  t.test(`the page lists who is online ${how}`, async t => {
    await signInUser()
    const { isSuccess, body } = await front.get(`${SESSION}/page`, { current: 1, size: 10, keyword: user })
    t.ok(isSuccess)
    t.match(body.data, { total: 1, page: 1, size: 10, pages: 1, records: [{ user_id: user, token_count: 1 }] })
    t.match(await front.get(`${SESSION}/page`, { current: 1, size: 10, keyword: '' }), { isSuccess: true })
    const own = await front.get(`${SESSION}/tokens`, { user_id: '1' })
    t.equal(own.body.data[0].device_id, 'WEB_PC', 'with the device that the page named')
  })

  t.test(`the page ends one session of a user, then all of them ${how}`, async t => {
    const last = await signInUser()
    await signInUser()
    const [first, ...others] = await tokensOf()
    t.equal(others.length, 2)
    t.match(await front.post(`${SESSION}/exit-token`, { user_id: user, token: first.token }), { isSuccess: true })
    t.equal((await tokensOf()).length, 2)
    t.match(await front.post(`${SESSION}/exit`, { user_id: user }), { isSuccess: true, body: { data: null } })
    t.same(await tokensOf(), [])
    t.equal(await business.getLoginIdByToken(last), '')
  })

  t.test(`the page disables a login id, reads that it is, and enables it again ${how}`, async t => {
    const read = async () => (await front.get(`${SESSION}/disabled`, { user_id: user })).body.data
    t.match(await front.post(`${SESSION}/disable`, { user_id: user, seconds: 3600 }), { isSuccess: true })
    t.match(await read(), { is_disable: true, disable_time: Number })
    t.equal(await business.isDisable(user), true)
    t.match(await front.post(`${SESSION}/untie-disable`, { user_id: user }), { isSuccess: true })
    t.same(await read(), { is_disable: false, disable_time: -1 })
  })
}

function staysSignedIn(t: Test, front: Front, shop: Front, how: string): void {
  t.test(`a reload does not sign the page out ${how}`, async t => {
    const token = await front.token()
    t.match(await front.reload(), { isSuccess: true, body: { data: [{ label: 'a' }] } })
    t.equal(await front.token(), token)
    t.match(await front.get(`${SESSION}/current`), { isSuccess: true })
  })

  t.test(`a page of the C side reads the dictionary at each load and stays signed in ${how}`, async t => {
    const { consumer } = shop.site.fixture.gateway.sides
    const user = someone()
    const token = await consumer.login(undefined, user)
    await shop.open()
    await shop.keep(token)
    const since = shop.requests.length
    t.match(await shop.reload(), { isSuccess: true, body: { data: [{ label: 'a' }] } })
    t.match(await shop.sent(since), [{ path: '/api/v1/sys/dict/tree', authorization: token }])
    t.equal(await shop.token(), token)
    t.equal(await consumer.getLoginIdByToken(token), user)
    t.match(await shop.post('/api/v1/c/logout'), { isSuccess: true })
    t.equal(await consumer.getLoginIdByToken(token), '', 'and its logout ends the session')
  })

  t.test(`the page opens a WebSocket with its token in the query ${how}`, async t => {
    t.equal(await front.run('converse', '/api/v1/b/live', 'hello'), 'echo: hello')
  })
}

function readsRefusals(t: Test, front: Front, how: string): void {
  t.test(`the page distinguishes invalid input, missing permissions and faults ${how}`, async t => {
    matchRefusal(t, await front.post(`${SESSION}/exit`, {}), 200, 400, 'user_id: is missing')
    matchRefusal(t, await front.post(`${SESSION}/exit`), 200, 400, 'user_id: is missing')
    matchRefusal(t, await front.get('/api/v1/b/away/x'), 502, 502, 'Bad gateway')
    const admin = await front.token()
    await front.keep(await front.site.fixture.gateway.sides.business.login(undefined, someone()))
    matchRefusal(t, await front.get(`${SESSION}/page`), 403, 403, "Missing permission: ['sys:session:page']")
    t.not(await front.token(), null, 'which does not sign it out')
    await front.keep(admin!)
  })
}

function readsNothingElsewhere(t: Test, site: Site, visit: Visit, client: Client, how: string): void {
  t.test(`a page of an origin that is not configured reads nothing ${how}`, async t => {
    const front = new Front(site, await visit(t), client)
    await t.rejects(front.open(site.foreignPage(client)), /Failed to fetch|Network Error/)
    const token = await site.fixture.gateway.sides.business.login(undefined, someone())
    await front.keep(token)
    await t.rejects(front.get(`${SESSION}/current`), /Failed to fetch|Network Error/)
    t.equal(await front.run('converse', '/api/v1/b/live', 'hello'), null)
    t.equal(await front.run('closeCode'), 1006, 'nor does it get a WebSocket')
  })
}

/** What pages give their client as the data of a logout. */
const NO_DATA: readonly [what: string, data: unknown][] = [
  ['without data', undefined],
  ['with null', null],
  ['with an empty object', {}],
]

function signsOut(t: Test, front: Front, how: string): void {
  const { business } = front.site.fixture.gateway.sides

  for (const [what, data] of NO_DATA) {
    t.test(`the page signs out ${how}, ${what}`, async t => {
      await front.signIn()
      const token = (await front.token())!
      await front.run('converse', '/api/v1/b/live', 'hello')
      const since = front.requests.length
      t.match(await front.post('/api/v1/b/logout', data), {
        isSuccess: true,
        body: { data: { message: 'Logged out' } },
      })
      const [{ 'content-type': type } = {}] = await front.sent(since)
      t.equal(type, front.client === 'axios' && data === undefined ? undefined : 'application/json')
      t.equal(await business.getLoginIdByToken(token), '', 'the session has ended')
      t.ok(await until(async () => (await front.run('closeCode')) === 4401), 'and so has its WebSocket')
      matchRefusal(t, await front.get(`${SESSION}/current`), 200, 401, 'Not logged in')
      t.equal(await front.token(), null)
    })
  }

  t.test(`the page signs in again while it sends the token of a session that has ended ${how}`, async t => {
    const user = someone()
    const ended = await business.login(undefined, user)
    await business.kickout(user)
    await front.keep(ended)
    t.match(await front.reload(), { isSuccess: true })
    t.equal(await front.token(), ended)
    t.match(await front.signIn(), { isSuccess: true })
    t.match(await front.get(`${SESSION}/current`), { isSuccess: true })
  })
}

function complainsOfNothing(t: Test, fronts: readonly Front[], how: string): void {
  t.test(`the browser finds no fault with the gateway ${how}`, async t => {
    // It notes every status from 400 on, which the page has read.
    const noted = /^Failed to load resource: the server responded with a status of (403|502)/
    for (const { visitor } of fronts) {
      t.same(
        visitor.complaints.filter(text => !noted.test(text)),
        [],
      )
      t.same(visitor.strayed, [])
    }
  })
}

t.test('pages in a browser', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  for (const origins of ORIGINS) {
    const site = await openSite(t, origins)
    for (const client of CLIENTS) {
      const how = `with ${client} on ${origins}`
      await t.test(`pages ${how}`, async t => {
        const fronts = [await visit(t), await visit(t)].map(visitor => new Front(site, visitor, client))
        const [front, shop] = fronts as [Front, Front]
        signsIn(t, front, how)
        administers(t, front, how)
        staysSignedIn(t, front, shop, how)
        readsRefusals(t, front, how)
        signsOut(t, front, how)
        readsNothingElsewhere(t, site, visit, client, how)
        complainsOfNothing(t, fronts, how)
      })
    }
  }
})
