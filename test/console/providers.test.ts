import type { Page } from 'playwright-core'
import t from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { openBrowser, type Visitor, withoutBrowser } from '../support/browser.ts'
import { choose, comeBack, confirm, holdRefreshOnceLoaded, openPage } from '../support/console.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { openProviderGateway, type ProviderGateway } from '../support/provider-gateway.ts'
import { redisAvailable } from '../support/redis-server.ts'
import { shownSecret } from './accounts-fixture.ts'
import { textOf } from './texts.ts'

/* The sign-in by an OpenID provider, as people see it. */

const USERS = {
  ada: { name: 'Ada Lovelace', preferred_username: 'ada', groups: ['/staff', '/staff/admins'] },
  eve: { name: 'Eve', preferred_username: 'eve', groups: ['/guests'] },
}

const pathOf = (page: Page): string => {
  const { pathname, search, hash } = new URL(page.url())
  return pathname + search + hash
}

const BUTTON = '.provider button'

/** Clicks the button of the provider, which signs in at once; waits for the page of the application. */
async function signIn({ url }: ProviderGateway, page: Page, path = '/wiki/page'): Promise<void> {
  await page.goto(url + path)
  await page.click(BUTTON)
  await page.waitForURL(url + path)
}

/** Whom the application behind the gateway sees. */
const seenUser = async (page: Page): Promise<string> =>
  JSON.parse((await page.textContent('pre')) ?? '{}').headers['x-login-id']

t.test('the sign-in by a provider', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const gateway = await openProviderGateway(t, {
    config: { session_administration: true, browser: { title: 'The wiki of all' }, sessions: { tell_end: '1h' } },
    provider: { require: { groups: ['/staff'] } },
    openid: { users: USERS },
  })
  const { url, openid } = gateway

  /** The requests that begin a sign-in. */
  function startsOf({ page }: Visitor): string[] {
    const starts: string[] = []
    page.on('request', request => request.url().endsWith('/start') && starts.push(request.url()))
    return starts
  }

  t.test('a button leads to the provider, and back to the page with its query and its fragment', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await page.goto(`${url}/wiki/page?a=%2Fb#part`)
    await page.locator(BUTTON, { hasText: /^Company account$/ }).waitFor()
    await page.locator('.captcha img:not([hidden])').waitFor()
    t.same(await obstaclesEverywhere(page, 'password or provider'), [])
    await choose(page, 'zh')
    await page.locator(BUTTON, { hasText: /^公司账号$/ }).waitFor()
    t.same(await obstaclesEverywhere(page, 'password or provider'), [])
    await page.focus(BUTTON)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/wiki\/page/)
    t.equal(pathOf(page), '/wiki/page?a=%2Fb#part')
    t.equal(await seenUser(page), 'staff:ada')

    await page.goBack()
    await page.waitForURL(/\/wiki\/page/)
    t.equal(pathOf(page), '/wiki/page?a=%2Fb#part', 'the sign-in leads on')
    t.same(visitor.complaints, [])
    t.same(visitor.strayed, [])
  })

  t.test('a fragment of any length comes back with its page', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    for (const [number, fragment] of ['a'.repeat(2100), '(),:'.repeat(800), '(),:'.repeat(100)].entries()) {
      await signIn(gateway, page, `/wiki/page?a=${number}#${fragment}`)
      t.equal(pathOf(page), `/wiki/page?a=${number}#${fragment}`)
      await page.context().clearCookies({ name: 'dualgate-b' })
    }
    t.same(visitor.complaints, [])
  })

  t.test('a long fragment comes back after a sign-in that has failed, and a reload', async t => {
    const { page } = await visit(t)
    const path = `/wiki/page#${'a'.repeat(3000)}`
    openid.user = 'eve'
    t.teardown(() => {
      openid.user = 'ada'
    })
    await page.goto(url + path)
    await page.click(BUTTON)
    await page.locator('.fault', { hasText: 'group-required' }).waitFor()
    await page.reload()
    openid.user = 'ada'
    await page.context().clearCookies()
    await page.click(BUTTON)
    await page.waitForURL(/\/wiki\/page/)
    t.equal(pathOf(page), path)
  })

  t.test('a long fragment of a sign-in that was given up is not that of the next one', async t => {
    const { page } = await visit(t)
    let open = () => {}
    openid.held = new Promise(resolve => {
      open = resolve
    })
    await page.goto(`${url}/wiki/page#${'a'.repeat(3000)}`)
    await Promise.all([page.waitForRequest(/\/interaction\//), page.click(BUTTON, { noWaitAfter: true })])
    await page.goto(`${url}/wiki/page`)
    open()
    await page.click(BUTTON)
    await page.waitForURL(/\/wiki\/page/)
    t.equal(pathOf(page), '/wiki/page')
  })

  t.test('a browser that stores nothing loses a long fragment, and not the page', async t => {
    const { page } = await visit(t, {})
    await page.addInitScript(() => {
      const get = () => {
        throw new DOMException('no storage', 'SecurityError')
      }
      Object.defineProperty(window, 'sessionStorage', { get })
    })
    await page.goto(`${url}/wiki/page?a=1#${'(),:'.repeat(800)}`)
    await page.click(BUTTON)
    await page.waitForURL(/\/wiki\/page/)
    t.equal(pathOf(page), '/wiki/page?a=1')
  })

  t.test('two tabs that began before either has finished both arrive', async t => {
    const { page } = await visit(t)
    const second = await page.context().newPage()
    let open = () => {}
    openid.held = new Promise(resolve => {
      open = resolve
    })
    for (const [tab, path] of [
      [page, '/wiki/one'],
      [second, '/wiki/two'],
    ] as const) {
      await tab.goto(url + path)
      await Promise.all([tab.waitForRequest(/\/interaction\//), tab.click(BUTTON, { noWaitAfter: true })])
    }
    open()
    await Promise.all([page.waitForURL(`${url}/wiki/one`), second.waitForURL(`${url}/wiki/two`)])
    t.same([await seenUser(page), await seenUser(second)], ['staff:ada', 'staff:ada'])
    await second.close()
  })

  t.test('what a restored tab repeats goes on with the session, and begins nothing', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const callback = page.waitForRequest(/\/callback\?/)
    await signIn(gateway, page)
    const starts = startsOf(visitor)
    for (const address of [(await callback).url(), `${url}/sign-in/b/?to=%2Fwiki%2Fpage&arrived=1`]) {
      await page.goto(address)
      await page.waitForURL(/\/wiki\/page$/)
      t.equal(await seenUser(page), 'staff:ada')
    }
    await page.goto(`${url}/sign-in/b/?to=%2Fwiki%2Fother&failed=denied`)
    await page.waitForURL(/\/wiki\/other$/)

    await page.context().clearCookies()
    await page.goto(`${url}/sign-in/b/?to=%2Fwiki%2Fpage%23part&arrived=1#_=_`)
    await page.locator('.fault', { hasText: textOf('en', 'cookie_not_kept') }).waitFor()
    t.equal(pathOf(page), '/sign-in/b/?to=%2Fwiki%2Fpage%23part')
    await page.reload()
    await page.waitForSelector(BUTTON)
    t.notOk(await page.isVisible('.fault'))
    t.same(starts, [])
    await page.click(BUTTON)
    await page.waitForURL(/\/wiki\/page#part$/)
    t.same(visitor.complaints, [])
  })

  t.test('the callback of another browser says what to do', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const other = gateway.browser()
    const callback = await other.atProvider(await other.start())
    await page.goto(url + callback)
    const text = `${textOf('en', 'failed_other-browser')} Reason: other-browser`
    t.equal(await page.locator('.fault:not([hidden])').textContent(), text)
    t.equal(pathOf(page), '/sign-in/b/')
    t.same(await obstaclesEverywhere(page, 'other browser'), [])
    await page.click(BUTTON)
    await page.waitForURL(`${url}/console/`)
    t.same(visitor.complaints, [])
  })

  t.test('a user who lacks what is required sees it, with the word for the administrator', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    openid.user = 'eve'
    t.teardown(() => {
      openid.user = 'ada'
    })
    await page.goto(`${url}/wiki/page`)
    await page.click(BUTTON)
    const fault = page.locator('.fault', { hasText: `${textOf('en', 'failed_group-required')} Reason: group-required` })
    await fault.waitFor()
    t.equal(pathOf(page), '/sign-in/b/?to=%2Fwiki%2Fpage')
    await choose(page, 'zh')
    await page.locator('.fault', { hasText: '原因：group-required' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'failed requirement'), [])
    await choose(page, 'en')
    for (const word of ['token-signature', '<b>', 'A'.repeat(9), 'toString']) {
      await page.goto(`${url}/sign-in/b/?${new URLSearchParams({ failed: word })}`)
      const general = textOf('en', 'failed_sign_in')
      const shown = await page.locator('.fault:not([hidden])').textContent()
      t.equal(shown, word === 'token-signature' ? `${general} Reason: ${word}` : general)
    }
    t.same(visitor.complaints, [])
  })

  t.test('the page for administrators signs in and out by the provider, and names it', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await page.goto(`${url}/console/#account`)
    await page.click(BUTTON)
    await page.waitForSelector('.chrome')
    t.equal(pathOf(page), '/console/#account')
    const session = page.locator('.own-sessions tr', { hasText: 'this session' })
    await session.filter({ hasText: 'by staff' }).waitFor()
    await page.locator('.facts', { hasText: 'staff:ada' }).waitFor()
    t.equal(await page.locator('.panels .panel').count(), 1, 'there is nothing to change')
    await page.locator('.own-keys').waitFor({ state: 'hidden' })
    t.same(await obstaclesEverywhere(page, 'account of a provider'), [])

    await openPage(page, 'sessions')
    await page.locator('.user-list tbody button', { hasText: 'Sessions' }).first().click()
    await page.locator('.token-list', { hasText: 'by staff' }).waitFor()
    await page.keyboard.press('Escape')
    await openPage(page, 'journal')
    await page.locator('.journal-list tr', { hasText: 'Signed in' }).filter({ hasText: 'by staff' }).first().waitFor()
    t.same(await obstaclesEverywhere(page, 'journal of a provider'), [])

    await page.click('[data-key=sign-out]')
    await page.waitForURL(new RegExp(`^${openid.issuer}/`))
    await page.evaluate(confirmSignOut)
    await page.locator('.told', { hasText: textOf('en', 'signed_out') }).waitFor()
    t.equal(pathOf(page), '/sign-in/b/?signed-out=1')
    t.same(
      (await page.context().cookies()).filter(({ name }) => name === 'dualgate-b'),
      [],
    )
    t.same(visitor.complaints, [])
  })

  t.test('a sign-out goes on to the provider when its user comes back from another tab meanwhile', async t => {
    const { page } = await visit(t)
    await page.goto(`${url}/console/`)
    await page.click(BUTTON)
    await page.waitForSelector('.chrome')
    // The way to the provider, which may take long, during which the page is still there.
    await page.evaluate(() => {
      HTMLFormElement.prototype.submit = function () {
        this.dataset.sent = this.action
      }
    })
    await page.click('[data-key=sign-out]')
    t.match(await page.locator('form[data-sent]').getAttribute('action'), /\/sign-out\/b$/)
    t.equal(await page.locator('#app').textContent(), 'Loading…', 'nothing of the session')
    await page.context().clearCookies()
    const looks: string[] = []
    page.on('request', request => void looks.push(request.url()))
    await comeBack(page)
    t.same(looks, [], 'nothing that could lead elsewhere')
    t.equal(pathOf(page), '/console/')
  })

  t.test('a double click on the sign-out page signs out once, here and at the provider', async t => {
    const { page } = await visit(t)
    await signIn(gateway, page)
    await page.goto(`${url}/sign-out/b`)
    const sent: string[] = []
    page.on('request', request => request.method() === 'POST' && sent.push(new URL(request.url()).pathname))
    let isClicked = (): void => {}
    const clicked = new Promise<void>(resolve => {
      isClicked = resolve
    })
    const before = openid.requests.length
    // Between the clicks of a person the first one ends the session. The page stays until the second is over.
    const ended = new Promise<void>(resolve =>
      page.route('**/sign-out/b', async route => {
        const response = await route.fetch({ maxRedirects: 0 })
        resolve()
        await clicked
        await route.fulfill({ response })
      }),
    )
    await page.locator('form [type=submit]').hover()
    for (const clickCount of [1, 2]) {
      await page.mouse.down({ clickCount })
      await page.mouse.up({ clickCount })
      await ended
    }
    isClicked()
    await page.waitForURL(({ pathname }) => pathname !== '/sign-out/b')
    t.ok(page.url().startsWith(`${openid.issuer}/session/end?`), page.url())
    await page.evaluate(confirmSignOut)
    await page.locator('.told', { hasText: textOf('en', 'signed_out') }).waitFor()
    t.same(sent, ['/sign-out/b', '/session/end/confirm'])
    t.same(openid.requests.slice(before), ['GET /session/end', 'POST /session/end/confirm'])
  })

  t.test('a logout at the provider ends the open page, and the sign-in says why', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await page.goto(`${url}/console/`)
    await page.click(BUTTON)
    await page.waitForSelector('.chrome')
    await holdRefreshOnceLoaded(page)
    await openid.logout('ada')
    await page.click('nav [data-key=journal]')
    await page.locator('.fault', { hasText: textOf('en', 'because_provider-logout') }).waitFor()
    t.match(pathOf(page), /^\/sign-in\/b\/\?to=%2Fconsole%2F/)
    t.same(visitor.complaints, [])
  })

  t.test('a password that is shown once stays when the session ends, until it is kept', async t => {
    const { page } = await visit(t)
    await page.goto(`${url}/console/#accounts`)
    await page.click(BUTTON)
    await page.click('[data-key=add]')
    await page.fill('#account-username', 'shown-once')
    await confirm(page)
    const password = await page.locator('dialog .secret code').textContent()
    await gateway.gateway.sides.business.kickout('staff:ada')
    const ended = page.waitForResponse(/\/sign-in\/b\/session$/)
    await comeBack(page)
    await ended
    await page.locator('#app', { hasText: 'Loading…' }).waitFor()
    t.equal(await page.locator('dialog .secret code').textContent(), password)
    await page.check('dialog #is-kept')
    await confirm(page)
    await page.locator('.fault', { hasText: textOf('en', 'because_kicked-out') }).waitFor()
  })

  t.test('a callback that comes too late says so', async t => {
    const { page } = await visit(t)
    const browser = gateway.browser()
    const callback = await browser.atProvider(await browser.start())
    await gateway.elapse(660_000)
    await page.goto(url + callback)
    await page.locator('.fault', { hasText: `${textOf('en', 'failed_expired')} Reason: unknown-state` }).waitFor()
  })
})

/** Runs in the browser: confirms the end of the session at the provider. */
function confirmSignOut(): void {
  const form = document.forms[0]!
  const answer = document.createElement('input')
  Object.assign(answer, { name: 'logout', value: 'yes' })
  form.append(answer)
  form.submit()
}

t.test('with providers alone, and a second factor of the gateway', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const gateway = await openProviderGateway(t, {
    store: redisAvailable() ? 'redis' : 'embedded',
    config: { login: { password: 'off', second_factor: { for: 'all' } } },
    provider: { second_factor: 'own' },
  })
  const { url } = gateway
  const visitor = await visit(t)
  const { page } = visitor
  const calls: string[] = []
  page.on('request', request => calls.push(new URL(request.url()).pathname))

  await page.goto(`${url}/wiki/page#part`)
  await page.locator('.sign-in', { hasText: textOf('en', 'sign_in_by_provider') }).waitFor()
  t.equal(await page.locator('input:not([type=hidden])').count(), 0, 'no password')
  t.ok(await page.evaluate(selector => document.activeElement?.matches(selector), BUTTON))
  t.same(await obstaclesEverywhere(page, 'providers alone'), [])
  await choose(page, 'zh')
  t.same(await obstaclesEverywhere(page, 'providers alone'), [])
  await choose(page, 'en')
  t.notOk(
    calls.some(path => path.endsWith('/captcha')),
    'no captcha',
  )

  await page.click(BUTTON)
  await page.locator('h1', { hasText: 'Set up a second factor' }).waitFor()
  t.equal(pathOf(page), '/sign-in/b/?to=%2Fwiki%2Fpage%23part')
  const secret = await shownSecret(page)
  await page.fill('#code', codeAt(secret, gateway.now()))
  await page.keyboard.press('Enter')
  await page.check('#is-kept')
  await page.click('[type=submit]')
  await page.waitForURL(/\/wiki\/page#part$/)
  t.equal(await seenUser(page), 'staff:ada')

  await page.context().clearCookies({ name: 'dualgate-b' })
  const step = page.waitForRequest(/[?&]step=/)
  await page.goto(`${url}/wiki/page`)
  await page.click(BUTTON)
  await page.locator('.sign-in', { hasText: textOf('en', 'step_second_factor_proven') }).waitFor()
  t.same(await obstaclesEverywhere(page, 'second factor after a provider'), [])
  await page.fill('#code', codeAt(secret, gateway.now(), 1))
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/wiki\/page$/)
  t.same(visitor.complaints, [])

  await page.context().clearCookies({ name: 'dualgate-b' })
  await page.goto((await step).url())
  await page.locator('.fault', { hasText: textOf('en', 'step_expired') }).waitFor()
  t.equal(await page.locator(BUTTON).count(), 1, 'the user can begin again')
})
