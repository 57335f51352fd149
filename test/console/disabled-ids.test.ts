import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { search, signIn } from '../support/console.ts'
import { someone } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { openConsole, row } from './console-fixture.ts'

/* Login ids are disabled and enabled at the page of sessions. */

t.test('disabled login ids at the page', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openConsole(t)
  const { consumer } = fixture.gateway.sides

  t.test('a login id is disabled for a time, and can be enabled again while it is offline', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await consumer.login(undefined, user, { username: user })
    await signIn(fixture, visitor)
    await page.click('.sides .CONSUMER')
    await search(page, user)
    await row(page, user).getByRole('button', { name: 'Disable' }).click()
    await page.selectOption('#disable-time', { label: '1 d' })
    await page.click('dialog form .danger')
    await page.locator('.empty').waitFor()
    t.equal(await consumer.isDisable(user), true)
    t.equal(await consumer.login(undefined, user).catch(({ reason }) => reason), 'DISABLED')

    await page.click('.empty button')
    await page.locator('.login-id-state', { hasText: /Disabled, (1 d|23 h).* left/ }).waitFor()
    await page.click('[data-key=enable]')
    await page.locator('.login-id-state', { hasText: 'Not disabled' }).waitFor()
    t.equal(await consumer.isDisable(user), false)
    t.same(visitor.complaints, [])
  })

  t.test('disabled login ids are listed, page by page, with what the journal says, and enabled there', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const users = Array.from({ length: 12 }, (_, i) => `${someone()}-${i}`)
    for (const [i, user] of users.entries()) await consumer.disable(user, 600 + i * 3600)
    await signIn(fixture, visitor)
    await page.click('.sides .CONSUMER')
    await page.click('[data-key=disabled-ids]')
    const dialog = page.locator('dialog')
    const ids = () => dialog.locator('tbody .who').allTextContents()
    await dialog.locator('.pages', { hasText: 'Page 1 of 2' }).waitFor()
    t.same(await ids(), users.slice(0, 10))
    t.match(await dialog.locator('tbody tr >> nth=1').textContent(), /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(1 h|59 min)/)
    t.same(await obstaclesEverywhere(page, 'disabled login ids'), [])
    await dialog.locator('[data-key=next]').click()
    await dialog.locator('.pages', { hasText: 'Page 2 of 2' }).waitFor()
    t.same(await ids(), users.slice(10))
    const refusal = { code: 503, message: 'Service unavailable', data: null, success: false }
    await page.route('**/client/session/disabled-page*', route => route.fulfill({ json: refusal }))
    await dialog.locator('[data-key=previous]').click()
    await dialog.locator('.trouble', { hasText: refusal.message }).waitFor()
    t.same(await ids(), users.slice(10), 'what was loaded stays')
    await page.unroute('**/client/session/disabled-page*')
    await dialog.locator('[data-key=retry]').click()
    await dialog.locator('.pages', { hasText: 'Page 1 of 2' }).waitFor()
    await dialog.locator('[data-key=next]').click()
    await dialog.locator('.pages', { hasText: 'Page 2 of 2' }).waitFor()

    for (const user of users.slice(10)) {
      await dialog.locator(`[data-key="enable ${user}"]`).click()
      await page.locator('#notice', { hasText: `${user} can sign in again.` }).waitFor()
      t.equal(await consumer.isDisable(user), false)
    }
    await dialog.locator('.pages', { hasText: 'Page 1 of 1' }).waitFor()
    t.same(await ids(), users.slice(0, 10), 'the page before, once this one is empty')
    await dialog.locator('tr', { hasText: users[3]! }).locator('a').click()
    const entries = page.locator('.journal-list tbody tr')
    await entries.filter({ hasText: users[3]! }).waitFor()
    t.equal(await entries.count(), 1)
    t.match(await entries.textContent(), 'Disabled')
    t.equal(await dialog.count(), 0)
    t.same(visitor.complaints, [])
  })
})
