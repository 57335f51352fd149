import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { withoutBrowser } from '../support/browser.ts'
import { arrive, comeBack, fillIn, sendSignIn, solve } from '../support/console.ts'
import { openAccounts, PASSWORD } from './accounts-fixture.ts'
import { textOf } from './texts.ts'

const NOT_FOUND = {
  status: 404,
  json: { code: 404, message: 'Not found', data: null, success: false, trace_id: '' },
}

/** From now on the page is one of a gateway with other settings. */
const changeSettings = (page: Page, change: object): Promise<unknown> =>
  page.route('**/settings.json', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), ...change } })
  })

t.test('the page of a gateway that has other settings by now', { skip: withoutBrowser }, async t => {
  const { visit, fixture, add } = await openAccounts(t, { config: { session_administration: true } })

  /** The page of sessions, as it is before its calls are served no longer. */
  async function openSessions(t: Test): Promise<Page> {
    const visitor = await visit(t)
    const { page } = visitor
    await arrive(fixture, visitor, ['sys:session:page'])
    await page.locator('.refresh', { hasText: /^Updated / }).waitFor()
    await page.route(/\/sys\/session\//, route => route.fulfill(NOT_FOUND))
    return page
  }

  t.test('says so where a route is no longer served', async t => {
    const page = await openSessions(t)
    await changeSettings(page, { timezone: 'UTC+09:00' })
    await comeBack(page)
    await page.locator('.trouble', { hasText: textOf('en', 'outdated') }).waitFor()
  })

  t.test('says what the gateway says of a route that is not there with the same settings', async t => {
    const page = await openSessions(t)
    await comeBack(page)
    await page.locator('.trouble', { hasText: NOT_FOUND.json.message }).waitFor()
  })

  t.test('says so where a sign-in needs a step that the page does not know', async t => {
    const { page } = await visit(t)
    const { username } = await add({ must_change_password: true })
    await page.route('**/public/b/login', async route => {
      const response = await route.fetch()
      const answer = await response.json()
      await route.fulfill({ response, json: { ...answer, data: { ...answer.data, required: 'passkey' } } })
    })
    await sendSignIn(fixture, page, username, PASSWORD)
    await page.locator('.fault', { hasText: textOf('en', 'outdated') }).waitFor()
  })

  t.test('has those of the gateway after the next sign-in', async t => {
    const { page } = await visit(t)
    const { username } = await add()
    await page.goto(`${fixture.url}/console/`)
    await page.waitForSelector('#username')
    await changeSettings(page, { keys: { BUSINESS: null, CONSUMER: null }, routes: ['b/account', 'b/logout'] })
    await solve(fixture, page, () => page.locator('.captcha').click())
    await fillIn(page, username, PASSWORD)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.panel')
    t.equal(await page.locator('.own-keys').count(), 0)
  })
})
