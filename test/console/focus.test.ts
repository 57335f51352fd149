import type { Page } from 'playwright-core'
import t from 'tap'
import { withoutBrowser } from '../support/browser.ts'
import { choose, holdRefreshOnceLoaded, openPage, search, signIn } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { find, openAccounts, openAnd } from './accounts-fixture.ts'
import { failCalls, row } from './console-fixture.ts'

/* Where the focus of a keyboard is once what had it is gone: in its place, and not at the top of the page. */

/** Presses a control with the keyboard. */
async function press(page: Page, selector: string): Promise<void> {
  await page.focus(selector)
  await page.keyboard.press('Enter')
}

/** Waits until the focus is in a part of the page, or on a control. */
const focusIn = (page: Page, selector: string): Promise<unknown> =>
  page.waitForFunction(
    selector => document.activeElement?.closest('body *') && document.activeElement.closest(selector) !== null,
    selector,
  )

t.test('the focus of a keyboard', { skip: withoutBrowser }, async t => {
  const { visit, fixture, add } = await openAccounts(t, { config: { session_administration: true } })
  const { business } = fixture.gateway.sides
  for (let users = 0; users < 12; users++) await business.login(undefined, someone())

  t.test('at the last page of a list, and at the last entry, it stays beside the list', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await holdRefreshOnceLoaded(page)
    await press(page, '[data-key=next]')
    await page.locator('[data-key=next]:disabled').waitFor()
    await focusIn(page, '.pages')
    for (let entries = 0; entries < 60; entries++) await business.login(undefined, someone())
    await openPage(page, 'journal')
    await press(page, '[data-key=more]')
    await page.locator('.pages', { hasText: 'No older entries' }).waitFor()
    await focusIn(page, '.pages')
    t.pass()
  })

  t.test('after the end of a user, and the removal of an account, it is in the list', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const [user, account] = [someone(), await add()]
    await business.login(undefined, user, { username: user })
    await signIn(fixture, visitor)
    await holdRefreshOnceLoaded(page)
    await search(page, user)
    await row(page, user).waitFor()
    await press(page, '[data-key^="end u"]')
    await press(page, 'dialog [type=submit]')
    await row(page, user).waitFor({ state: 'detached' })
    await focusIn(page, '.user-list')
    await openPage(page, 'accounts')
    await find(page, account)
    await openAnd(page, 'Remove')
    await press(page, 'dialog [type=submit]')
    await page.locator('.account-list tbody tr').waitFor({ state: 'detached' })
    await focusIn(page, '.account-list')
    t.pass()
  })

  t.test('an action that runs or has failed keeps it on its button', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await openPage(page, 'account')
    await page.click('[data-key=change-password]')
    for (const id of ['#new-password', '#repeated']) await page.fill(id, 'another password 12')
    await page.fill('#current-password', 'wrong')
    await press(page, 'dialog [type=submit]')
    await page.locator('dialog .fault', { hasText: 'Wrong username or password' }).waitFor()
    await focusIn(page, 'dialog [type=submit]')
    await page.keyboard.press('Escape')
    await openPage(page, 'journal')
    await press(page, '[data-key=export]')
    await page.locator('#notice', { hasText: 'Exported entries' }).waitFor()
    await focusIn(page, '[data-key=export]')
    t.pass()
  })

  t.test('when what could not be loaded is there, it is on the page', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await openPage(page, 'journal')
    await failCalls(page, 'Service unavailable')
    await press(page, '[data-key=apply]')
    await page.focus('[data-key=retry]')
    await page.unroute(/\/api\//)
    await page.keyboard.press('Enter')
    await page.locator('[data-key=retry]').waitFor({ state: 'detached' })
    await focusIn(page, 'main')
    t.pass()
  })

  t.test('a filter keeps it in its field, and the sign-in on the choice of the language', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await openPage(page, 'journal')
    await page.fill('#journal-username', 'admin')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[data-key=reset]')
    await focusIn(page, '#journal-username')
    await page.click('[data-key=sign-out]')
    await page.waitForSelector('#username')
    await press(page, '[data-key=language]')
    await page.waitForSelector('html[lang=zh-CN]')
    await focusIn(page, '[data-key=language]')
    await choose(page, 'en')
    t.pass()
  })

  t.test('it is in the fields of a login id that is disabled and enabled again', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await holdRefreshOnceLoaded(page)
    await press(page, '[data-key=check-id]')
    await page.fill('#login-id', someone())
    await page.keyboard.press('Enter')
    await press(page, 'dialog [data-key=disable]')
    await press(page, 'dialog:last-of-type [type=submit]')
    await page.waitForSelector('dialog [data-key=enable]')
    await focusIn(page, '[data-key=disable]')
    await press(page, 'dialog [data-key=enable]')
    await page.locator('dialog [data-key=enable]').waitFor({ state: 'detached' })
    await focusIn(page, '.disable-state')
    t.pass()
  })
})
