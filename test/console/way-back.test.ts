import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { holdRefreshOnceLoaded, openPage, signIn } from '../support/console.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'
import { openAccounts } from './accounts-fixture.ts'

/* The way back to a page. The browser of the tests keeps none, so the events of one that does come from here. */

t.test('the way back to the other side closes what was opened for this one', { skip: withoutBrowser }, async t => {
  const { visit, fixture } = await openAccounts(t)
  const visitor = await visit(t)
  const { page } = visitor
  await signIn(fixture, visitor)
  await openPage(page, 'accounts')
  await page.click('.sides .CONSUMER')
  await page.click('[data-key=add]')
  await page.waitForSelector('#account-username')
  await page.goBack()
  await page.locator('.sides .BUSINESS[aria-pressed=true]').waitFor()
  await page.locator('dialog').waitFor({ state: 'detached' })
  t.pass()
})

t.test('the way back to a page whose session has ended shows nothing of it', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t, { config: { session_administration: true, browser: { business: 'on' } } })
  const visitor = await visit(t)
  const { page } = visitor
  await signIn(fixture, visitor)
  await page.locator('.user-list', { hasText: ADMIN.username }).waitFor()
  await holdRefreshOnceLoaded(page)
  const leave = (type: string) =>
    page.evaluate(type => window.dispatchEvent(new PageTransitionEvent(type, { persisted: true })), type)
  await leave('pagehide')
  t.equal(await page.locator('#app').textContent(), 'Loading…', 'what the browser keeps')
  await page.context().clearCookies()
  await leave('pageshow')
  await page.waitForSelector('#username')
  t.equal(await page.locator('.chrome').count(), 0)
})
