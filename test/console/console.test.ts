import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import {
  arrive,
  fillIn,
  holdRefresh,
  holdRefreshOnceLoaded,
  obstaclesEverywhere,
  search,
  sendSignIn,
  signIn,
  solve,
} from '../support/console.ts'
import { ADMIN, type Fixture, type FixtureOptions, openFixture, someone } from '../support/gateway-fixture.ts'
import { inOneDay, until } from '../support/until.ts'
import { textOf } from './texts.ts'

/* The page for administrators, as its users see it. */

const rows = (page: Page) => page.locator('.user-list tbody tr')
const row = (page: Page, text: string) => rows(page).filter({ hasText: text })

const open = (t: Test, options: FixtureOptions = {}): Promise<Fixture> =>
  openFixture(t, { ...options, config: { session_administration: true, ...options.config } })

t.test('the page for administrators', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await open(t)
  const { business, consumer } = fixture.gateway.sides

  t.test('a wrong captcha and a wrong password are reported, and a new picture is shown', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
    await fillIn(page, ADMIN.username, 'wrong')
    await solve(fixture, page, async () => {
      await page.click('button[type=submit]')
      await page.locator('.fault', { hasText: 'Wrong username or password' }).waitFor()
    })
    t.equal(await page.inputValue('#password'), 'wrong', 'what was typed stays')
    await page.fill('#captcha', '????')
    await solve(fixture, page, async () => {
      await page.click('button[type=submit]')
      await page.locator('.fault', { hasText: 'Wrong captcha' }).waitFor()
    })
    await solve(fixture, page, () => page.click('.captcha'))
    await page.fill('#password', ADMIN.password)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.user-list table')
    t.same(visitor.complaints, [], 'nothing that the policy forbids, and no fault')
    t.same(visitor.strayed, [])
  })

  t.test('the list shows the online users of both sides, with search and pages', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const mark = someone()
    for (let i = 0; i < 12; i++) await business.login(undefined, `${mark}-${i}`, { username: `${mark}-name-${i}` })
    const markup = '<img src=x onerror=alert(1)>'
    await consumer.login(undefined, `${mark}-c`, { nickname: `${markup}${mark}` })
    await signIn(fixture, visitor)
    await search(page, `${mark}-NAME`)
    await page.locator('.users header', { hasText: '12 found' }).waitFor()
    t.equal(await rows(page).count(), 10)
    await page.click('[data-key=next]')
    await page.locator('.pages', { hasText: 'Page 2 of 2' }).waitFor()
    t.equal(await rows(page).count(), 2)
    await page.selectOption('#rows', '20')
    await page.locator('.pages', { hasText: 'Page 1 of 1' }).waitFor()
    t.equal(await rows(page).count(), 12)

    await page.click('.sides .CONSUMER')
    await page.locator('.empty', { hasText: `${mark}-NAME` }).waitFor()
    await search(page, mark)
    await row(page, `${mark}-c`).waitFor()
    t.match(await rows(page).textContent(), markup, 'what users call themselves is text')
    t.equal(await page.locator('.user-list img').count(), 0)
    t.match(page.url(), /#consumer$/, 'a reload stays on the side')
    t.same(visitor.complaints, [])
  })

  t.test('what is typed right behind a change of the side reaches the search', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await consumer.login(undefined, user, { username: user })
    await signIn(fixture, visitor)
    await page.evaluate(() => {
      document.querySelector<HTMLElement>('.sides .CONSUMER')!.click()
      document.querySelector<HTMLElement>('#keyword')!.focus()
    })
    await page.keyboard.type(user)
    t.equal(await page.inputValue('#keyword'), user)
    t.match(page.url(), /#consumer$/)
    await page.goBack()
    await page.locator('.sides .BUSINESS[aria-pressed=true]').waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('a session, and all sessions of a user, end after a confirmation', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const first = await business.login(undefined, user, { username: user, device_type: 'Firefox' })
    await business.login(undefined, user, { username: user, device_type: 'Chrome' })
    await signIn(fixture, visitor)
    await search(page, user)
    await row(page, user).locator('.link').click()
    const token = page.locator('.token-list tbody tr', { hasText: 'Firefox' })
    await token.locator('.danger').click()
    await page.keyboard.press('Escape')
    t.equal(await business.getLoginIdByToken(first), user, 'who thinks better of it changes nothing')
    await token.locator('.danger').click()
    await page.click('dialog form .danger')
    await token.waitFor({ state: 'detached' })
    t.equal(await business.getLoginIdByToken(first), '')
    t.equal(await page.locator('.token-list tbody tr').count(), 1)
    await page.keyboard.press('Escape')

    await row(page, user).locator('.danger').click()
    await page.click('dialog form .danger')
    await page.locator('#notice', { hasText: `Every session of ${user} was ended.` }).waitFor()
    await page.locator('.empty').waitFor()
    t.same((await business.getTokenValuesByLoginId?.(user)) ?? [], [])
    t.same(visitor.complaints, [])
  })

  t.test('an action that fails after its dialog was closed says so', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const token = await business.login(undefined, user, { username: user })
    await arrive(fixture, visitor, ['sys:session:*'])
    await search(page, user)
    await row(page, user).locator('.danger').click()
    const held: Route[] = []
    await page.route('**/session/exit', route => void held.push(route))
    await page.click('dialog form .danger')
    await until(() => held.length > 0)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await held[0]!.fulfill({ status: 503, json: { code: 503, message: 'Service unavailable', success: false } })
    await page.locator('#notice.shown', { hasText: 'Service unavailable' }).waitFor()
    t.equal(await business.getLoginIdByToken(token), user)
  })

  t.test('a login id is disabled for a time, and can be enabled again while it is offline', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await consumer.login(undefined, user, { username: user })
    await signIn(fixture, visitor)
    await page.click('.sides .CONSUMER')
    await search(page, user)
    await row(page, user).getByRole('button', { name: 'Disable' }).click()
    await page.selectOption('#disable-time', { label: '1 d' })
    await page.click('dialog form .danger')
    await page.locator('.empty').waitFor()
    t.equal(await consumer.isDisable(user), true)
    t.equal(await consumer.login(undefined, user).catch(({ reason }) => reason), 'DISABLED')

    await page.click('.empty button')
    await page.locator('.login-id-state', { hasText: /Disabled, (1 d|23 h).* left/ }).waitFor()
    await page.click('[data-key=enable]')
    await page.locator('.login-id-state', { hasText: 'Not disabled' }).waitFor()
    t.equal(await consumer.isDisable(user), false)
    t.same(visitor.complaints, [])
  })

  t.test('disabled login ids are listed, page by page, with what the journal says, and enabled there', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const users = Array.from({ length: 12 }, (_, i) => `${someone()}-${i}`)
    for (const [i, user] of users.entries()) await consumer.disable(user, 600 + i * 3600)
    await signIn(fixture, visitor)
    await page.click('.sides .CONSUMER')
    await page.click('[data-key=disabled-ids]')
    const dialog = page.locator('dialog')
    const ids = () => dialog.locator('tbody .who').allTextContents()
    await dialog.locator('.pages', { hasText: 'Page 1 of 2' }).waitFor()
    t.same(await ids(), users.slice(0, 10))
    t.match(await dialog.locator('tbody tr >> nth=1').textContent(), /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(1 h|59 min)/)
    t.same(await obstaclesEverywhere(page, 'disabled login ids'), [])
    await dialog.locator('[data-key=next]').click()
    await dialog.locator('.pages', { hasText: 'Page 2 of 2' }).waitFor()
    t.same(await ids(), users.slice(10))

    for (const user of users.slice(10)) {
      await dialog.locator(`[data-key="enable ${user}"]`).click()
      await page.locator('#notice', { hasText: `${user} can sign in again.` }).waitFor()
      t.equal(await consumer.isDisable(user), false)
    }
    await dialog.locator('.pages', { hasText: 'Page 1 of 1' }).waitFor()
    t.same(await ids(), users.slice(0, 10), 'the page before, once this one is empty')
    await dialog.locator('tr', { hasText: users[3]! }).locator('a').click()
    const entries = page.locator('.journal-list tbody tr')
    await entries.filter({ hasText: users[3]! }).waitFor()
    t.equal(await entries.count(), 1)
    t.match(await entries.textContent(), 'Disabled')
    t.equal(await dialog.count(), 0)
    t.same(visitor.complaints, [])
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

  t.test('the numbers and charts show the values of the endpoints', async t => {
    await inOneDay()
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await page.waitForSelector('.plot svg')
    const analysis = (await fixture.get('/api/v1/sys/session/analysis', await fixture.signIn())).json().data
    const cards = await page.locator('.card').allTextContents()
    t.equal(cards.length, 5)
    t.ok(
      cards.some(card => card === `Users online${analysis.online_user_count}`),
      cards.join(),
    )
    t.equal(await page.locator('.plot .day').count(), 7)
    t.ok(Number(await page.locator('.plot .day:last-child .bar.BUSINESS').getAttribute('height')) > 0)
    const spoken = page.locator('table', { hasText: 'Logins per day' }).locator('tbody tr')
    t.equal(await spoken.count(), 7, 'a table says it to who does not see the chart')
    t.equal(await page.locator('.ring .arc.BUSINESS').count(), 1)
    t.match(await page.locator('.ring .sum').textContent(), /^\d+$/)
  })

  t.test('the page refreshes every few seconds, except while it is hidden or paused', async t => {
    // The clock belongs to the context.
    const visitor = await visit(t, {})
    const { page } = visitor
    await page.clock.install()
    await arrive(fixture, visitor, ['sys:session:page'])
    const user = someone()
    await search(page, user)
    await page.locator('.empty').waitFor()
    const token = await business.login(undefined, user, { username: user })
    await page.clock.runFor(11_000)
    await row(page, user).waitFor()

    await page.click('[data-key=pause]')
    await page.locator('.refresh', { hasText: 'paused' }).waitFor()
    let asked = 0
    page.on('request', () => asked++)
    await page.clock.runFor(60_000)
    t.equal(asked, 0)
    const resumed = page.waitForResponse(/\/page\?/)
    await page.click('[data-key=pause]')
    await resumed

    const hide = (hidden: boolean) =>
      page.evaluate(value => {
        Object.defineProperty(document, 'hidden', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    await hide(true)
    await page.waitForLoadState('networkidle')
    asked = 0
    await page.clock.runFor(60_000)
    t.equal(asked, 0)
    await business.kickoutToken(user, token)
    await hide(false)
    await row(page, user).waitFor({ state: 'detached' })
  })

  t.test('beside a side that cannot be loaded stands nothing of the other side, and nothing that loads', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await page.waitForSelector('.cards')
    const calls = '**/client/session/**'
    await page.route(calls, route => route.abort())
    await page.click('.sides .CONSUMER')
    await page.locator('.trouble', { hasText: 'The gateway does not answer.' }).waitFor()
    t.equal(await page.textContent('.refresh'), '')
    t.equal(await page.textContent('.user-list'), '')
    t.equal(await page.locator('.cards').count(), 0)
    await holdRefresh(page)
    await page.unroute(calls)
    await page.click('.trouble [data-key=retry]')
    await page.locator('.refresh', { hasText: /^Updated / }).waitFor()
    t.equal(await page.locator('.cards').count(), 1)
    t.match(await page.textContent('.user-list'), /./)
  })

  t.test('an ended session leads back to the sign-in, with the reason', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await arrive(fixture, visitor, ['sys:session:page'], user)
    await holdRefreshOnceLoaded(page)
    await business.kickout(user)
    await page.click('.sides .CONSUMER')
    await page.locator('.fault', { hasText: 'Your session has ended. Sign in again.' }).waitFor()
    t.equal(await page.evaluate(() => sessionStorage.getItem('dualgate.token')), null)
  })

  t.test('an answer to the page that arrives during its sign-out shows no other sign-in', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await arrive(fixture, visitor, ['sys:session:page'])
    await page.waitForSelector('.user-list table')
    const held: Route[] = []
    await page.route('**/session/page*', route => void held.push(route))
    await page.fill('#keyword', 'x')
    await until(() => held.length > 0)
    let captchas = 0
    page.on('request', request => void (request.url().includes('/captcha') && captchas++))
    await page.route('**/b/logout', async route => {
      const answer = await route.fetch()
      const refused = page.waitForResponse('**/session/page*')
      await held[0]!.continue()
      t.equal((await (await refused).json()).code, 401)
      await page.evaluate(() => new Promise(resolve => setTimeout(resolve)))
      await route.fulfill({ response: answer })
    })
    await solve(fixture, page, () => page.click('[data-key=sign-out]'))
    await page.locator('.told', { hasText: textOf('en', 'signed_out') }).waitFor()
    t.equal(captchas, 1)
    t.match(await page.inputValue('#captcha'), /./, 'what was typed stays')
  })

  t.test('a sign-out ends the session at the gateway, and a reload stays signed out', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    const token = await page.evaluate(() => sessionStorage.getItem('dualgate.token'))
    t.not(await business.getLoginIdByToken(token!), '')
    t.same(await page.evaluate(() => Object.keys(localStorage)), [], 'no token outlives the tab')
    await page.reload()
    await page.waitForSelector('.user-list table')
    await page.click('[data-key=sign-out]')
    await page.locator('.told', { hasText: 'You are signed out.' }).waitFor()
    t.equal(await business.getLoginIdByToken(token!), '')
    await page.reload()
    await page.waitForSelector('.sign-in')
  })

  t.test('a sign-out that the gateway does not confirm is not reported as one, and can be tried again', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const token = await arrive(fixture, visitor, ['sys:session:page'], user)
    const failure = { code: 503, message: 'Service unavailable', data: null, success: false }
    await page.route('**/b/logout', route => route.fulfill({ status: 503, json: failure }))
    await page.click('[data-key=sign-out]')
    const fault = page.locator('[role=alert]', { hasText: 'Service unavailable' })
    await fault.waitFor()
    t.match(await fault.textContent(), textOf('en', 'not_signed_out'))
    t.equal(await page.evaluate(() => sessionStorage.getItem('dualgate.token')), null, 'no later visitor finds it')
    t.equal(await business.getLoginIdByToken(token), user)
    await page.unroute('**/b/logout')
    await page.click('.whole-page button')
    await page.locator('.told', { hasText: textOf('en', 'signed_out') }).waitFor()
    t.equal(await business.getLoginIdByToken(token), '')
  })

  t.test('the page shows only buttons that the user has permission for', async t => {
    const user = someone()
    await business.login(undefined, user, { username: user })
    for (const [permissions, danger, disable] of [
      [['sys:session:page'], 0, 0],
      [['sys:session:page', 'sys:session:exit'], 1, 0],
      [['sys:session:page', 'sys:session:disable'], 0, 1],
    ] as const) {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(fixture, visitor, [...permissions])
      await search(page, user)
      await row(page, user).waitFor()
      t.equal(await row(page, user).locator('.danger').count(), danger)
      t.equal(await row(page, user).getByRole('button', { name: 'Disable' }).count(), disable)
      t.equal(await page.locator('[data-key=check-id]').count(), disable)
      await row(page, user).locator('.link').click()
      await page.waitForSelector('.token-list table')
      t.equal(await page.locator('.token-list .danger').count(), danger)
      t.same(visitor.complaints, [])
    }
    const stranger = await visit(t)
    await arrive(fixture, stranger, [])
    await stranger.page.locator('.panel', { hasText: 'Profile' }).waitFor()
    t.same(await stranger.page.locator('nav a').allTextContents(), ['My account'])
    t.same(stranger.complaints, [])
  })

  t.test('language and theme are those of the browser until the user chooses others', async t => {
    const { page } = await visit(t, { locale: 'zh-CN', colorScheme: 'dark' })
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.goto(`${fixture.url}/console/`)
    await page.locator('button[type=submit]', { hasText: '登录' }).waitFor()
    t.equal(await page.getAttribute('html', 'lang'), 'zh-CN')
    const dark = await ground()
    await page.selectOption('[data-key=theme]', 'light')
    t.not(await ground(), dark)
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
  })

  t.test('messages of the gateway are shown in the language of the page', async t => {
    const { page } = await visit(t, { locale: 'zh-CN' })
    await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
    await fillIn(page, ADMIN.username, 'wrong')
    await page.click('button[type=submit]')
    await page.locator('.fault', { hasText: '用户名或密码错误' }).waitFor()
    t.pass()
  })

  t.test('after too many failures, the sign-in says until when the account is disabled', async t => {
    const { page } = await visit(t)
    const name = someone()
    for (let failures = 0; failures < 5; failures++) {
      await fixture.post('/api/v1/public/b/login', await fixture.credentials(name, 'wrong'))
    }
    await sendSignIn(fixture, page, name, 'wrong')
    await page.locator('.fault', { hasText: /The account is disabled until .*\d+:\d\d:\d\d/ }).waitFor()
    t.pass()
  })

  t.test('the page can be used with the keyboard alone, and a refresh keeps the focus', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const token = await business.login(undefined, user, { username: user })
    await arrive(fixture, visitor, ['sys:session:*'])
    await search(page, user)
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
    t.equal(await business.getLoginIdByToken(token), '')
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

t.test('the page works with every configuration of the gateway', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  for (const [what, options, ended = 'ended'] of [
    ['profile 2, with another token header', { profile: 2, config: { jwt: { token_name: 'X-Token' } } }],
    ['real statuses, in Chinese', { config: { errors: { http_status: 'native' }, locale: 'zh-CN' } }],
    ['version 3 of the API', { config: { api_versions: [3] } }],
    ['reasons of ends', { config: { sessions: { tell_end: '24h' } } }, 'because_kicked-out'],
  ] as [string, FixtureOptions, string?][]) {
    t.test(what, async t => {
      const fixture = await open(t, options)
      const visitor = await visit(t)
      const { page } = visitor
      await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
      await fillIn(page, ADMIN.username, 'wrong')
      await solve(fixture, page, async () => {
        await page.click('button[type=submit]')
        await page.locator('.fault', { hasText: 'Wrong username or password' }).waitFor()
      })
      await page.fill('#password', ADMIN.password)
      await page.click('button[type=submit]')
      await row(page, 'Admin').waitFor()
      await holdRefreshOnceLoaded(page)
      await fixture.gateway.sides.business.kickout('1')
      await page.click('.sides .CONSUMER')
      await page.locator('.fault', { hasText: textOf('en', ended) }).waitFor()
    })
  }

  t.test('without a logout route, a sign-out ends its own session through the session administration', async t => {
    const fixture = await open(t, { config: { login: { logout_routes: false } } })
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    const token = await page.evaluate(() => sessionStorage.getItem('dualgate.token'))
    await page.click('[data-key=sign-out]')
    await page.locator('.told', { hasText: 'You are signed out.' }).waitFor()
    t.equal(await fixture.gateway.sides.business.getLoginIdByToken(token!), '')
  })

  t.test('without any administration, the page is that of the own account', async t => {
    const fixture = await open(t, {
      config: { session_administration: false, account_administration: false, own_sessions: { business: false } },
    })
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await page.locator('.panel', { hasText: 'Second factor' }).waitFor()
    t.same(await page.locator('nav a').allTextContents(), ['My account'])
    t.equal(await page.locator('.own-sessions').count(), 0)
    t.match(await page.locator('.advice').textContent(), 'choose your own', 'the first account is advised, not forced')
    await page.goto(`${fixture.url}/console/#sessions`)
    await page.locator('.panel', { hasText: 'Profile' }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('without the session administration, the page shows what else its user has permission for', async t => {
    const fixture = await open(t, { config: { session_administration: false } })
    for (const [permissions, shown] of [
      [['**'], ['Accounts', 'Keys', 'Journal', 'My account']],
      [['sys:account:page'], ['Accounts', 'My account']],
      [['sys:key:page'], ['Keys', 'My account']],
      [['sys:journal:page'], ['Journal', 'My account']],
      [['sys:session:page', 'sys:account:edit'], ['My account']],
    ] as [string[], string[]][]) {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(fixture, visitor, permissions)
      t.same(await page.locator('nav a').allTextContents(), shown)
      if (shown[0] === 'Accounts') {
        await page.click('.account-list .link')
        const buttons = await page.locator('dialog footer > *').allTextContents()
        t.same(
          buttons,
          permissions[0] === '**' ? ['Journal', 'Keys'] : [],
          'no sessions, and no change of a mightier account',
        )
        t.equal(await page.locator('[data-key=add]').count(), permissions[0] === '**' ? 1 : 0)
      }
      t.same(visitor.complaints, [])
    }
  })

  t.test('a failing store is reported, the shown data stays, and the user stays signed in', async t => {
    const fixture = await open(t)
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await row(page, 'Admin').waitFor()
    await failStore(page)
    await page.click('[data-key=pause]')
    await page.click('[data-key=pause]')
    await page.locator('.trouble', { hasText: 'Service unavailable' }).waitFor()
    await holdRefresh(page)
    t.equal(await row(page, 'Admin').count(), 1)
    await page.unroute(/\/api\//)
    await failCalls(page, 'Too busy, try again')
    await page.click('[data-key=retry]')
    await page.locator('.trouble', { hasText: 'Too busy, try again' }).waitFor()
    await page.unroute(/\/api\//)
    await page.click('[data-key=retry]')
    await page.locator('.trouble').waitFor({ state: 'hidden' })
    await page.route(/\/api\//, route => route.abort())
    await page.click('.sides .CONSUMER')
    await page.locator('.trouble', { hasText: 'The gateway does not answer' }).waitFor()
    t.not(await page.evaluate(() => sessionStorage.getItem('dualgate.token')), null)
  })

  t.test('in the tab of a session whose account is disabled another user can sign in', async t => {
    const fixture = await open(t, { config: { disable: { enforce: 'request' } } })
    const { business } = fixture.gateway.sides
    const { page } = await visit(t)
    const user = someone()
    const token = await business.login(undefined, user)
    await business.disable(user, 600)
    await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
    await page.evaluate(kept => sessionStorage.setItem('dualgate.token', kept), token)
    await page.reload()
    await page.locator('.whole-page', { hasText: /The account is disabled until .*\d+:\d\d:\d\d/ }).waitFor()
    await solve(fixture, page, () => page.click('[data-key=another-user]'))
    await fillIn(page, ADMIN.username, ADMIN.password)
    await page.click('button[type=submit]')
    await row(page, 'Admin').waitFor()
    t.not(await page.evaluate(() => sessionStorage.getItem('dualgate.token')), token)
  })

  t.test('users who cannot see the picture sign in by a proof of work, where the gateway accepts it', async t => {
    const fixture = await open(t, { config: { login: { captcha: { alternative: 'proof-of-work', difficulty: 12 } } } })
    const visitor = await visit(t)
    const { page } = visitor
    await page.goto(`${fixture.url}/console/`)
    await page.getByRole('button', { name: 'I cannot see the picture' }).click()
    t.notOk(await page.isVisible('#captcha'))
    t.same(await obstaclesEverywhere(page, 'sign-in by proof'), [])
    await fillIn(page, ADMIN.username, 'wrong')
    await page.keyboard.press('Enter')
    await page.locator('.fault', { hasText: 'Wrong username or password' }).waitFor()
    await page.fill('#password', ADMIN.password)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.user-list table')
    await page.click('[data-key=sign-out]')
    await solve(fixture, page, () => page.getByRole('button', { name: 'Use the picture' }).click())
    await fillIn(page, ADMIN.username, ADMIN.password)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.user-list table')
    t.same(visitor.complaints, [], 'the policy of the page allows it')
  })

  t.test('after a failure, the sign-in tries again to load its settings and the captcha', async t => {
    const fixture = await open(t)
    const { page } = await visit(t)
    await failStore(page)
    await page.route('**/settings.json', route => route.abort())
    await page.goto(`${fixture.url}/console/`)
    const retry = page.getByRole('button', { name: 'Try again' })
    await page.getByText('The gateway does not answer').waitFor()
    await page.unroute('**/settings.json')
    await retry.click()
    await page.locator('.fault', { hasText: 'Service unavailable' }).waitFor()
    await retry.waitFor()
    t.same(await obstaclesEverywhere(page, 'sign-in without captcha'), [])
    await page.unroute(/\/api\//)
    await solve(fixture, page, () => retry.click())
    await page.locator('.fault').waitFor({ state: 'hidden' })
    await page.locator('.captcha img').waitFor()
    t.equal(await retry.count(), 0)
    await fillIn(page, ADMIN.username, ADMIN.password)
    await failStore(page)
    await page.keyboard.press('Enter')
    await retry.waitFor()
    await page.unroute(/\/api\//)
    await solve(fixture, page, () => retry.click())
    await page.keyboard.press('Enter')
    await page.waitForSelector('.user-list table')
  })
})

/** Every call of the gateway is answered as if the store did not answer it. */
const failStore = (page: Page): Promise<unknown> => failCalls(page, 'Service unavailable')

/** Every call of the gateway is answered with 503. */
const failCalls = (page: Page, message: string): Promise<unknown> =>
  page.route(/\/api\//, route =>
    route.fulfill({ status: 503, json: { code: 503, message, data: null, success: false, trace_id: '' } }),
  )
