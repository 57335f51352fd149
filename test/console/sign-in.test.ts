import type { Page } from 'playwright-core'
import t from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { openBrowser, type Visitor, withoutBrowser } from '../support/browser.ts'
import { choose, fillIn, solve } from '../support/console.ts'
import { ADMIN, type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { startUpstream } from '../support/upstream.ts'
import { shownSecret } from './accounts-fixture.ts'

/* A web application that knows nothing of sessions, behind the sign-in page of the gateway, as people see it. */

const APPLICATION = `<!doctype html><title>Wiki</title><h1>Wiki</h1><p id="user"></p>
<form method="post" action="/wiki/save"><button>Save</button></form>`

/** The sign-in page, filled in and sent. */
async function signIn(fixture: Fixture, page: Page, load: () => Promise<unknown>): Promise<void> {
  await solve(fixture, page, load)
  await fillIn(page, ADMIN.username, ADMIN.password)
  await page.click('button[type=submit]')
}

const pathOf = (page: Page): string => {
  const { pathname, search, hash } = new URL(page.url())
  return pathname + search + hash
}

/** Waits for the application; fails with what the sign-in says, if it leads nowhere. */
async function isAtApplication(page: Page): Promise<void> {
  const fault = page.locator('.fault:not([hidden])')
  await page.locator('#user').or(fault).first().waitFor()
  if ((await fault.count()) > 0) throw new Error(`the sign-in says: ${await fault.first().textContent()}`)
}

for (const store of ['embedded', 'redis'] as const) {
  t.test(`the sign-in page, ${store} store`, { skip: withoutBrowser }, async t => {
    const visit = await openBrowser(t)
    const application = await startUpstream({
      answer(request, response, { method }) {
        response.setHeader('content-type', 'text/html')
        response.end(
          method === 'GET'
            ? APPLICATION.replace('></p>', `>${request.headers['x-login-id']}</p>`)
            : `saved ${request.headers['x-login-id']}`,
        )
      },
    })
    t.teardown(() => application.close())
    const fixture = await openFixture(t, {
      store,
      config: {
        session_administration: true,
        browser: { business: 'on', title: 'The wiki of all' },
        gate: { pages: [{ path: '/wiki/*', needs: 'business' }] },
        sessions: { tell_end: '1h' },
        disable: { enforce: 'request' },
      },
      upstreams: [{ name: 'wiki', match: '/wiki', target: application.url }],
    })
    const wiki = `${fixture.url}/wiki/page?a=%2Fb#part`

    /** Signed in at the application. */
    async function arrive({ page }: Visitor): Promise<void> {
      await signIn(fixture, page, () => page.goto(wiki))
      await isAtApplication(page)
    }

    t.test('a first visit leads to the sign-in, and back to the page with its query and its fragment', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await solve(fixture, page, () => page.goto(wiki))
      t.match(page.url(), /\/sign-in\/b\/\?to=/)
      t.equal(await page.title(), 'The wiki of all')
      t.equal(await page.locator('h1').textContent(), 'The wiki of all')
      t.same(await obstaclesEverywhere(page, 'sign-in'), [])
      await choose(page, 'zh')
      t.same(await obstaclesEverywhere(page, 'sign-in'), [])
      await signIn(fixture, page, () => choose(page, 'en'))
      await isAtApplication(page)
      t.equal(pathOf(page), '/wiki/page?a=%2Fb#part')
      t.equal(await page.locator('#user').textContent(), '1')
      const [cookie, ...others] = await page.context().cookies()
      t.match(cookie, { name: '__Host-dualgate-b', httpOnly: true, secure: true, sameSite: 'Lax', path: '/' })
      t.same(others, [])
      t.equal(await page.evaluate(() => `${document.cookie}${sessionStorage.length}`), '0', 'no script can read it')
      t.notMatch(application.requests.at(-1)?.headers, { cookie: /dualgate/ })
      t.same(visitor.complaints, [])
      t.same(visitor.strayed, [])
    })

    t.test('a second tab is signed in, and who opens the sign-in again is sent on at once', async t => {
      const visitor = await visit(t)
      await arrive(visitor)
      const second = await visitor.page.context().newPage()
      await second.goto(`${fixture.url}/wiki/other`)
      t.equal(await second.locator('#user').textContent(), '1')
      await second.goto(`${fixture.url}/sign-in/b/?to=%2Fwiki%2Fthird`)
      await second.waitForURL(/\/wiki\/third$/)
      await second.goto(`${fixture.url}/sign-in/b/?to=https%3A%2F%2Fevil.example%2F`)
      await second.waitForURL(/\/console\/$/)
      await second.close()
      await visitor.page.goto(`${fixture.url}/wiki/other`)
      await visitor.page.goBack()
      t.equal(pathOf(visitor.page), '/wiki/page?a=%2Fb#part')
      await visitor.page.goBack()
      t.equal(visitor.page.url(), 'about:blank', 'the sign-in is not in the history')
    })

    t.test('a form is sent with the cookie, and from a page whose session has ended it says what to do', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(visitor)
      await page.click('button')
      await page.getByText('saved 1', { exact: true }).waitFor()
      await page.goBack()
      await fixture.gateway.sides.business.kickout('1')
      const sent = application.requests.length
      await page.click('button')
      await page.locator('p', { hasText: 'nothing was sent' }).waitFor()
      t.equal(application.requests.length, sent)
      const [opened] = await Promise.all([page.waitForEvent('popup'), page.click('a')])
      t.match(await opened.locator('.fault').textContent(), 'ended by an administrator')
      await opened.close()
    })

    t.test('beside the cookie of a disabled account another user can sign in', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(visitor)
      await fixture.gateway.sides.business.disable('1', 600)
      await page.goto(`${fixture.url}/sign-in/b/?to=/wiki/page`)
      await page.locator('.fault', { hasText: 'Your account is disabled' }).waitFor()
      t.ok(await page.locator('#username').isVisible())
      await fixture.gateway.sides.business.untieDisable('1')
    })

    t.test('a sign-out ends every tab, and the sign-in says so', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(visitor)
      const second = await page.context().newPage()
      await second.goto(`${fixture.url}/sign-out/b`)
      t.same(await obstaclesEverywhere(second, 'sign-out'), [])
      await second.click('button[type=submit]')
      await second.locator('.told', { hasText: 'You are signed out.' }).waitFor()
      t.equal(pathOf(second), '/sign-in/b/?signed-out=1')
      await second.close()
      t.same(await page.context().cookies(), [])
      await page.reload()
      await page.waitForURL(/\/sign-in\/b\//)
    })

    t.test('the page for administrators signs in with the cookie, and no script holds a token', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await signIn(fixture, page, () => page.goto(`${fixture.url}/console/`))
      await page.waitForSelector('.chrome')
      t.equal(await page.evaluate(() => sessionStorage.length), 0)
      await page.reload()
      await page.waitForSelector('.user-list table')
      await page.goto(`${fixture.url}/wiki/page`)
      t.equal(await page.locator('#user').textContent(), '1', 'signed in at the application, too')
      await page.goto(`${fixture.url}/console/#account`)
      await page.locator('.own-sessions .own', { hasText: 'This session' }).waitFor()
      await solve(fixture, page, () => page.click('[data-key=sign-out]'))
      t.same(await page.context().cookies(), [])
      t.same(visitor.complaints, [])
    })

    t.test('the page says so if a part of it has not arrived', async t => {
      const { page } = await visit(t, { locale: 'en-US' })
      await page.route('**/sm2.js', route => route.abort())
      await signIn(fixture, page, () => page.goto(wiki))
      await page.locator('.fault', { hasText: 'The gateway does not answer' }).waitFor()
    })

    t.test('the page says so if the browser keeps no cookie', async t => {
      const visitor = await visit(t, { locale: 'en-US' })
      const { page } = visitor
      await page.route('**/login', async route => {
        const body = await (await route.fetch()).text()
        await page.context().clearCookies()
        await route.fulfill({ contentType: 'application/json', body })
      })
      await signIn(fixture, page, () => page.goto(wiki))
      await page.locator('.fault', { hasText: 'the browser did not keep the cookie' }).waitFor()
    })
  })
}

t.test('a sign-in that has failed says so in the other language, too', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t, { config: { browser: { business: 'on' } } })
  const { page } = await visit(t, { locale: 'en-US' })
  await solve(fixture, page, () => page.goto(`${fixture.url}/sign-in/b/?signed-out=1`))
  await page.locator('.told', { hasText: 'You are signed out.' }).waitFor()
  await fillIn(page, ADMIN.username, 'another password')
  await page.click('button[type=submit]')
  const fault = page.locator('.fault:not([hidden])')
  await fault.filter({ hasText: 'Wrong username or password' }).waitFor()
  for (const [language, text] of [
    ['zh', '用户名或密码错误'],
    ['en', 'Wrong username or password'],
  ] as const) {
    await choose(page, language)
    t.equal(await page.getAttribute('html', 'lang'), language === 'zh' ? 'zh-CN' : 'en')
    t.match(await fault.allTextContents(), [new RegExp(text)], language)
    t.equal(await page.locator('.told').count(), 0, 'which is no news any more')
  }
  await signIn(fixture, page, () => choose(page, 'zh'))
  await page.waitForURL(/\/console\/$/)
})

t.test('of two session cookies the sign-in says what to delete', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t, { config: { browser: { business: 'on', secure: 'off' } } })
  const { page } = await visit(t, { locale: 'en-US' })
  const { hostname } = new URL(fixture.url)
  await page.context().addCookies([{ name: 'dualgate-b', value: 'x', domain: hostname, path: '/sign-in' }])
  await signIn(fixture, page, () => page.goto(`${fixture.url}/sign-in/b/`))
  const fault = page.locator('.fault', { hasText: 'two cookies of this site' })
  await fault.waitFor()
  await page.reload()
  await fault.waitFor()
  await page.context().clearCookies()
  await signIn(fixture, page, () => page.reload())
  await page.waitForURL(/\/console\/$/)
})

t.test(
  'a required second factor is set up at the sign-in page, and required from then on',
  { skip: withoutBrowser },
  async t => {
    const visit = await openBrowser(t)
    const fixture = await openFixture(t, {
      config: {
        browser: { business: 'on' },
        gate: { pages: [{ path: '/wiki/*', needs: 'business' }] },
        login: { second_factor: { for: 'all' } },
      },
      upstreams: [{ name: 'wiki', match: '/wiki', target: 'builtin:echo' }],
    })
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, page, () => page.goto(`${fixture.url}/wiki/page#part`))
    await page.locator('h1', { hasText: 'Set up a second factor' }).waitFor()
    const secret = await shownSecret(page)
    t.same(await obstaclesEverywhere(page, 'set-up at the sign-in'), [])
    await page.fill('#code', codeAt(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.check('#is-kept')
    await page.click('[type=submit]')
    await page.waitForURL(/\/wiki\/page#part$/)
    t.same(visitor.complaints, [])

    await page.context().clearCookies()
    await signIn(fixture, page, () => page.goto(`${fixture.url}/wiki/other`))
    await page.locator('h1', { hasText: 'Second factor' }).waitFor()
    await page.fill('#code', codeAt(secret, fixture.now(), 1))
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/wiki\/other$/)
  },
)
