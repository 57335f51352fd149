import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Visitor } from '../support/browser.ts'
import { arrive, fillIn, search, solve } from '../support/console.ts'
import { ADMIN, type Fixture, type FixtureOptions, openFixture, someone } from '../support/gateway-fixture.ts'

/* A gateway with the page for administrators, and what its users see of the sessions there. */

export const rows = (page: Page) => page.locator('.user-list tbody tr')
export const row = (page: Page, text: string) => rows(page).filter({ hasText: text })

export const openConsole = (t: Test, options: FixtureOptions = {}): Promise<Fixture> =>
  openFixture(t, { ...options, config: { session_administration: true, ...options.config } })

/** Sends the form of the sign-in with a wrong password; the next picture is solved then. */
export async function failSignIn(fixture: Fixture, page: Page): Promise<void> {
  await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
  await fillIn(page, ADMIN.username, 'wrong')
  await solve(fixture, page, async () => {
    await page.click('button[type=submit]')
    await page.locator('.fault', { hasText: 'Wrong username or password' }).waitFor()
  })
}

/** A new user of the B side with so many sessions, which an administrator who may end them has found in the list. */
export async function searchNewUser(
  fixture: Fixture,
  visitor: Visitor,
  sessions = 1,
): Promise<{ user: string; tokens: string[] }> {
  const user = someone()
  const tokens: string[] = []
  for (let i = 0; i < sessions; i++)
    tokens.push(await fixture.gateway.sides.business.login(undefined, user, { username: user }))
  await arrive(fixture, visitor, ['sys:session:*'])
  await search(visitor.page, user)
  return { user, tokens }
}

/** Every call of the gateway is answered as if the store did not answer it. */
export const failStore = (page: Page): Promise<unknown> => failCalls(page, 'Service unavailable')

/** Every call of the gateway is answered with 503. */
export const failCalls = (page: Page, message: string): Promise<unknown> =>
  page.route(/\/api\//, route =>
    route.fulfill({ status: 503, json: { code: 503, message, data: null, success: false, trace_id: '' } }),
  )
