import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { fillIn, obstaclesEverywhere, solve } from '../support/console.ts'
import { ADMIN } from '../support/gateway-fixture.ts'
import { openProviderGateway, type ProviderGatewayOptions } from '../support/provider-gateway.ts'
import { until } from '../support/until.ts'
import { shownSecret } from './accounts-fixture.ts'

/* The sign-in by a provider, as its users see it. The provider is a real one, at another origin. */

const WIKI = '/wiki/page?x=1#part'
const BUTTON = '[data-key="provider staff"]'

async function open(t: Test, options: ProviderGatewayOptions = {}) {
  const visit = await openBrowser(t)
  const gateway = await openProviderGateway(t, options)
  return { visit, gateway, wiki: `${gateway.url}${WIKI}` }
}

/** What the application answers: its own requests, as JSON. */
const shownTo = async (page: Page): Promise<string> =>
  JSON.parse((await page.textContent('body'))!).headers['x-login-id']

t.test('the sign-in by a provider', { skip: withoutBrowser }, async t => {
  const { visit, gateway, wiki } = await open(t)

  t.test('leads to the page that was requested, its fragment included, and back leaves the sign-in behind', async t => {
    const { page, complaints } = await visit(t, {})
    await page.goto(wiki)
    await page.locator(BUTTON, { hasText: 'Company account' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'sign-in by a provider'), [])
    await page.click('[data-key=language]')
    await page.locator(BUTTON, { hasText: '公司账号' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'sign-in by a provider'), [])
    await page.click(BUTTON)
    await page.waitForURL(wiki)
    t.equal(await shownTo(page), 'staff:ada')
    await page.goBack()
    await page.waitForURL(wiki)
    t.equal(await shownTo(page), 'staff:ada', 'the sign-in page leads on')
    t.same(complaints, [])
  })

  t.test('works in two tabs of one browser that began before either has finished', async t => {
    const { page } = await visit(t, {})
    const other = await page.context().newPage()
    for (const tab of [page, other]) {
      await tab.goto(wiki)
      await tab.locator(BUTTON).waitFor()
    }
    const held: (() => void)[] = []
    gateway.openid.hold = release => void held.push(release)
    await Promise.all([page, other].map(tab => tab.click(BUTTON, { noWaitAfter: true })))
    await until(() => held.length === 2)
    gateway.openid.hold = null
    for (const release of held) release()
    await page.waitForURL(wiki)
    await other.waitForURL(wiki)
    t.same([await shownTo(page), await shownTo(other)], ['staff:ada', 'staff:ada'])
  })

  t.test('a callback that is loaded again, or in another browser, says what to do and makes no loop', async t => {
    const { page } = await visit(t, {})
    let callback = ''
    page.on('request', request => {
      if (request.url().includes('/callback?')) callback = request.url()
    })
    await page.goto(wiki)
    await page.click(BUTTON)
    await page.waitForURL(wiki)
    await page.goto(callback)
    await page.waitForURL(wiki)
    t.equal(await shownTo(page), 'staff:ada', 'who is signed in goes on')

    const stranger = await visit(t, {})
    await stranger.page.goto(callback)
    await stranger.page.locator('.fault', { hasText: 'another browser' }).waitFor()
    t.match(await stranger.page.textContent('.fault'), 'other-browser')
    t.notMatch(stranger.page.url(), 'failed')
    t.same(await obstaclesEverywhere(stranger.page, 'a failed sign-in by a provider'), [])
    await stranger.page.reload()
    await stranger.page.locator(BUTTON).waitFor()
    t.equal(await stranger.page.locator('.fault:visible').count(), 0, 'a reload does not repeat it')
  })

  t.test('a password still signs in, and a sign-out at the console goes on to the provider', async t => {
    const { page, complaints } = await visit(t, {})
    await solve(gateway, page, () => page.goto(`${gateway.url}/console/`))
    await fillIn(page, ADMIN.username, ADMIN.password)
    await page.click('.ways button[type=submit]')
    await page.click('[data-key=sign-out]')
    await page.locator('.told', { hasText: 'You are signed out.' }).waitFor()
    await page.goto(`${gateway.url}/console/`)
    await page.click(BUTTON)
    await page.waitForSelector('.chrome')
    await page.click('[data-key=sign-out]')
    await page.waitForURL(`${gateway.openid.issuer}/**`)
    t.equal(await gateway.gateway.sides.business.getTokenValuesByLoginId?.('staff:ada').then(({ length }) => length), 2)
    t.same(complaints, [])
  })
})

t.test('a provider alone', { skip: withoutBrowser }, async t => {
  const { visit, gateway, wiki } = await open(t, {
    config: { login: { password: 'off', second_factor: { for: 'all' } } },
    provider: { second_factor: 'own', require: { groups: ['/staff/admins'] } },
  })

  t.test('leaves no form for a password, and says why a user is not accepted', async t => {
    const { page } = await visit(t, {})
    gateway.openid.user = 'bob'
    t.teardown(() => {
      gateway.openid.user = 'ada'
    })
    await page.goto(wiki)
    await page.locator(BUTTON).waitFor()
    t.equal(await page.locator('#password').count(), 0)
    t.same(await obstaclesEverywhere(page, 'sign-in by a provider alone'), [])
    await page.click(BUTTON)
    await page.locator('.fault', { hasText: 'not authorized' }).waitFor()
    t.match(await page.textContent('.fault'), 'group-required')
    const refused = await gateway.post('/api/v1/public/b/login', await gateway.credentials())
    t.match(refused.json(), { code: 403, success: false })
  })

  t.test('can be completed by a second factor of the gateway', async t => {
    const { page, complaints } = await visit(t, {})
    await page.goto(wiki)
    await page.click(BUTTON)
    await page.fill('#code', codeAt(await shownSecret(page), gateway.now()))
    await page.click('button[type=submit]')
    await page.check('#is-kept')
    await page.click('button[type=submit]')
    await page.waitForURL(wiki)
    t.equal(await shownTo(page), 'staff:ada')
    t.same(complaints, [])
  })
})
