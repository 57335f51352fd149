import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { codeAt, wrongCode } from '../second-factor/factor-fixture.ts'
import { openBrowser, type Visitor, withoutBrowser } from '../support/browser.ts'
import { choose, confirm, fillIn, keep, openPage, sendSignIn, signIn, solve } from '../support/console.ts'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { until } from '../support/until.ts'
import { type Language, textOf } from './texts.ts'

/*
 * The page as people live with it: an administrator adds an account, and its owner, with a telephone and in another
 * language, keeps it safe.
 */

const OWN_PASSWORD = 'an own password 7'

interface Walk {
  fixture: Fixture
  desk: Visitor
  phone: Visitor
  /** The new account. */
  username: string
  /** The texts that the administrator and the owner of the account read. */
  onDesk: (name: string, values?: Record<string, string | number>) => string
  onPhone: (name: string, values?: Record<string, string | number>) => string
}

t.test('the life of an account, in both languages', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t, { config: { session_administration: true } })
  const [desk, phone] = [await visit(t), await visit(t)]
  await phone.page.setViewportSize({ width: 390, height: 844 })
  await signIn(fixture, desk)
  for (const [username, deskLanguage, phoneLanguage] of [
    ['ann', 'en', 'zh'],
    ['bob', 'zh', 'en'],
  ] as [string, Language, Language][]) {
    await t.test(`an administrator reads ${deskLanguage}, the new user ${phoneLanguage}`, async t => {
      await choose(desk.page, deskLanguage)
      await phone.page.goto(`${fixture.url}/console/`)
      await phone.page.waitForSelector('.sign-in')
      await choose(phone.page, phoneLanguage)
      const onDesk: Walk['onDesk'] = (name, values) => textOf(deskLanguage, name, values)
      const onPhone: Walk['onPhone'] = (name, values) => textOf(phoneLanguage, name, values)
      await walk(t, { fixture, desk, phone, username, onDesk, onPhone })
    })
  }
  t.same([...desk.complaints, ...phone.complaints], [], 'nothing that the policy forbids, and no fault')
  t.same([...desk.strayed, ...phone.strayed], [])
})

async function walk(t: Test, walk: Walk): Promise<void> {
  const generated = await addAccount(t, walk)
  await firstSignIn(t, walk, generated)
  const recoveryCodes = await setUpFactor(t, walk)
  await loseThePhone(t, walk, recoveryCodes)
  await endOthers(t, walk)
  await readJournal(t, walk)
}

/** What a screen reader finds in the page. */
async function spokenOf(page: Page): Promise<unknown[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes.flatMap(({ ignored, name }) => (ignored ? [] : [name?.value]))
}

async function addAccount(t: Test, { desk: { page }, username, onDesk }: Walk): Promise<string> {
  let generated = ''
  await t.test('an administrator adds an account, and its password is shown once', async t => {
    await openPage(page, 'accounts')
    await page.waitForSelector('.account-list table')
    await page.click('[data-key=add]')
    await page.fill('#account-username', username)
    await page.fill('#account-nickname', `N ${username}`)
    await page.check('[data-key="role operator"]')
    t.same(await obstaclesEverywhere(page, 'add account'), [])
    await confirm(page)
    generated = (await page.locator('dialog .secret code').textContent()) ?? ''
    t.ok(generated.length >= 10)
    // The message about an action is above the dialog that it opens.
    await page.locator('#notice:popover-open', { hasText: onDesk('account_added', { user: username }) }).waitFor()
    await until(async () => (await spokenOf(page)).includes(onDesk('account_added', { user: username })))
    t.same(await obstaclesEverywhere(page, 'generated password'), [])
    // The browser closes a dialog at the second Escape, unless the page prevents that.
    await page.click('dialog .secret')
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
    t.equal(await page.locator('dialog .close').count(), 0)
    await confirm(page)
    t.ok(await page.isVisible('dialog .secret'), 'it stays until the administrator confirms that it is kept')
    await keep(page)
    await page
      .locator('.account-list tr', { hasText: username })
      .filter({ hasText: onDesk('must_change') })
      .waitFor()
    t.same(await obstaclesEverywhere(page, 'accounts'), [])
    t.notOk((await page.textContent('body'))?.includes(generated))
  })
  return generated
}

async function firstSignIn(t: Test, { fixture, phone: { page }, username, onPhone }: Walk, generated: string) {
  await t.test('its owner signs in for the first time, and must choose another password', async t => {
    await sendSignIn(fixture, page, username, generated)
    await page.locator('h1', { hasText: onPhone('step_password') }).waitFor()
    await page.fill('#new-password', username)
    t.equal(await page.locator('.rules .unmet').count(), 3, 'too short, the user name, and not repeated')
    await page.fill('#new-password', generated)
    await page.locator('.rules .unmet', { hasText: onPhone('rule_same') }).waitFor()
    await page.fill('#new-password', 'password123')
    await page.fill('#repeated', 'password123')
    await page.click('[type=submit]')
    await page.locator('.rules .unmet', { hasText: onPhone('rule_common') }).waitFor()
    t.same(await obstaclesEverywhere(page, 'required password'), [])
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.chrome')
  })
}

async function setUpFactor(t: Test, { fixture, phone: { page }, onPhone }: Walk): Promise<string[]> {
  let recoveryCodes: string[] = []
  await t.test('the owner sets up a second factor with an app, and gets recovery codes', async t => {
    await openPage(page, 'account')
    await page.click('[data-key=set-up]')
    await page.fill('#current-password', 'wrong')
    await confirm(page)
    await page.locator('dialog .fault').waitFor()
    await page.fill('#current-password', OWN_PASSWORD)
    await confirm(page)
    await page.waitForSelector('.qr')
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>('.qr')!.naturalWidth > 100)
    const secret = ((await page.locator('.secret').textContent()) ?? '').replaceAll(' ', '')
    t.same(await obstaclesEverywhere(page, 'scan'), [])
    await page.fill('#code', wrongCode(secret, fixture.now()))
    await confirm(page)
    await page.locator('dialog .fault').waitFor()
    await page.fill('#code', codeAt(secret, fixture.now()))
    await confirm(page)
    await page.waitForSelector('.codes')
    recoveryCodes = await page.locator('.codes code').allTextContents()
    t.equal(recoveryCodes.length, 10)
    await page.keyboard.press('Escape')
    t.ok(await page.isVisible('.codes'), 'what is shown once does not vanish by a slip')
    t.same(await obstaclesEverywhere(page, 'recovery codes'), [])
    await page.emulateMedia({ media: 'print' })
    t.ok(await page.isVisible('.codes'))
    t.notOk(await page.isVisible('.top'), 'the codes are printed alone')
    t.notOk(await page.isVisible('#notice'), 'without the last message')
    await page.emulateMedia({ media: null })
    await keep(page)
    await page.locator('.panel', { hasText: onPhone('codes_left', { n: 10 }) }).waitFor()
  })
  return recoveryCodes
}

async function loseThePhone(t: Test, walk: Walk, recoveryCodes: string[]) {
  const { fixture, username, onPhone } = walk
  const { page } = walk.phone
  await t.test('the next sign-in requires a code, and a lost phone is replaced by a recovery code', async t => {
    await solve(fixture, page, () => page.click('[data-key=sign-out]'))
    await fillIn(page, username, OWN_PASSWORD)
    t.same(await obstaclesEverywhere(page, 'sign-in'), [])
    await page.click('[type=submit]')
    await page.locator('h1', { hasText: onPhone('step_second_factor') }).waitFor()
    t.same(await obstaclesEverywhere(page, 'second factor'), [])
    await page.fill('#code', recoveryCodes[0]!.toLowerCase())
    await page.keyboard.press('Enter')
    await page.waitForSelector('.chrome')
    await openPage(page, 'account')
    await page.locator('.panel', { hasText: onPhone('codes_left', { n: 9 }) }).waitFor()
  })
}

async function endOthers(t: Test, { fixture, phone: { page } }: Walk) {
  const { business } = fixture.gateway.sides
  await t.test('the owner ends the other sessions, and stays signed in', async t => {
    const other = await business.login(undefined, await idOf(page), { device_type: 'Firefox' })
    await page.reload()
    await page.waitForSelector('[data-key=end-others]')
    t.same(await obstaclesEverywhere(page, 'my account'), [])
    await page.click('[data-key=end-others]')
    await confirm(page)
    await page.locator('.own-sessions [data-key=end-others]').waitFor({ state: 'detached' })
    t.equal(await business.getLoginIdByToken(other), '')
    t.equal(await page.locator('.own-sessions tbody tr').count(), 1)
  })
}

async function readJournal(t: Test, { fixture, desk, phone, onDesk }: Walk) {
  const { page } = desk
  await t.test('the administrator sees all of it in the journal', async t => {
    const id = await idOf(phone.page)
    await solve(fixture, phone.page, () => phone.page.click('[data-key=sign-out]'))
    await openPage(page, 'journal')
    await page.waitForSelector('.journal-list table')
    t.same(await obstaclesEverywhere(page, 'journal'), [])
    await page.fill('#journal-login-id', id)
    const filtered = page.waitForResponse(response => response.url().includes(`/journal/page?login_id=${id}`))
    await page.click('[data-key=apply]')
    await filtered
    const entries = page.locator('.journal-list tbody tr')
    await entries.filter({ hasText: onDesk('event_account-added') }).waitFor()
    const seen = await page.locator('.journal-list .who').allTextContents()
    for (const event of ['account-added', 'password-changed', 'second-factor-on', 'login', 'logout', 'kickout']) {
      t.ok(seen.includes(onDesk(`event_${event}`)), event)
    }
    const doneBy = await page.locator('.journal-list tbody td:nth-child(4)').allTextContents()
    const others = [onDesk('by_operations'), 'Admin1']
    t.same(
      doneBy.filter(by => by !== onDesk('by_user')),
      others,
      'all but the login of a backend and the addition are by the user',
    )
    await page.click('.journal-list .link >> nth=0')
    t.same(await obstaclesEverywhere(page, 'journal entry'), [])
    await page.keyboard.press('Escape')
    await page.goBack()
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#journal-login-id')?.value === '')
  })
}

const idOf = async (page: Page): Promise<string> => (await page.locator('.facts dd code').first().textContent()) ?? ''
