import type { Test } from 'tap'
import { codeAt, wrongCode, wrongCodes } from '../second-factor/factor-fixture.ts'
import {
  bring,
  choose,
  confirm,
  fillIn,
  keep,
  obstaclesEverywhere,
  openPage,
  sendSignIn,
  solve,
} from '../support/console.ts'
import { type AccountsFixture, isLive, OWN_PASSWORD, PASSWORD, pagesOf, shownSecret } from './accounts-fixture.ts'
import { textOf } from './texts.ts'

/** The required steps of a login, and what users do with their own factor. */
export function factorSteps(t: Test, { visit, fixture, administer, add, fillNextCode }: AccountsFixture): void {
  t.test('a required second factor is set up in the login, before a required password', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { username } = await add({ roles: ['guarded'], must_change_password: true })
    await sendSignIn(fixture, page, username, PASSWORD)
    await page.locator('h1', { hasText: 'Set up a second factor' }).waitFor()
    await page.waitForSelector('.qr')
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>('.qr')!.naturalWidth > 100)
    const secret = await shownSecret(page)
    t.match(secret, /^[A-Z2-7]{32}$/)
    const uri = (await page.getAttribute('.on-phone a', 'href'))!
    t.match(uri, `otpauth://totp/dualgate:${username}?`)
    t.match(uri, `secret=${secret}`)
    t.same(await obstaclesEverywhere(page, 'required set-up'), [])
    await page.fill('#code', wrongCode(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.locator('.fault', { hasText: 'Wrong code' }).waitFor()
    t.equal(await page.inputValue('#code'), '')
    t.equal(await page.evaluate(() => document.activeElement?.id), 'code')
    t.equal(await shownSecret(page), secret, 'the same secret')

    await page.fill('#code', codeAt(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: 'Your recovery codes' }).waitFor()
    t.equal(new Set(await page.locator('.codes code').allTextContents()).size, 10)
    t.same(await obstaclesEverywhere(page, 'required recovery codes'), [])
    await page.click('[type=submit]')
    t.ok(await page.isVisible('.codes'), 'not before they are kept')
    await page.check('#is-kept')
    await page.click('[type=submit]')

    await page.locator('h1', { hasText: 'Choose a new password' }).waitFor()
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')
    t.same(await pagesOf(page), ['My account'])
    t.equal(await page.locator('[data-key=state]').textContent(), 'On')
    t.equal(await page.locator('[data-key=remove]').count(), 0, 'what is required cannot be removed')
    await page.reload()
    await page.locator('.panel', { hasText: 'Recovery codes left: 10' }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('after a reset of the password, the login asks for the factor and then for a new password', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add({ roles: ['guarded'] })
    await sendSignIn(fixture, page, account.username, PASSWORD)
    const secret = await shownSecret(page)
    const code = codeAt(secret, fixture.now())
    await page.fill('#code', code)
    await page.keyboard.press('Enter')
    await page.check('#is-kept')
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')

    const reset = await administer('sys/account/reset-password', { id: account.id })
    await solve(fixture, page, () => page.reload())
    await page.locator('.fault', { hasText: 'Your session has ended' }).waitFor()
    await fillIn(page, account.username, reset.data.password)
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: /^Second factor$/ }).waitFor()
    // It was used at the set-up.
    await page.fill('#code', code)
    await page.keyboard.press('Enter')
    await page.locator('.fault', { hasText: 'Wrong code' }).waitFor()
    await fillNextCode(page, secret)
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: 'Choose a new password' }).waitFor()
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')
    t.equal(await page.locator('[data-key=state]').textContent(), 'On')
    t.same(visitor.complaints, [])
  })

  t.test('wrong codes before a sign-in are reported after it, until they are seen, and in the own account', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { username } = await add({ roles: ['guarded'], permissions: ['sys:session:page'] })
    await sendSignIn(fixture, page, username, PASSWORD)
    const secret = await shownSecret(page)
    await page.fill('#code', codeAt(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.check('#is-kept')
    await page.click('[type=submit]')
    await page.waitForSelector('.user-list table')
    t.equal(await page.locator('.advice').count(), 0)

    const notice = page.locator('.above-page')
    const signInAfter = async (wrong: number) => {
      await solve(fixture, page, () => page.click('[data-key=sign-out]'))
      await fillIn(page, username, PASSWORD)
      await page.keyboard.press('Enter')
      for (const code of wrongCodes(secret, fixture.now(), wrong)) {
        await page.fill('#code', code)
        await page.keyboard.press('Enter')
        // The fault of the code before may still be shown: a refused code is removed.
        await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#code')?.value === '')
        await page.locator('.fault', { hasText: 'Wrong code' }).waitFor()
      }
      await fillNextCode(page, secret)
      await page.keyboard.press('Enter')
      await page.waitForSelector('.user-list table')
    }
    await signInAfter(2)
    await notice.filter({ hasText: textOf('en', 'wrong_codes', { n: 2 }) }).waitFor()
    t.same(await obstaclesEverywhere(page, 'wrong codes'), [])
    await choose(page, 'zh')
    await notice.filter({ hasText: textOf('zh', 'wrong_codes', { n: 2 }) }).waitFor()
    t.same(await obstaclesEverywhere(page, 'wrong codes'), [])
    await choose(page, 'en')
    await page.click('[data-key=seen]')
    t.equal(await notice.count(), 0)
    await openPage(page, 'account')
    await page.locator('[data-key=wrong-codes]', { hasText: textOf('en', 'wrong_codes', { n: 2 }) }).waitFor()
    t.same(await obstaclesEverywhere(page, 'wrong codes in the own account'), [])

    await openPage(page, 'sessions')
    await signInAfter(1)
    await notice.filter({ hasText: textOf('en', 'wrong_codes', { n: 1 }) }).waitFor()
    await page.click('[data-key=to-account]')
    await page.locator('[data-key=wrong-codes]').waitFor()
    t.equal(await notice.count(), 0, 'it stands once')
    await openPage(page, 'sessions')
    await page.waitForSelector('.user-list table')
    t.equal(await notice.count(), 0, 'it has been seen')
    await signInAfter(0)
    t.equal(await page.locator('.advice').count(), 0)
    t.same(visitor.complaints, [])
  })

  t.test('what was typed in a step stays when its user chooses the other language', async t => {
    const { page } = await visit(t)
    const { username } = await add({ roles: ['guarded'], must_change_password: true })
    await sendSignIn(fixture, page, username, PASSWORD)
    const secret = await shownSecret(page)
    await page.fill('#code', codeAt(secret, fixture.now()))
    await choose(page, 'zh')
    await page.locator('h1', { hasText: textOf('zh', 'step_setup') }).waitFor()
    await page.locator('.field label', { hasText: textOf('zh', 'code') }).waitFor()
    await page.click('[type=submit]')
    await page.check('#is-kept')
    await page.click('[type=submit]')
    await page.locator('h1', { hasText: textOf('zh', 'step_password') }).waitFor()
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await page.check('#show-password')
    await choose(page, 'en')
    await page.locator('.rules .met', { hasText: textOf('en', 'rule_min_length', { min_length: 10 }) }).waitFor()
    t.equal(await page.inputValue('#repeated'), OWN_PASSWORD)
    t.ok(await page.isChecked('#show-password'))
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')

    await solve(fixture, page, () => page.click('[data-key=sign-out]'))
    await fillIn(page, username, OWN_PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: textOf('en', 'step_second_factor') }).waitFor()
    await fillNextCode(page, secret)
    await choose(page, 'zh')
    await page.locator('h1', { hasText: textOf('zh', 'step_second_factor') }).waitFor()
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')
    t.equal(await page.getAttribute('html', 'lang'), 'zh-CN')
  })

  t.test('a step that takes too long leads back to the sign-in', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { username } = await add({ roles: ['guarded'] })
    await sendSignIn(fixture, page, username, PASSWORD)
    const secret = await shownSecret(page)
    await fixture.elapse(300_000)
    await page.fill('#code', codeAt(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.locator('.fault', { hasText: 'sign in again' }).waitFor()
    await page.getByRole('button', { name: 'Back to the sign-in' }).click()
    t.equal(await page.inputValue('#username'), username)
    t.equal(await page.inputValue('#password'), '')
  })

  t.test('the own factor is set up, replaced and removed, and its recovery codes are renewed', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add({ permissions: ['orders:read'] })
    await bring(fixture, visitor, await fixture.signIn(account.username, PASSWORD))
    const other = await fixture.signIn(account.username, PASSWORD)
    const keepCodes = async (): Promise<string[]> => {
      await page.waitForSelector('.codes')
      const codes = await page.locator('.codes code').allTextContents()
      await keep(page)
      return codes
    }
    const enrol = async (): Promise<string> => {
      await page.waitForSelector('.qr')
      const secret = await shownSecret(page)
      await fillNextCode(page, secret)
      await confirm(page)
      return secret
    }

    await page.click('[data-key=set-up]')
    await page.fill('#current-password', PASSWORD)
    await confirm(page)
    const first = await enrol()
    const codes = await keepCodes()
    await page.locator('.panel', { hasText: 'Recovery codes left: 10' }).waitFor()
    t.ok(await isLive(fixture, other), 'it takes no rights away')

    await page.click('[data-key=new-codes]')
    await page.fill('#current-password', PASSWORD)
    await page.fill('#code', wrongCode(first, fixture.now()))
    await confirm(page)
    await page.locator('dialog .fault', { hasText: 'Wrong code' }).waitFor()
    await fillNextCode(page, first)
    await confirm(page)
    const renewed = await keepCodes()
    t.notOk(renewed.some(code => codes.includes(code)))

    await page.click('[data-key=replace]')
    await page.fill('#current-password', PASSWORD)
    await page.fill('#code', codes[0]!)
    await confirm(page)
    await page.locator('dialog .fault', { hasText: 'Wrong code' }).waitFor()
    await page.fill('#code', renewed[0]!)
    t.same(await obstaclesEverywhere(page, 'replace the factor'), [])
    await confirm(page)
    const second = await enrol()
    t.not(second, first)
    await keepCodes()
    t.notOk(await isLive(fixture, other), 'who held the old app is out')

    await page.click('[data-key=remove]')
    await page.fill('#current-password', PASSWORD)
    await fillNextCode(page, first)
    await confirm(page)
    await page.locator('dialog .fault', { hasText: 'Wrong code' }).waitFor()
    await fillNextCode(page, second)
    await confirm(page)
    await page.locator('#notice', { hasText: 'The second factor is removed.' }).waitFor()
    await page.waitForSelector('[data-key=set-up]')
    t.same(visitor.complaints, [])
  })
}
