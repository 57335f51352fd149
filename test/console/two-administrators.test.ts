import t from 'tap'
import { withoutBrowser } from '../support/browser.ts'
import { arrive, confirm, openPage, search, signIn } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { find, openAccounts, openAnd } from './accounts-fixture.ts'
import { row } from './console-fixture.ts'
import { textOf } from './texts.ts'

/* What an administrator does to what another one has changed since the page loaded it. */

t.test('two administrators at once', { skip: withoutBrowser }, async t => {
  const { visit, fixture, add, administer } = await openAccounts(t, { config: { session_administration: true } })
  const { business } = fixture.gateway.sides
  const secondsLeft = async (user: string): Promise<number> =>
    (await fixture.get(`/api/v1/sys/session/disabled?user_id=${user}`, await fixture.signIn())).json().data.disable_time

  t.test('a form without a change, of an account that is gone, does not say that it is saved', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add()
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    await find(page, account)
    await openAnd(page, 'Edit')
    await administer('sys/account/remove', { id: account.id })
    await confirm(page)
    await page.locator('.account-list .empty').waitFor()
    t.equal(await page.locator('dialog').count(), 0)
    t.equal(await page.textContent('#notice'), '')
  })

  t.test('a longer time for which a login id is disabled is shortened after a warning', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await business.login(undefined, user)
    await arrive(fixture, visitor, ['sys:session:*'])
    await search(page, user)
    await row(page, user).locator(`[data-key="disable ${user}"]`).click()
    await administer('sys/session/disable', { user_id: user, seconds: 86_400 })
    await confirm(page)
    await page.locator('dialog .fault', { hasText: textOf('en', 'disabled_longer') }).waitFor()
    t.ok((await secondsLeft(user)) > 3600)
    await confirm(page)
    await page.locator('dialog').waitFor({ state: 'detached' })
    t.ok((await secondsLeft(user)) <= 3600)
  })
})
