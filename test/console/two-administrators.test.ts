import t from 'tap'
import { withoutBrowser } from '../support/browser.ts'
import { arrive, confirm, search } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { openAccounts } from './accounts-fixture.ts'
import { row } from './console-fixture.ts'
import { textOf } from './texts.ts'

/* What an administrator does to what another one has changed since the page loaded it. */

t.test('two administrators at once', { skip: withoutBrowser }, async t => {
  const { visit, fixture, administer, openAbout } = await openAccounts(t, { config: { session_administration: true } })
  const { business } = fixture.gateway.sides
  const secondsLeft = async (user: string): Promise<number> =>
    (await fixture.get(`/api/v1/sys/session/disabled?user_id=${user}`, await fixture.signIn())).json().data.disable_time

  t.test('a form without a change, of an account that is gone, does not say that it is saved', async t => {
    const { page, account } = await openAbout(t, 'Edit')
    await administer('sys/account/remove', { id: account.id })
    await confirm(page)
    await page.locator('.account-list .empty').waitFor()
    t.equal(await page.locator('dialog').count(), 0)
    t.equal(await page.textContent('#notice'), '')
  })

  t.test(
    'an edit of what has changed meanwhile keeps what was typed, shows both, and succeeds when it is repeated',
    async t => {
      const { page, account } = await openAbout(t, 'Edit', { roles: ['operator'], permissions: ['orders:read'] })
      const { id } = account
      await page.fill('#account-nickname', 'Mine')
      await page.fill('#account-permissions', 'orders:read, mine')
      await page.fill('#account-roles', 'clerk')
      await page.check('#roles-meant')
      const theirs = { permissions: ['theirs'], roles: ['auditor'], status: 'LOCKED' }
      t.match(await administer('sys/account/edit', { id, ...theirs }), { success: true })
      await confirm(page)
      await page.locator('dialog .fault', { hasText: textOf('en', 'account_changed') }).waitFor()
      const typed = (field: string): Promise<string> => page.inputValue(`#account-${field}`)
      t.same(await Promise.all(['nickname', 'permissions', 'roles'].map(typed)), ['Mine', 'orders:read, mine', 'clerk'])
      t.ok(await page.isChecked('[data-key="role operator"]'))
      t.equal(await typed('status'), 'LOCKED', 'what was not typed is what is saved')
      const saved = (value: string): string => textOf('en', 'saved_now', { value })
      t.same(await page.locator('dialog [id$=-saved]').allTextContents(), [saved('auditor'), saved('theirs')])
      t.match(await page.getAttribute('#account-permissions', 'aria-describedby'), 'account-permissions-saved')
      t.same(await obstaclesEverywhere(page, 'edit of a changed account'), [])
      await confirm(page)
      await page.locator('dialog').waitFor({ state: 'detached' })
      const { data } = (await fixture.get(`/api/v1/sys/account/detail?id=${id}`, await fixture.signIn())).json()
      const { nickname, permissions, roles, status } = data
      t.same(
        { nickname, permissions, roles, status },
        { nickname: 'Mine', permissions: ['orders:read', 'mine'], roles: ['operator', 'clerk'], status: 'LOCKED' },
      )
    },
  )

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
