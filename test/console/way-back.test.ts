import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { holdRefreshOnceLoaded, signIn } from '../support/console.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'

/* What the page shows that a browser has kept when its user goes back. The browser of the tests keeps none, so the events come from here. */

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
