import { TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { fillIn, obstaclesEverywhere, sendSignIn, signIn, solve } from '../support/console.ts'
import { openFixture } from '../support/gateway-fixture.ts'

/*
 * The page as people live with it: an administrator adds an account, and its owner, with a telephone and in Chinese, keeps
 * it safe. Each reads the other's language in the end.
 */

const OWN_PASSWORD = 'an own password 7'

/** The code of an authenticator app, `steps` of 30 seconds from now. Each is worth once, and one step away is accepted. */
const codeOf = (secret: string, steps: -1 | 0 | 1): string =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const confirm = (page: Page) => page.click('dialog [type=submit]')

t.test(
  'an account is added, used for the first time, protected and administered',
  { skip: withoutBrowser },
  async t => {
    const visit = await openBrowser(t)
    const fixture = await openFixture({ config: { session_administration: true } })
    t.teardown(() => fixture.close())
    const desk = await visit(t)
    const phone = await visit(t, { locale: 'zh-CN', viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
    let generated = ''
    let secret = ''
    let recoveryCodes: string[] = []

    await t.test('an administrator adds an account, and its password is shown once', async t => {
      const { page } = desk
      await signIn(fixture, desk)
      await page.click('nav [data-key=accounts]')
      await page.waitForSelector('.account-list table')
      await page.click('[data-key=add]')
      await page.fill('#account-username', 'ann')
      await page.fill('#account-nickname', 'Ann')
      await page.fill('#account-roles', 'operator')
      t.same(await obstaclesEverywhere(page), [])
      await confirm(page)
      generated = (await page.locator('dialog .secret code').textContent()) ?? ''
      t.ok(generated.length >= 10)
      await page.keyboard.press('Escape')
      await page.locator('.account-list tr', { hasText: 'Must change it' }).waitFor()
      t.same(await obstaclesEverywhere(page), [])
    })

    await t.test('its owner signs in for the first time, and must choose another password', async t => {
      const { page } = phone
      await sendSignIn(fixture, page, 'ann', generated)
      await page.locator('h1', { hasText: '请设置新密码' }).waitFor()
      await page.fill('#new-password', 'ann')
      t.equal(await page.locator('.rules .unmet').count(), 3, 'too short, the user name, and not repeated')
      await page.fill('#new-password', generated)
      await page.locator('.rules .unmet', { hasText: '不能与当前密码相同' }).waitFor()
      await page.fill('#new-password', 'password123')
      await page.fill('#repeated', 'password123')
      await page.click('[type=submit]')
      await page.locator('.rules .unmet', { hasText: '不是常见密码' }).waitFor()
      t.same(await obstaclesEverywhere(page), [])
      await page.fill('#new-password', OWN_PASSWORD)
      await page.fill('#repeated', OWN_PASSWORD)
      await page.keyboard.press('Enter')
      await page.waitForSelector('.chrome')
    })

    await t.test('the owner sets up a second factor with an app, and gets recovery codes', async t => {
      const { page } = phone
      await page.click('nav [data-key=account]')
      await page.click('[data-key=set-up]')
      await page.fill('#current-password', 'wrong')
      await confirm(page)
      await page.locator('dialog .fault').waitFor()
      await page.fill('#current-password', OWN_PASSWORD)
      await confirm(page)
      await page.waitForSelector('.qr')
      t.ok(await page.evaluate(() => document.querySelector<HTMLImageElement>('.qr')!.naturalWidth > 100))
      secret = ((await page.locator('.secret').textContent()) ?? '').replaceAll(' ', '')
      t.same(await obstaclesEverywhere(page), [])
      await page.fill('#code', '000000')
      await confirm(page)
      await page.locator('dialog .fault').waitFor()
      await page.fill('#code', codeOf(secret, -1))
      await confirm(page)
      await page.waitForSelector('.codes')
      recoveryCodes = await page.locator('.codes code').allTextContents()
      t.equal(recoveryCodes.length, 10)
      await page.keyboard.press('Escape')
      t.ok(await page.isVisible('.codes'), 'what is shown once does not vanish by a slip')
      t.same(await obstaclesEverywhere(page), [])
      await page.emulateMedia({ media: 'print' })
      t.ok(await page.isVisible('.codes'))
      t.notOk(await page.isVisible('.top'), 'the codes are printed alone')
      await page.emulateMedia({ media: null })
      await page.check('#codes-kept')
      await confirm(page)
      await page.locator('.panel', { hasText: '剩余恢复码：10 个' }).waitFor()
    })

    await t.test('the next sign-in requires a code, and a lost phone is replaced by a recovery code', async t => {
      const { page } = phone
      await solve(fixture, page, () => press(page, '退出登录'))
      await fillIn(page, 'ann', OWN_PASSWORD)
      await page.click('[type=submit]')
      await page.locator('h1', { hasText: '两步验证' }).waitFor()
      t.same(await obstaclesEverywhere(page), [])
      await page.fill('#code', recoveryCodes[0]!.toLowerCase())
      await page.keyboard.press('Enter')
      await page.waitForSelector('.chrome')
      await page.click('nav [data-key=account]')
      await page.locator('.panel', { hasText: '剩余恢复码：9 个' }).waitFor()
    })

    await t.test('the owner ends the other sessions, and stays signed in', async t => {
      const { page } = phone
      const other = await fixture.gateway.sides.business.login(undefined, await idOf(page), { device_type: 'Firefox' })
      await page.reload()
      await page.click('[data-key=end-others]')
      await confirm(page)
      await page.locator('.own-sessions [data-key=end-others]').waitFor({ state: 'detached' })
      t.equal(await fixture.gateway.sides.business.getLoginIdByToken(other), '')
      t.same(await obstaclesEverywhere(page), [])
      await press(page, 'English')
      await page.locator('h2', { hasText: 'My sessions' }).waitFor()
      t.same(await obstaclesEverywhere(page), [])
    })

    await t.test('the administrator sees all of it in the journal', async t => {
      const { page } = desk
      const id = await idOf(phone.page)
      await page.click('nav [data-key=journal]')
      await page.waitForSelector('.journal-list table')
      t.same(await obstaclesEverywhere(page), [])
      await page.fill('#journal-login-id', id)
      await page.click('[data-key=apply]')
      await page.locator('.journal-list tbody tr', { hasText: 'Account added' }).waitFor()
      const seen = await page.locator('.journal-list .who').allTextContents()
      for (const event of ['Account added', 'Password changed', 'Second factor set up', 'Signed in', 'Signed out'])
        t.ok(seen.includes(event), event)
      await press(page, '中文')
      await page.locator('.journal-list .who', { hasText: '新增账号' }).waitFor()
      t.same(await obstaclesEverywhere(page), [])
      await page.goBack()
      await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#journal-login-id')?.value === '')
    })

    t.same([...desk.complaints, ...phone.complaints], [], 'nothing that the policy forbids, and no fault')
    t.same([...desk.strayed, ...phone.strayed], [])
  },
)

const idOf = async (page: Page): Promise<string> => (await page.locator('.facts dd code').first().textContent()) ?? ''
