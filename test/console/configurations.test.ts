import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, holdRefreshOnceLoaded, signIn } from '../support/console.ts'
import { ADMIN, type FixtureOptions } from '../support/gateway-fixture.ts'
import { failSignIn, openConsole, row } from './console-fixture.ts'
import { textOf } from './texts.ts'

/* The page for administrators, as the configuration of the gateway makes it. */

t.test('the page works with every configuration of the gateway', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  for (const [what, options, ended = 'ended'] of [
    ['profile 2, with another token header', { profile: 2, config: { jwt: { token_name: 'X-Token' } } }],
    ['real statuses, in Chinese', { config: { errors: { http_status: 'native' }, locale: 'zh-CN' } }],
    ['version 3 of the API', { config: { api_versions: [3] } }],
    ['reasons of ends', { config: { sessions: { tell_end: '24h' } } }, 'because_kicked-out'],
  ] as [string, FixtureOptions, string?][]) {
    t.test(what, async t => {
      const fixture = await openConsole(t, options)
      const visitor = await visit(t)
      const { page } = visitor
      await failSignIn(fixture, page)
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
    const fixture = await openConsole(t, { config: { login: { logout_routes: false } } })
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    const token = await page.evaluate(() => sessionStorage.getItem('dualgate.token'))
    await page.click('[data-key=sign-out]')
    await page.locator('.told', { hasText: 'You are signed out.' }).waitFor()
    t.equal(await fixture.gateway.sides.business.getLoginIdByToken(token!), '')
  })

  t.test('without any administration, the page is that of the own account', async t => {
    const fixture = await openConsole(t, {
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
    const fixture = await openConsole(t, { config: { session_administration: false } })
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
})
