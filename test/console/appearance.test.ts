import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { fillIn, search, signIn, solve } from '../support/console.ts'
import { ADMIN, someone } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { openConsole, row, searchNewUser } from './console-fixture.ts'

/* The page for administrators in both languages and themes, on a telephone, and without a mouse. */

t.test('the page for administrators can be read and used', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openConsole(t)
  const { business } = fixture.gateway.sides

  t.test('language and theme are those of the browser until the user chooses others', async t => {
    const { page } = await visit(t, { locale: 'zh-CN', colorScheme: 'dark' })
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.goto(`${fixture.url}/console/`)
    await page.locator('button[type=submit]', { hasText: '登录' }).waitFor()
    t.equal(await page.getAttribute('html', 'lang'), 'zh-CN')
    const dark = await ground()
    await page.selectOption('[data-key=theme]', 'light')
    const light = await ground()
    t.not(light, dark)
    await fillIn(page, 'ann', 'a password')
    await page.click('[data-key=language]')
    await page.locator('button[type=submit]', { hasText: 'Sign in' }).waitFor()
    t.equal(await page.inputValue('#username'), 'ann', 'what was typed stays')
    t.equal(await page.inputValue('#password'), 'a password')
    await page.reload()
    await page.locator('button[type=submit]', { hasText: 'Sign in' }).waitFor()
    t.not(await ground(), dark, 'both are remembered')
    await page.selectOption('[data-key=theme]', 'auto')
    t.equal(await ground(), dark)
    await page.emulateMedia({ media: 'print' })
    t.equal(await ground(), light, 'paper is light')
  })

  t.test('messages of the gateway are shown in the language of the page', async t => {
    const { page } = await visit(t, { locale: 'zh-CN' })
    await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
    await fillIn(page, ADMIN.username, 'wrong')
    await page.click('button[type=submit]')
    await page.locator('.fault', { hasText: '用户名或密码错误' }).waitFor()
    t.pass()
  })

  t.test('on a narrow telephone nothing is cut off, and at a desk a long address breaks no token', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const address = '2001:0db8:85a3:0000:0000:8a2e:0370:7334'
    await business.login(undefined, user, {
      username: user,
      login_ip: address,
      device_type: 'Chrome',
      device_id: 'A desk',
    })
    await signIn(fixture, visitor)
    await page.setViewportSize({ width: 360, height: 780 })
    await search(page, user)
    await row(page, user).waitFor()
    await page.waitForFunction(() => Number(document.querySelector('.plot svg')?.getAttribute('width')) < 340)
    const cut = await page.evaluate(() => {
      const boxOf = (selector: string) => document.querySelector(selector)!.getBoundingClientRect()
      const nav = document.querySelector('nav')!
      const labels = [...document.querySelectorAll('.plot .day text')].map(label => label.getBoundingClientRect().right)
      return [
        nav.scrollWidth > nav.clientWidth && 'the navigation',
        Math.max(...labels) > boxOf('.plot svg').right && 'the label of today',
        boxOf('.pages [data-key=previous]').top !== boxOf('.pages [data-key=next]').top && 'the buttons for pages',
        boxOf('.bar .sides').bottom < boxOf('.bar [data-key=pause]').top && 'the refresh',
      ].filter(fault => fault !== false)
    })
    t.same(cut, [])

    await page.setViewportSize({ width: 1280, height: 780 })
    await page.click(`[data-key="user ${user}"]`)
    const token = page.locator('.token-list tbody tr', { hasText: address })
    await token.waitFor()
    const height = await token.locator('.token code').evaluate(code => code.getBoundingClientRect().height)
    t.ok(height < 30, `one line, not ${height} pixels`)
    t.same(await obstaclesEverywhere(page, 'sessions of a user with a long address'), [])
  })

  t.test('the page can be used with the keyboard alone, and a refresh keeps the focus', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { user, tokens } = await searchNewUser(fixture, visitor)
    await row(page, user).waitFor()
    await page.focus('#keyword')
    const key = () => page.evaluate(() => document.activeElement?.getAttribute('data-key'))
    for (let tabs = 0; tabs < 20 && !(await key())?.startsWith('end '); tabs++) await page.keyboard.press('Tab')
    t.equal(await key(), `end ${user}`)
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle)
    t.equal(outline, 'solid', 'where the focus is can be seen')
    const before = await page.locator('.user-list table').elementHandle()
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await before!.waitForElementState('hidden')
    t.equal(await key(), `end ${user}`, 'the list was drawn anew')
    // A hidden page loads nothing: no refresh while the dialog is open.
    await page.evaluate(() => Object.defineProperty(document, 'hidden', { value: true, configurable: true }))

    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog[open]')
    for (let tabs = 0; tabs < 8; tabs++) {
      await page.keyboard.press('Tab')
      t.ok(
        await page.evaluate(
          () =>
            document.activeElement === document.body ||
            document.querySelector('dialog')!.contains(document.activeElement),
        ),
      )
    }
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    t.equal(await key(), `end ${user}`, 'the focus is back where it came from')
    await page.keyboard.press('Enter')
    await page.focus('dialog form .danger')
    await page.keyboard.press('Enter')
    await page.locator('.empty').waitFor()
    t.equal(await business.getLoginIdByToken(tokens[0]!), '')
  })

  t.test('nothing is wider than a phone, without a name, or hard to read, in both themes', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
    t.same(await obstaclesEverywhere(page, 'sign-in of administrators'), [])
    await fillIn(page, ADMIN.username, ADMIN.password)
    await page.click('button[type=submit]')
    await page.waitForSelector('.user-list table')
    t.same(await obstaclesEverywhere(page, 'sessions'), [])
    await page.click('.user-list .link >> nth=0')
    await page.waitForSelector('.token-list table')
    t.same(await obstaclesEverywhere(page, 'sessions of a user'), [])
  })
})
