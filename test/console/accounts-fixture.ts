import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { openBrowser } from '../support/browser.ts'
import { openPage, signIn } from '../support/console.ts'
import { type Fixture, type FixtureOptions, openFixture, sm2KeyPath, someone } from '../support/gateway-fixture.ts'
import { encrypt } from '../support/login-work.ts'

/* A gateway and a browser for the pages with accounts. */

export const PASSWORD = 'given by an admin 1'
export const OWN_PASSWORD = 'an own password 7'

export interface Added {
  id: string
  username: string
}

export const pagesOf = (page: Page) => page.locator('nav a').allTextContents()

/** Searches the list of accounts for one, and returns its row. */
export async function find(page: Page, { username }: Added) {
  // The page before it may have a search field, too.
  await page.waitForSelector('.account-list')
  await page.fill('#keyword', username)
  await page.locator('.account-list tbody tr', { hasText: username }).waitFor()
  // And not "11 found".
  await page.locator('.panel header', { hasText: /(?:^|\D)1 found/ }).waitFor()
  return page.locator('.account-list tbody tr')
}

/** Opens the account in the only row of the list, and presses a button there. */
export async function openAnd(page: Page, button: string): Promise<void> {
  await page.click('.account-list .link')
  await page.locator('dialog footer').getByRole('button', { name: button }).click()
}

/** The secret that a set-up shows, as an app reads it. */
export const shownSecret = async (page: Page): Promise<string> =>
  ((await page.locator('.secret').textContent()) ?? '').replaceAll(' ', '')

export const isLive = async (fixture: Fixture, token: string): Promise<boolean> =>
  (await fixture.gateway.sides.business.getLoginIdByToken(token)) !== ''

export type AccountsFixture = Awaited<ReturnType<typeof openAccounts>>

export async function openAccounts(t: Test, { config = {}, ...options }: FixtureOptions = {}) {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t, {
    ...options,
    config: {
      login: { consumer: { kind: 'file', path: 'consumers.yaml' }, second_factor: { for: ['guarded'] } },
      ...config,
    },
  })
  const admin = await fixture.signIn()
  const administer = async (path: string, body: object) => (await fixture.post(`/api/v1/${path}`, body, admin)).json()

  /** Adds an account, by default one that is used at once. */
  async function add(account: object = {}, base = 'sys/account'): Promise<Added> {
    const username = someone()
    const password = encrypt(PASSWORD, (await fixture.get(sm2KeyPath(1))).json().data)
    const body = { username, password, must_change_password: false, ...account }
    const answer = await administer(`${base}/add`, body)
    if (answer.success !== true) throw new Error(JSON.stringify(answer))
    return { id: answer.data.id, username }
  }

  /**
   * Enters a code of an app. Each is worth once, so a step of time passes. Only when the field is there: a login under way would
   * take the time that passes for its own, and be refused as too slow.
   */
  async function fillNextCode(page: Page, secret: string): Promise<void> {
    await page.waitForSelector('#code')
    await fixture.elapse(30_000)
    await page.fill('#code', codeAt(secret, fixture.now()))
  }

  /** An administrator has opened a new account in the list, and pressed a button there. */
  async function openAbout(t: Test, button: string, given: object = {}): Promise<{ page: Page; account: Added }> {
    const visitor = await visit(t)
    const account = await add(given)
    await signIn(fixture, visitor)
    await openPage(visitor.page, 'accounts')
    await find(visitor.page, account)
    await openAnd(visitor.page, button)
    return { page: visitor.page, account }
  }

  return { visit, fixture, administer, add, openAbout, fillNextCode }
}

/** A C-side token by the whole login. */
export async function signInConsumer(fixture: Fixture, username: string, password: string): Promise<string> {
  const { id, answer } = await fixture.captcha('c')
  const publicKey = (await fixture.get(sm2KeyPath(1).replace('/b/', '/c/'))).json().data
  const body = { username, password: encrypt(password, publicKey), captcha_id: id, captcha_value: answer }
  return (await fixture.post('/api/v1/public/c/login', body)).json().data.token
}
