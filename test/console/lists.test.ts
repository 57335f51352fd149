import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, bring, choose, confirm, holdRefreshOnceLoaded, search } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { openConsole, searchNewUser } from './console-fixture.ts'
import { textOf } from './texts.ts'

/* Lists of the page: their order, and the end of several sessions at once. */

const PERMISSIONS = ['sys:session:*']

/** What must not look alike. */
const UNLIKE = [
  ['nav a[aria-current]', 'nav a:not([aria-current])'],
  ['.sides [aria-pressed=true]', '.sides [aria-pressed=false]'],
  ['.ring .swatch.BUSINESS', '.ring .swatch.CONSUMER'],
]

const names = (page: Page) => page.locator('.user-list tbody .link').allTextContents()

t.test('lists of sessions', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openConsole(t)
  const { business, consumer } = fixture.gateway.sides

  /** Online users of the B side, whose names begin alike. */
  async function online(count: number): Promise<{ mark: string; users: string[]; tokens: string[] }> {
    const mark = someone()
    const users = Array.from({ length: count }, (_, i) => `${mark}-${i}`)
    const tokens: string[] = []
    for (const user of users) {
      tokens.push(await business.login(undefined, user, { username: user }))
      // The list has the newest login first.
      await fixture.elapse(1000)
    }
    return { mark, users, tokens }
  }

  /** The login ids of those tokens that are still live. */
  const live = async (tokens: string[]): Promise<string[]> =>
    (await Promise.all(tokens.map(token => business.getLoginIdByToken(token)))).filter(id => id !== '')

  t.test('several users end after one confirmation, which names their number', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { mark, users, tokens } = await online(13)
    await arrive(fixture, visitor, PERMISSIONS)
    await page.selectOption('#rows', '20')
    await search(page, mark)
    await page.locator('.users header', { hasText: '13 found' }).waitFor()
    t.ok(await page.locator('[data-key="end selected"]').isDisabled())
    await page.check('[data-key="pick all"]')
    await page.uncheck(`[data-key="pick ${users[4]}"]`)
    await page.locator('.selection', { hasText: '12 selected' }).waitFor()
    t.ok(await page.locator('[data-key="pick all"]').evaluate(box => (box as HTMLInputElement).indeterminate))
    t.same(await obstaclesEverywhere(page, 'selected users'), [])
    await page.click('[data-key="end selected"]')
    await page.locator('dialog h2', { hasText: 'End every session of 12 users?' }).waitFor()
    await page.locator('dialog p', { hasText: 'and 2 more' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'end of several users'), [])
    await page.keyboard.press('Escape')
    t.equal((await live(tokens)).length, 13, 'nothing before the confirmation')
    await page.click('[data-key="end selected"]')
    await confirm(page)
    await page.locator('#notice', { hasText: 'Ended: 12.' }).waitFor()
    await page.locator('.users header', { hasText: '1 found' }).waitFor()
    t.same(await live(tokens), [users[4]])
    t.same(visitor.complaints, [])
  })

  t.test('what the gateway has not confirmed is not reported as ended, and stays selected', async t => {
    const { page, ...visitor } = await visit(t)
    const { mark, users, tokens } = await online(4)
    await arrive(fixture, { page, ...visitor }, PERMISSIONS)
    await search(page, mark)
    await page.locator('.users header', { hasText: '4 found' }).waitFor()
    const answer = (code: number, message: string) => ({ json: { code, message, data: null, success: false } })
    await page.route('**/sys/session/exit', route => {
      const { user_id: user } = route.request().postDataJSON()
      if (user === users[2]) return route.fulfill(answer(400, 'Refused'))
      if (user === users[1]) return route.fulfill({ status: 503, ...answer(503, 'Service unavailable') })
      return route.continue()
    })
    await page.check('[data-key="pick all"]')
    await page.click('[data-key="end selected"]')
    await confirm(page)
    const report = page.locator('dialog', { hasText: 'Ended: 1 of 4.' })
    await report.waitFor()
    t.same(await report.locator('li').allTextContents(), [
      `${users[2]}: Refused`,
      `${users[1]}: Service unavailable`,
      `${users[0]}: Service unavailable`,
    ])
    t.equal(await page.locator('#notice.shown').count(), 0)
    t.same(await obstaclesEverywhere(page, 'not all ended'), [])
    await page.keyboard.press('Escape')
    await page.locator('.selection', { hasText: '3 selected' }).waitFor()
    t.same(await live(tokens), [users[0], users[1], users[2]])
    await page.unroute('**/sys/session/exit')
    await page.click('[data-key="end selected"]')
    await confirm(page)
    await page.locator('.empty').waitFor()
    t.same(await live(tokens), [])
  })

  t.test('several sessions of a user end at once, that of the page at last', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const tokens = await Promise.all([1, 2].map(() => business.login(undefined, user, { username: user })))
    const own = await arrive(fixture, visitor, PERMISSIONS, user)
    await search(page, user)
    await page.click(`[data-key="user ${user}"]`)
    const list = page.locator('.token-list')
    await list.locator('tbody tr >> nth=2').waitFor()
    await list.locator('[data-key="pick all"]').check()
    t.same(await obstaclesEverywhere(page, 'selected sessions'), [])
    await list.locator('[data-key="end selected"]').click()
    const question = page.locator('dialog', { hasText: `End 3 sessions of ${user}?` })
    await question.getByText('you will be signed out too').waitFor()
    await confirm(page)
    await page.waitForSelector('.sign-in')
    t.same(await live([...tokens, own]), [])
  })

  t.test('the sessions of a user show the address, and a list that is cut says so', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const signIns = (n: number) =>
      Promise.all(
        Array.from({ length: n }, () => business.login(undefined, user, { username: user, login_ip: '203.0.113.7' })),
      )
    await arrive(fixture, visitor, PERMISSIONS, user)
    for (let i = 0; i < 10; i++) await signIns(i === 9 ? 98 : 100)
    const list = page.locator('.token-list')
    const show = async () => {
      await page.reload()
      await search(page, user)
      await page.click(`[data-key="user ${user}"]`)
      await list.locator('tbody tr').first().waitFor()
    }
    await show()
    t.equal(await list.locator('tbody tr').count(), 999)
    t.equal(await list.locator('.cut').count(), 0)
    t.equal(await list.locator('tr', { hasText: '203.0.113.7' }).count(), 998)
    await page.goto(`${fixture.url}/console/#account`)
    await page.locator('.own-sessions tbody tr').first().waitFor()
    t.equal(await page.locator('.own-sessions .cut').count(), 0)

    await signIns(1)
    await page.goto(`${fixture.url}/console/`)
    await show()
    t.equal(await list.locator('tbody tr').count(), 1000)
    await list.locator('.cut', { hasText: 'the newest 1,000 sessions' }).waitFor()
    await page.goto(`${fixture.url}/console/#account`)
    await page.locator('.own-sessions .cut', { hasText: 'the newest 1,000 sessions' }).waitFor()
    t.equal(await page.locator('.own-sessions tbody tr').count(), 1000)
    t.same(visitor.complaints, [])
  })

  t.test('the sessions of a user stay when they cannot be loaded again, and can be requested once more', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { user } = await searchNewUser(fixture, visitor, 2)
    await page.click(`[data-key="user ${user}"]`)
    const sessions = page.locator('.token-list tbody tr')
    await sessions.nth(1).waitFor()
    await page.route('**/sys/session/tokens*', route => route.abort())
    await sessions.first().getByRole('button', { name: 'End' }).click()
    await page
      .locator('dialog', { hasText: textOf('en', 'end_one_title') })
      .getByRole('button', { name: 'End' })
      .click()
    await page.locator('dialog .trouble', { hasText: textOf('en', 'offline') }).waitFor()
    t.equal(await sessions.count(), 2)
    t.same(await obstaclesEverywhere(page, 'sessions of a user that were not loaded again'), [])
    await page.unroute('**/sys/session/tokens*')
    await page.click('dialog [data-key=retry]')
    await sessions.nth(1).waitFor({ state: 'detached' })
    // The state of the login id is requested behind them.
    await page.locator('dialog .trouble:empty').waitFor({ state: 'attached' })
  })

  t.test('the search waits until an input method has composed a word', async t => {
    // The clock belongs to the context.
    const visitor = await visit(t, {})
    const { page } = visitor
    await page.clock.install()
    await arrive(fixture, visitor, ['sys:session:page'])
    // A refresh would repeat the search.
    await holdRefreshOnceLoaded(page)
    const searched: (string | null)[] = []
    page.on('request', request => {
      const { searchParams } = new URL(request.url())
      if (searchParams.get('keyword')) searched.push(searchParams.get('keyword'))
    })
    await page.focus('#keyword')
    const browser = await page.context().newCDPSession(page)
    await browser.send('Input.imeSetComposition', { text: 'zhang', selectionStart: 5, selectionEnd: 5 })
    t.equal(await page.inputValue('#keyword'), 'zhang')
    await page.clock.runFor(1000)
    await browser.send('Input.insertText', { text: '张' })
    await page.clock.runFor(1000)
    await page.locator('.empty', { hasText: '张' }).waitFor()
    t.same(searched, ['张'])
  })

  t.test('a double click does not confirm what its first click asks', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { mark, users, tokens } = await online(1)
    await arrive(fixture, visitor, PERMISSIONS)
    await search(page, mark)
    await page.locator('.users header', { hasText: '1 found' }).waitFor()
    await page.locator('.user-list tbody').getByRole('button', { name: 'End all' }).click()
    const button = (await page.locator('dialog [type=submit]').boundingBox())!
    await page.mouse.move(button.x + 5, button.y + 5)
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })
    await page.evaluate(() => fetch('settings.json'))
    t.equal(await page.locator('dialog').count(), 1, 'the question stays')
    t.same(await live(tokens), users)
    await confirm(page)
    await page.locator('#notice', { hasText: textOf('en', 'ended_all', { user: users[0]! }) }).waitFor()
    t.same(await live(tokens), [])
  })

  t.test('where colours are forced, the shown page, the shown side and the sides of a chart can be told', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await page.emulateMedia({ forcedColors: 'active' })
    await arrive(fixture, visitor, ['sys:session:page'])
    await page.locator('.ring .swatch.CONSUMER').waitFor()
    const alike = await page.evaluate(pairs => {
      const looks = (selector: string) => {
        const { backgroundColor, borderBottomColor } = getComputedStyle(document.querySelector(selector)!)
        return `${backgroundColor} ${borderBottomColor}`
      }
      return pairs.filter(([one, other]) => looks(one!) === looks(other!))
    }, UNLIKE)
    t.same(alike, [])
  })

  t.test('without the permission to end sessions, nothing can be selected', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { mark } = await online(2)
    await arrive(fixture, visitor, ['sys:session:page'])
    await search(page, mark)
    await page.locator('.users header', { hasText: '2 found' }).waitFor()
    t.equal(await page.locator('.pick, .selection').count(), 0)
  })

  t.test('a list that is shown completely is sorted by its columns, a page of a longer one is not', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const mark = someone()
    for (const [name, sessions] of [
      ['10', 1],
      ['9', 3],
      ['b', 2],
    ] as const)
      for (let i = 0; i < sessions; i++)
        await consumer.login(undefined, `${mark}-${name}`, { username: `${mark}-${name}` })
    await arrive(fixture, visitor, PERMISSIONS)
    await page.click('.sides .CONSUMER')
    await search(page, mark)
    await page.locator('.users header', { hasText: '3 found' }).waitFor()
    const order = async () => (await names(page)).map(name => name.slice(mark.length + 1))
    const given = await order()
    const turn = async (column: string) => {
      await page.locator('.sort', { hasText: column }).click()
      return order()
    }
    t.same(await turn('Tokens'), ['10', 'b', '9'])
    t.same(await turn('Tokens'), ['9', 'b', '10'])
    t.equal(await page.locator('th[aria-sort=descending]').textContent(), 'Tokens↓')
    t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Tokens↓')
    t.same(await obstaclesEverywhere(page, 'sorted users'), [])
    await choose(page, 'zh')
    t.same(await order(), ['9', 'b', '10'], 'the same in the other language')
    await choose(page, 'en')
    t.same(await turn('Tokens'), given, 'the order of the gateway again')
    t.same(await turn('User'), ['9', '10', 'b'], 'numbers in names by their values')

    await page.setViewportSize({ width: 360, height: 780 })
    t.notOk(await page.locator('.sort', { hasText: 'User' }).isVisible())
    await page.selectOption('[data-key=sort]', { label: 'Tokens, ascending' })
    t.same(await order(), ['10', 'b', '9'])
    await page.setViewportSize({ width: 1280, height: 780 })

    await fixture.elapse(1000)
    for (let i = 0; i < 8; i++) await consumer.login(undefined, `${mark}-${i}x`, { username: `${mark}-${i}x` })
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await page.locator('.users header', { hasText: '11 found' }).waitFor()
    t.equal(await page.locator('.sort, .sort-choice').count(), 0)
    t.match((await order())[0], /^[0-7]x$/, 'the newest first')
    t.same(visitor.complaints, [])
  })

  t.test('a user with an empty name is called by another one, and can be opened', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const [named, nameless] = [someone(), someone()]
    await business.login(undefined, named, { username: `name-${named}`, nickname: '' })
    await business.login(undefined, nameless, { username: '', nickname: '' })
    const extra = { username: `admin-${named}`, nickname: '', permissions: [...PERMISSIONS, 'sys:journal:page'] }
    await bring(fixture, visitor, await business.login(undefined, someone(), extra))
    t.equal(await page.locator('.owner').textContent(), `admin-${named}`)
    for (const [user, name] of [
      [named, `name-${named}`],
      [nameless, nameless],
    ] as const) {
      await search(page, user)
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('dialog', { name: `Sessions of ${name}` }).waitFor()
      await page.keyboard.press('Escape')
    }
    await page.goto(`${fixture.url}/console/#journal?login_id=${nameless}`)
    await page.getByRole('link', { name: nameless, exact: true }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('the longest names push nothing out of the panel', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const extra = { username: user.padEnd(128, 'x'), nickname: '名'.repeat(128), device_id: 'd'.repeat(128) }
    await business.login(undefined, user, extra)
    await arrive(fixture, visitor, PERMISSIONS)
    await search(page, user)
    await page.locator('.users header', { hasText: '1 found' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'long names'), [])
    await page.click(`[data-key="user ${user}"]`)
    await page.locator('.token-list tbody tr').waitFor()
    t.same(await obstaclesEverywhere(page, 'sessions of a long name'), [])
  })

  t.test('a login id reads from left to right behind a name that does not', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    // Arabic, and a mark that turns what follows it (U+202E).
    await business.login(undefined, user, { username: 'مرحبا\u202e', nickname: 'x' })
    await arrive(fixture, visitor, PERMISSIONS)
    await search(page, user)
    await page.locator('.users header', { hasText: '1 found' }).waitFor()
    const places = await page.locator('.user-list code').evaluate(code => {
      const text = code.firstChild as Text
      return Array.from(text.data, (_, at) => {
        const range = document.createRange()
        range.setStart(text, at)
        range.setEnd(text, at + 1)
        return range.getBoundingClientRect().left
      })
    })
    t.same(
      places,
      places.toSorted((a, b) => a - b),
    )
  })

  t.test('a name turns no words of the sentence around it', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const users = { turning: someone(), arabic: someone() }
    await business.login(undefined, users.turning, { nickname: '\u202eevil\u2069' })
    await business.login(undefined, users.arabic, { nickname: 'مرحبا' })
    await arrive(fixture, visitor, PERMISSIONS)
    for (const [user, name] of [
      [users.turning, '\ufffdevil\ufffd'],
      [users.arabic, '\u2068مرحبا\u2069'],
    ] as const) {
      await search(page, user)
      await page.click(`[data-key="user ${user}"]`)
      await page.getByRole('dialog', { name: `Sessions of ${name}` }).waitFor()
      await page.keyboard.press('Escape')
    }
  })

  t.test('a dialog above another has its own name, and gives the focus back although the list is new', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { user } = await searchNewUser(fixture, visitor, 2)
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-key'))
    await page.focus(`[data-key="user ${user}"]`)
    await page.keyboard.press('Enter')
    const sessions = page.getByRole('dialog', { name: `Sessions of ${user}` })
    await sessions.getByRole('button', { name: 'End (' }).first().click()
    await page.getByRole('dialog', { name: 'End this session?' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog').nth(1).waitFor({ state: 'detached' })
    const refreshed = page.waitForResponse(/\/sys\/session\/page\?/)
    await page.locator('.user-list table').evaluate(table => {
      Object.assign(window, { shown: table })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await refreshed
    await page.waitForFunction(() => !(window as unknown as { shown: Element }).shown.isConnected)
    await page.keyboard.press('Escape')
    // By its role it is gone as soon as it is hidden; the focus comes back when it is removed.
    await page.locator('dialog').waitFor({ state: 'detached' })
    t.equal(await focused(), `user ${user}`)
  })

  t.test('own sessions that could not be loaded can be tried again, also in the other language', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await arrive(fixture, visitor, PERMISSIONS)
    const failure = { code: 503, message: 'Service unavailable', data: null, success: false }
    await page.route('**/b/session/tokens', route => route.fulfill({ status: 503, json: failure }))
    await page.goto(`${fixture.url}/console/#account`)
    const panel = page.locator('.own-sessions')
    await panel.locator('[role=alert]', { hasText: 'Service unavailable' }).waitFor()
    await choose(page, 'zh')
    t.equal(await panel.locator('.empty').count(), 0, 'it does not claim to be loading')
    await page.unroute('**/b/session/tokens')
    await panel.locator('[data-key=retry]').click()
    await panel.locator('tbody tr').first().waitFor()
    t.equal(await panel.locator('[role=alert]').textContent(), '')
  })
})
