import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { withoutBrowser } from '../support/browser.ts'
import { comeBack, confirm, fillIn, keep, openPage, sendSignIn, signIn, solve } from '../support/console.ts'
import { ADMIN, someone } from '../support/gateway-fixture.ts'
import { type Added, openAccounts, PASSWORD, shownSecret } from './accounts-fixture.ts'
import { textOf } from './texts.ts'

/* What the tabs of one browser, which share the cookie of a session, do to each other. */

/** The form of a sign-in that is shown, filled in and sent. */
async function send(page: Page, { username }: Added): Promise<void> {
  await fillIn(page, username, PASSWORD)
  await page.click('button[type=submit]')
}

t.test('tabs of one browser', { skip: withoutBrowser }, async t => {
  const { visit, fixture, add } = await openAccounts(t, {
    config: { browser: { business: 'on' }, login: { second_factor: { for: ['guarded'] } } },
  })

  /** In another tab, the user of the page signs out, and in to another account. */
  async function signInElsewhere(page: Page, account: Added): Promise<void> {
    const other = await page.context().newPage()
    await other.goto(`${fixture.url}/console/`)
    await solve(fixture, other, () => other.click('[data-key=sign-out]'))
    await send(other, account)
    await other.waitForSelector('.chrome')
    await other.close()
  }

  /** An administrator has typed the name of a new account; `account` is another one to sign in to. */
  async function typeNewAccount(t: Test): Promise<{ page: Page; account: Added }> {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add()
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    await page.click('[data-key=add]')
    await page.fill('#account-username', someone())
    return { page, account }
  }

  for (const path of ['/sign-in/b/?to=/console/', '/console/']) {
    t.test(`recovery codes of a set-up at ${path} stay when their user comes back from another tab`, async t => {
      const { page } = await visit(t)
      const account = await add({ roles: ['guarded'] })
      await solve(fixture, page, () => page.goto(fixture.url + path))
      await send(page, account)
      await page.waitForSelector('.secret')
      await page.fill('#code', codeAt(await shownSecret(page), fixture.now()))
      await page.keyboard.press('Enter')
      await page.waitForSelector('#is-kept')
      t.match(await page.context().cookies(), [{ name: '__Host-dualgate-b' }], 'the browser has the session already')
      const looks: string[] = []
      page.on('request', request => void looks.push(request.url()))
      await comeBack(page)
      t.same(looks, [], 'nothing that could lead on')
      t.equal(await page.locator('.codes li').count(), 10)
      await page.check('#is-kept')
      await page.click('[type=submit]')
      await page.waitForSelector('.chrome')
    })
  }

  t.test('a sign-in that was left open goes on once its user has signed in in another tab', async t => {
    const { page } = await visit(t)
    const account = await add()
    await page.goto(`${fixture.url}/console/#journal`)
    await page.waitForSelector('#username')
    const other = await page.context().newPage()
    await sendSignIn(fixture, other, account.username, PASSWORD)
    await other.waitForSelector('.chrome')
    await other.close()
    await comeBack(page)
    await page.locator('.owner', { hasText: account.username }).waitFor()
  })

  t.test('of two windows side by side the page is that of the account that has signed in last', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add()
    await signIn(fixture, visitor)
    await signInElsewhere(page, account)
    // Both were visible all the time.
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await page.locator('.owner', { hasText: account.username }).waitFor()
  })

  t.test('what was typed in a dialog is reported as lost where its user has signed in to another account', async t => {
    const { page, account } = await typeNewAccount(t)
    await signInElsewhere(page, account)
    await comeBack(page)
    await page.locator('.whole-page', { hasText: textOf('en', 'unsaved') }).waitFor()
    const looks: string[] = []
    page.on('request', request => void looks.push(request.url()))
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    t.same(looks, [], 'nothing that could lead on before it is read')
    t.equal(await page.locator('dialog').count(), 0, 'nothing of the former account')
    await page.locator('.whole-page button').click()
    await page.locator('.owner', { hasText: account.username }).waitFor()
  })

  t.test('a password that is shown once stays beside another account in another tab, until it is kept', async t => {
    const { page, account } = await typeNewAccount(t)
    await confirm(page)
    const password = await page.locator('dialog .secret code').textContent()
    await signInElsewhere(page, account)
    const look = page.waitForResponse(/\/sign-in\/b\/session$/)
    await comeBack(page)
    await look
    await page.evaluate(() => fetch('/sign-in/b/session'))
    t.equal(await page.locator('dialog .secret code').textContent(), password)
    await keep(page)
    await page.locator('.owner', { hasText: account.username }).waitFor()
    t.notMatch(await page.textContent('.owner'), ADMIN.username)
  })
})
