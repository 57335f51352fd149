import type { Route } from 'playwright-core'
import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, comeBack, holdRefresh, search, signIn } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { inOneDay, until } from '../support/until.ts'
import { failCalls, failStore, openConsole, row, rows, searchNewUser } from './console-fixture.ts'

/* The page of sessions: who is online, and the end of it. */

t.test('the page of sessions', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openConsole(t)
  const { business, consumer } = fixture.gateway.sides

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

  t.test('a click counts also when the list is loaded again between its press and its release', async t => {
    const visitor = await visit(t, {})
    const { page } = visitor
    // Nothing loads by the clock: only the return to the page does.
    await page.addInitScript(() => {
      const { setTimeout } = window
      Object.assign(window, {
        setTimeout: (run: () => void, time: number) => (time === 10_000 ? 0 : setTimeout(run, time)),
      })
    })
    const { user } = await searchNewUser(fixture, visitor)
    await page.locator('.users header', { hasText: '1 found' }).waitFor()
    await page.locator('.refresh', { hasText: /^Updated / }).waitFor()
    await row(page, user).locator('.danger').hover()
    await page.mouse.down()
    const loaded = page.waitForResponse(/\/sys\/session\/page\?/)
    await page.locator('.user-list table').evaluate(table => Object.assign(window, { shown: table }))
    await comeBack(page)
    await (await loaded).finished()
    await page.evaluate(() => fetch('settings.json'))
    await page.mouse.up()
    await page.locator('dialog').waitFor()
    await page.waitForFunction(() => !(window as unknown as { shown: Element }).shown.isConnected)
    t.same(visitor.complaints, [])
  })

  t.test('an action that fails after its dialog was closed says so', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { user, tokens } = await searchNewUser(fixture, visitor)
    await row(page, user).locator('.danger').click()
    const held: Route[] = []
    await page.route('**/session/exit', route => void held.push(route))
    await page.click('dialog form .danger')
    await until(() => held.length > 0)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await held[0]!.fulfill({ status: 503, json: { code: 503, message: 'Service unavailable', success: false } })
    await page.locator('#notice', { hasText: 'Service unavailable' }).waitFor({ state: 'attached' })
    t.equal(await business.getLoginIdByToken(tokens[0]!), user)
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
})

t.test(
  'a failing store is reported, the shown data stays, and the user stays signed in',
  { skip: withoutBrowser },
  async t => {
    const visit = await openBrowser(t)
    const fixture = await openConsole(t)
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
  },
)
