import type { Route } from 'playwright-core'
import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, fillIn, holdRefreshOnceLoaded, sendSignIn, signIn, solve } from '../support/console.ts'
import { ADMIN, someone } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { until } from '../support/until.ts'
import { failSignIn, failStore, openConsole, row } from './console-fixture.ts'
import { textOf } from './texts.ts'

/* How administrators sign in at the page, and leave it. */

t.test('the sign-in and the sign-out of administrators', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openConsole(t)
  const { business } = fixture.gateway.sides

  t.test('a wrong captcha and a wrong password are reported, and a new picture is shown', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await failSignIn(fixture, page)
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

  const UNCONFIRMED = {
    'the store fails': { code: 503, message: 'Service unavailable', data: null, success: false },
    'another host has added a cookie': {
      ...{ code: 401, message: 'Two cookies', success: false },
      data: { cookie: '__Host-dualgate-b' },
    },
  }
  for (const [reason, failure] of Object.entries(UNCONFIRMED))
    t.test(
      `a sign-out that is not confirmed, because ${reason}, is not reported as one, and can be tried again`,
      async t => {
        const visitor = await visit(t)
        const { page } = visitor
        const user = someone()
        const token = await arrive(fixture, visitor, ['sys:session:page'], user)
        await page.route('**/b/logout', route => route.fulfill({ status: 200, json: failure }))
        await page.click('[data-key=sign-out]')
        const fault = page.locator('[role=alert]', { hasText: failure.message })
        await fault.waitFor()
        t.match(await fault.textContent(), textOf('en', 'not_signed_out'))
        t.equal(await page.evaluate(() => sessionStorage.getItem('dualgate.token')), null, 'no later visitor finds it')
        t.equal(await business.getLoginIdByToken(token), user)
        await page.unroute('**/b/logout')
        await page.click('.whole-page button')
        await page.locator('.told', { hasText: textOf('en', 'signed_out') }).waitFor()
        t.equal(await business.getLoginIdByToken(token), '')
      },
    )
})

t.test('the sign-in of administrators, each at a gateway of its own', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  t.test('in the tab of a session whose account is disabled another user can sign in', async t => {
    const fixture = await openConsole(t, { config: { disable: { enforce: 'request' } } })
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
    const fixture = await openConsole(t, {
      config: { login: { captcha: { alternative: 'proof-of-work', difficulty: 12 } } },
    })
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
    const fixture = await openConsole(t)
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
