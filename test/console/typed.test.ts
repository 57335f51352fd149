import t, { type Test } from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { confirm, holdRefreshOnceLoaded, openPage, signIn } from '../support/console.ts'
import { openProviderGateway } from '../support/provider-gateway.ts'
import { until } from '../support/until.ts'
import { openAccounts, PASSWORD } from './accounts-fixture.ts'
import { textOf } from './texts.ts'

/* What was typed in a dialog is not lost without a word. */

t.test('what was typed in a dialog', { skip: withoutBrowser }, async t => {
  const { visit, fixture, add } = await openAccounts(t, { config: { session_administration: true } })
  const { business } = fixture.gateway.sides

  /** A new administrator has opened the form of a new account. */
  async function openForm(t: Test) {
    const visitor = await visit(t)
    const { page } = visitor
    const administrator = await add({ roles: ['SUPER_ADMIN'] })
    await signIn(fixture, visitor, administrator.username, PASSWORD)
    await openPage(page, 'accounts')
    await page.click('[data-key=add]')
    await page.waitForSelector('#account-username')
    return { page, end: () => business.kickout(administrator.id) }
  }

  t.test('is reported as not saved when the session has ended', async t => {
    const { page, end } = await openForm(t)
    await page.fill('#account-username', 'ann')
    await end()
    await confirm(page)
    await page.locator('.fault', { hasText: textOf('en', 'unsaved') }).waitFor()
    t.match(await page.textContent('.fault'), textOf('en', 'ended'))
    await page.click('[data-key=language]')
    await page.locator('.fault', { hasText: textOf('zh', 'unsaved') }).waitFor()
  })

  t.test('is not reported where nothing was typed', async t => {
    const { page, end } = await openForm(t)
    await end()
    await page.evaluate(() => location.assign('#journal'))
    await page.locator('.fault', { hasText: textOf('en', 'ended') }).waitFor()
    t.equal(await page.textContent('.fault'), textOf('en', 'ended'))
  })

  t.test('stays where its user decides so before a reload', async t => {
    const { page } = await openForm(t)
    const asked: string[] = []
    page.on('dialog', dialog => {
      asked.push(dialog.type())
      void (asked.length === 1 ? dialog.dismiss() : dialog.accept())
    })
    await page.locator('#account-username').pressSequentially('ann')
    await page.evaluate(() => location.reload())
    await until(() => asked.length > 0)
    t.same(asked, ['beforeunload'])
    t.equal(await page.inputValue('#account-username'), 'ann')
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await page.reload()
    await page.waitForSelector('.account-list')
    t.same(asked, ['beforeunload'], 'nothing is lost any more')
  })
})

t.test('what was typed is reported at the sign-in with providers, too', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const gateway = await openProviderGateway(t, { config: { session_administration: true } })
  const { page } = await visit(t)
  await page.goto(`${gateway.url}/console/`)
  await page.click('.provider button')
  await page.waitForSelector('.chrome')
  await holdRefreshOnceLoaded(page)
  await page.locator('.user-list [data-key^="disable "]').first().click()
  await page.selectOption('#disable-time', '600')
  await gateway.openid.logout('ada')
  await confirm(page)
  await page.locator('.fault', { hasText: textOf('en', 'unsaved') }).waitFor()
  t.equal(new URL(page.url()).pathname, '/sign-in/b/')
})
