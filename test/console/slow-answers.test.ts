import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, comeBack, confirm, holdAnswer, search, sendSignIn } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { openAccounts, PASSWORD } from './accounts-fixture.ts'
import { failCalls, openConsole, row, searchNewUser } from './console-fixture.ts'
import { textOf } from './texts.ts'

/* The page on a network that delays and loses what it asks for. */

/** The login id whose state the check shows. */
const checked = (page: Page) => page.locator('.login-id-state code')

async function check(page: Page, loginId: string): Promise<void> {
  await page.fill('#login-id', loginId)
  await page.locator('dialog').getByRole('button', { name: 'Check' }).click()
}

t.test('the page on a slow network', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openConsole(t)
  const { business } = fixture.gateway.sides

  t.test('a refresh that began before the end of a user does not bring the user back', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { user } = await searchNewUser(fixture, visitor)
    await page.locator('.users header', { hasText: '1 found' }).waitFor()
    const held = await holdAnswer(page, '**/sys/session/page*')
    await row(page, user).locator('.danger').click()
    await comeBack(page)
    await held.answered
    await confirm(page)
    await page.locator('.users .empty').waitFor()
    await held.deliver()
    t.equal(await row(page, user).count(), 0)
  })

  t.test('the sessions of a user are those of the last answer', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { user } = await searchNewUser(fixture, visitor, 2)
    const sessions = page.locator('.token-list tbody tr')
    const held = await holdAnswer(page, '**/sys/session/tokens*')
    await page.click(`[data-key="user ${user}"]`)
    await held.answered
    await page.locator('dialog footer .danger').click()
    await page.locator('dialog form .danger').click()
    await page.locator('.token-list', { hasText: textOf('en', 'none_left') }).waitFor()
    await held.deliver()
    t.equal(await sessions.count(), 0)
    await page.keyboard.press('Escape')
  })

  t.test('the answer about a login id does not take the place of that about the next', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await arrive(fixture, visitor, ['sys:session:*'])
    await page.click('[data-key=check-id]')
    const [first, second] = [someone(), someone()]
    const held = await holdAnswer(page, `**/disabled?user_id=${first}`)
    await check(page, first)
    await held.answered
    await check(page, second)
    await page.locator('.login-id-state', { hasText: second }).waitFor()
    await held.deliver()
    t.same(await checked(page).allTextContents(), [second])
  })

  t.test('a login id is enabled once, however often its button is clicked meanwhile', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await business.disable(user, 600)
    await arrive(fixture, visitor, ['sys:session:*'])
    await page.click('[data-key=check-id]')
    await check(page, user)
    const enable = page.locator('[data-key=enable]')
    let sent = 0
    page.on('request', request => void (request.url().includes('/untie-disable') && sent++))
    const held = await holdAnswer(page, '**/untie-disable')
    await enable.click()
    await held.answered
    await enable.dispatchEvent('click')
    await held.deliver()
    await page.locator('.login-id-state', { hasText: 'Not disabled' }).waitFor()
    t.equal(sent, 1)
  })

  t.test('a screen reader receives once what every refresh says, and again after each attempt of its user', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await arrive(fixture, visitor, ['sys:session:page'])
    await search(page, someone())
    await failCalls(page, 'Service unavailable')
    const said = page.locator('.trouble span')
    const again = async (act: () => Promise<unknown>): Promise<boolean> => {
      await said.evaluate(span => Object.assign(window, { span }))
      const answer = page.waitForResponse('**/sys/session/page*')
      await act()
      await (await answer).finished()
      await page.evaluate(() => fetch('settings.json'))
      return said.evaluate(span => span !== (window as unknown as { span: Element }).span)
    }
    await comeBack(page)
    await said.waitFor()
    t.equal(await again(() => comeBack(page)), false)
    t.equal(await again(() => page.click('.trouble [data-key=retry]')), true)
  })

  t.test('JSON that is no envelope counts as no answer', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await arrive(fixture, visitor, ['sys:session:page'])
    for (const json of [null, 'gone']) {
      await page.route('**/sys/session/page*', route => route.fulfill({ status: 502, json }))
      await page.reload()
      await page.locator('.trouble', { hasText: textOf('en', 'offline') }).waitFor()
      await page.unroute('**/sys/session/page*')
    }
    t.same(
      visitor.complaints.filter(complaint => !complaint.includes('502')),
      [],
    )
  })

  t.test('where a script does not arrive, the page says what to do', async t => {
    const { page } = await visit(t)
    const advice = page.getByText('reload the page')
    await page.route('**/console/main.js', route => route.abort())
    await page.goto(`${fixture.url}/console/`)
    const animations = await page.evaluate(() =>
      document.getAnimations().map(animation => {
        const delay = animation.effect!.getComputedTiming().delay
        animation.finish()
        return delay
      }),
    )
    t.same(animations, [8000], 'not at once')
    t.ok(await advice.isVisible())
    await page.unroute('**/console/main.js')
    await page.reload()
    await page.waitForSelector('#username')
    t.equal(await advice.count(), 0)
  })
})

t.test('the set-up of a second factor whose request is lost can be tried again', { skip: withoutBrowser }, async t => {
  const { visit, fixture, add } = await openAccounts(t)
  const { page } = await visit(t)
  const { username } = await add({ roles: ['guarded'] })
  await page.route('**/second-factor/setup', route => route.abort(), { times: 1 })
  await sendSignIn(fixture, page, username, PASSWORD)
  await page.locator('.fault', { hasText: textOf('en', 'offline') }).waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.waitForSelector('.qr')
  t.equal(await page.evaluate(() => document.activeElement?.id), 'code')
})
