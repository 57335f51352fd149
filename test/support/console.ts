import type { Page } from 'playwright-core'
import type { Visitor } from './browser.ts'
import { ADMIN, type Fixture, someone } from './gateway-fixture.ts'
import { obstaclesEverywhere } from './obstacles.ts'

/* What users do at the page for administrators. */

/**
 * Reads the picture as a person would: the answer comes out of the gateway's own store. What `load` makes the page request counts,
 * for the picture of an earlier form may arrive meanwhile.
 */
export async function solve(fixture: Fixture, page: Page, load: () => Promise<unknown>): Promise<void> {
  const request = page.waitForRequest(/\/public\/b\/captcha/)
  await load()
  const { data } = await (await (await request).response())!.json()
  const answer = await fixture.store.captchas.take('BUSINESS', data.captcha_id)
  await fixture.store.captchas.put('BUSINESS', data.captcha_id, answer!, fixture.now() + 60_000)
  // Before it shows the picture, the page does not know which one is answered.
  await page.locator(`.captcha img[src="${data.captcha_base64}"]`).waitFor()
  await page.fill('#captcha', answer!)
}

export async function fillIn(page: Page, username: string, password: string): Promise<void> {
  await page.fill('#username', username)
  await page.fill('#password', password)
}

/** The form of the sign-in, filled in and sent. */
export async function sendSignIn(fixture: Fixture, page: Page, username: string, password: string): Promise<void> {
  await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
  await fillIn(page, username, password)
  await page.click('button[type=submit]')
}

export async function signIn(
  fixture: Fixture,
  { page }: Visitor,
  username = ADMIN.username,
  password = ADMIN.password,
): Promise<void> {
  await sendSignIn(fixture, page, username, password)
  await page.waitForSelector('.chrome')
}

/** Opens a page by its link. Until it is drawn, another one with fields of the same names may be there. */
export async function openPage(page: Page, name: string): Promise<void> {
  await page.click(`nav [data-key=${name}]`)
  await page.waitForSelector(`main.${name}`)
}

/**
 * From now on the page of sessions loads only what the test makes it load, as one that is hidden: its refresh would remove a
 * button, or lead to the sign-in, before the test does. A refresh that has begun is over by then.
 */
export async function holdRefresh(page: Page): Promise<void> {
  await page.evaluate(() => Object.defineProperty(document, 'hidden', { value: true, configurable: true }))
  for (const request of await page.requests()) await (await request.response())?.finished()
}

/** The same, once the page has loaded for the first time. */
export async function holdRefreshOnceLoaded(page: Page): Promise<void> {
  await page.locator('.refresh', { hasText: /^Updated / }).waitFor()
  await holdRefresh(page)
}

/** The page becomes visible again, as when its user returns from another tab. */
export const comeBack = (page: Page): Promise<unknown> =>
  page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))

/** Searches the list of online users. */
export async function search(page: Page, keyword: string): Promise<void> {
  const found = page.waitForResponse(response => response.url().includes(`keyword=${encodeURIComponent(keyword)}`))
  await page.fill('#keyword', keyword)
  await found
}

/** Sends the form of the open dialog. */
export const confirm = (page: Page): Promise<void> => page.click('dialog [type=submit]')

/** Confirms that what is shown once is kept, and waits until its dialog is closed. */
export async function keep(page: Page): Promise<void> {
  await page.check('dialog #is-kept')
  await confirm(page)
  await page.locator('dialog').waitFor({ state: 'detached' })
}

/** Signed in as a new user with these permissions, without the login form. */
export async function arrive(
  fixture: Fixture,
  visitor: Visitor,
  permissions: string[],
  user = someone(),
): Promise<string> {
  const token = await fixture.gateway.sides.business.login(undefined, user, { username: user, permissions })
  await bring(fixture, visitor, token)
  return token
}

/** Chooses the language of the page, which is then kept by the browser. */
export async function choose(page: Page, language: 'en' | 'zh'): Promise<void> {
  const lang = { en: 'en', zh: 'zh-CN' }[language]
  if ((await page.getAttribute('html', 'lang')) !== lang) await page.click('[data-key=language]')
}

/** Signed in as the user of a token that another client has got. */
export async function bring(fixture: Fixture, { page }: Visitor, token: string): Promise<void> {
  await page.addInitScript(kept => sessionStorage.setItem('dualgate.token', kept), token)
  await page.goto(`${fixture.url}/console/`)
  await page.waitForSelector('.chrome')
}

/**
 * Opens a page of which a part cannot be loaded, until it says so and shows nothing as loading, and has it loaded on request. What
 * users stumble over meanwhile, and the troubles that are left.
 */
export async function openInTrouble(
  page: Page,
  { name, path, loaded, step }: { name: string; path: string; loaded: string; step: string },
): Promise<{ obstacles: string[]; left: number }> {
  await page.route(path, route => route.abort())
  await openPage(page, name)
  await page.locator('.trouble', { hasText: 'The gateway does not answer.' }).waitFor()
  // What the same page loads from other paths may still be on its way.
  await page.waitForFunction(() => !document.body.innerText.includes('Loading…'))
  const obstacles = await obstaclesEverywhere(page, step)
  await page.unroute(path)
  await page.click('.trouble [data-key=retry]')
  await page.waitForSelector(loaded)
  return { obstacles, left: await page.locator('.trouble:not(:empty)').count() }
}

/** What a list of the B side shows of itself when that of the C side, whose calls these are, cannot be loaded. */
export async function besideFailingSide(page: Page, calls: string): Promise<{ found: string | null; pages: number }> {
  await page.locator('.pages', { hasText: 'Page 1 of ' }).waitFor()
  await page.route(calls, route => route.abort())
  await page.click('.sides .CONSUMER')
  await page.locator('.trouble', { hasText: 'The gateway does not answer.' }).waitFor()
  return {
    found: await page.locator('.panel header [role=status]').textContent(),
    pages: await page.locator('.pages > *').count(),
  }
}

/**
 * Holds back the next answer to a call. `answered` resolves when the gateway has given it, and `deliver` waits until the page has
 * taken it.
 */
export async function holdAnswer(page: Page, url: string) {
  const [answered, delivered] = [createGate(), createGate()]
  await page.route(
    url,
    async route => {
      const response = await route.fetch()
      answered.open()
      await delivered.passed
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  return {
    answered: answered.passed,
    async deliver() {
      const late = page.waitForResponse(url)
      delivered.open()
      await (await late).finished()
      await page.evaluate(() => fetch('settings.json'))
    },
  }
}

function createGate() {
  let open = (): void => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { passed, open }
}
