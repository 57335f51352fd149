import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { withoutBrowser } from '../support/browser.ts'
import { arrive, confirm, holdRefreshOnceLoaded, openPage, sendSignIn, signIn } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { isLive, OWN_PASSWORD, openAccounts, PASSWORD, shownSecret } from './accounts-fixture.ts'
import { row, searchNewUser } from './console-fixture.ts'
import { textOf } from './texts.ts'

/* What the page says where the answer to a change is lost: the change may have been made. */

/** Loses the next answer to a call, once the gateway has given it. */
const loseAnswer = (page: Page, url: string): Promise<unknown> =>
  page.route(
    url,
    async route => {
      await route.fetch()
      await route.abort()
    },
    { times: 1 },
  )

const fault = (page: Page, name: Parameters<typeof textOf>[1]) =>
  page.locator('.fault', { hasText: textOf('en', name) })

t.test('the page where an answer is lost', { skip: withoutBrowser }, async t => {
  const { visit, fixture, administer, add, openAbout, fillNextCode } = await openAccounts(t, {
    config: { session_administration: true },
  })
  const { business } = fixture.gateway.sides
  const signInAs = async (t: Test, username: string, password: string) => {
    const visitor = await visit(t)
    await signIn(fixture, visitor, username, password)
    return visitor.page
  }
  const openOwn = async (t: Test) => {
    const { username } = await add()
    const page = await signInAs(t, username, PASSWORD)
    await openPage(page, 'account')
    return { page, username }
  }

  t.test('an account that was added stands behind its dialog', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    const username = someone()
    await page.fill('#keyword', username)
    await page.locator('.empty').waitFor()
    await page.click('[data-key=add]')
    await page.fill('#account-username', username)
    await loseAnswer(page, '**/sys/account/add')
    await confirm(page)
    await fault(page, 'unsure').waitFor()
    await page.locator('.account-list tbody tr', { hasText: username }).waitFor()
    t.equal(await page.inputValue('#account-username'), username, 'what was typed stays')
  })

  t.test('an account that another administrator has removed leaves the list', async t => {
    const { page, account } = await openAbout(t, 'Remove account')
    await administer('sys/account/remove', { id: account.id })
    await confirm(page)
    await page.locator('.account-list .empty').waitFor()
    t.match(await page.locator('dialog .fault').textContent(), 'No such account')
  })

  t.test('a key that was made stands behind its dialog', async t => {
    const { page } = await openOwn(t)
    await page.click('[data-key=add-key]')
    await page.fill('#key-name', 'nightly')
    await page.fill('#current-password', PASSWORD)
    await loseAnswer(page, '**/b/account/keys/add')
    await confirm(page)
    await fault(page, 'unsure').waitFor()
    await page.locator('.own-keys tbody tr', { hasText: 'nightly' }).waitFor()
    t.equal(await page.locator('.own-keys tbody tr').count(), 1)
  })

  t.test('a key that was revoked leaves the list', async t => {
    const { page, username } = await openOwn(t)
    await page.click('[data-key=add-key]')
    await page.fill('#key-name', username)
    await page.fill('#current-password', PASSWORD)
    await confirm(page)
    await page.check('dialog #is-kept')
    await confirm(page)
    await page.locator('.own-keys tbody .danger').click()
    await loseAnswer(page, '**/b/account/keys/revoke')
    await confirm(page)
    await fault(page, 'unsure').waitFor()
    await page.locator('.own-keys .empty').waitFor()
  })

  t.test('a login id that was enabled is shown as such, and leaves the list of those that are disabled', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await business.disable(user, 600)
    await arrive(fixture, visitor, ['sys:session:*'])
    await page.click('[data-key=disabled-ids]')
    await loseAnswer(page, '**/untie-disable')
    await page.click(`[data-key="enable ${user}"]`)
    await page.locator(`[data-key="enable ${user}"]`).waitFor({ state: 'detached' })
    t.equal(await page.textContent('#notice'), textOf('en', 'unsure'))
    await page.keyboard.press('Escape')
    await business.disable(user, 600)
    await page.click('[data-key=check-id]')
    await page.fill('#login-id', user)
    await page.keyboard.press('Enter')
    await loseAnswer(page, '**/untie-disable')
    await page.click('dialog [data-key=enable]')
    await page.locator('.disable-state', { hasText: textOf('en', 'not_disabled') }).waitFor()
    t.equal(await page.textContent('#notice'), textOf('en', 'unsure'))
  })

  t.test(
    'where a user is disabled and the end of the sessions is lost, both are said, and the end is repeated alone',
    async t => {
      const visitor = await visit(t)
      const { page } = visitor
      const { user, tokens } = await searchNewUser(fixture, visitor)
      const sent: string[] = []
      page.on('request', request => request.method() === 'POST' && sent.push(request.url().split('/').at(-1)!))
      await holdRefreshOnceLoaded(page)
      await page.route('**/sys/session/exit', route => route.abort(), { times: 1 })
      await page.focus(`[data-key="disable ${user}"]`)
      await page.keyboard.press('Enter')
      await confirm(page)
      await fault(page, 'end_unconfirmed').waitFor()
      const done = textOf('en', 'disabled_done', { user, time: '1 h' })
      t.equal(await page.locator('dialog', { hasText: done }).count(), 1)
      t.same([await business.isDisable(user), await isLive(fixture, tokens[0]!)], [true, true])
      t.same(await obstaclesEverywhere(page, 'disabled and not ended'), [])
      await confirm(page)
      await page.locator('#notice', { hasText: textOf('en', 'ended_all', { user }) }).waitFor()
      t.notOk(await isLive(fixture, tokens[0]!))
      t.same(sent, ['disable', 'exit', 'exit'])
      await row(page, user).waitFor({ state: 'detached' })
      // The focus is where the user was.
      await page.waitForFunction(() => document.activeElement?.closest('.user-list') !== null)
    },
  )

  t.test('who changes a password reads that the new one may be valid', async t => {
    const { page, username } = await openOwn(t)
    await page.click('[data-key=change-password]')
    await page.fill('#current-password', PASSWORD)
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await loseAnswer(page, '**/b/account/password')
    await confirm(page)
    await fault(page, 'unsure_password').waitFor()
    await signInAs(t, username, OWN_PASSWORD)
  })

  t.test('who turns a second factor on reads how to come by recovery codes, and sees that it is on', async t => {
    const { page } = await openOwn(t)
    await page.click('[data-key=set-up]')
    await page.fill('#current-password', PASSWORD)
    await confirm(page)
    const secret = await shownSecret(page)
    await page.fill('#code', codeAt(secret, fixture.now()))
    await loseAnswer(page, '**/b/account/second-factor/confirm')
    await confirm(page)
    await fault(page, 'unsure_factor').waitFor()
    await page.locator('[data-key=new-codes]').waitFor()
    await page.keyboard.press('Escape')
    await page.click('[data-key=new-codes]')
    await page.fill('#current-password', PASSWORD)
    await fillNextCode(page, secret)
    await confirm(page)
    await page.locator('.codes li').first().waitFor()
  })

  t.test('the same, in the steps of a sign-in', async t => {
    const { page } = await visit(t)
    const { username } = await add({ roles: ['guarded'], must_change_password: true })
    await sendSignIn(fixture, page, username, PASSWORD)
    const secret = await shownSecret(page)
    await page.fill('#code', codeAt(secret, fixture.now()))
    await loseAnswer(page, '**/login/second-factor')
    await page.click('button[type=submit]')
    await fault(page, 'unsure_factor').waitFor()
    await sendSignIn(fixture, page, username, PASSWORD)
    await fillNextCode(page, secret)
    await page.click('button[type=submit]')
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await loseAnswer(page, '**/login/password')
    await page.click('button[type=submit]')
    await fault(page, 'unsure_password').waitFor()
    await sendSignIn(fixture, page, username, OWN_PASSWORD)
    await fillNextCode(page, secret)
    await page.click('button[type=submit]')
    await page.waitForSelector('.chrome')
  })
})
