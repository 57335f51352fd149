import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { openFixture } from '../support/gateway-fixture.ts'

t.test('the documents show in a browser', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t)

  for (const [path, ready] of [
    ['/docs', '.opblock-summary-path'],
    ['/redoc', '[data-section-id] h2'],
  ] as const) {
    t.test(`${path} shows every route, runs nothing inline and asks no other server`, async t => {
      const { page, complaints, strayed } = await visit(t)
      await page.goto(fixture.url + path)
      await page.waitForSelector(ready)
      const { paths } = (await fixture.get('/openapi.json')).json()
      const text = await page.evaluate(() => document.body.textContent)
      // Where a line may be broken stands a space of no width.
      const shown = text.replaceAll('\u200b', '')
      for (const route of Object.keys(paths)) t.ok(shown.includes(route), route)
      t.same(complaints, [])
      t.same(strayed, [])
    })
  }

  t.test('/docs can send a request', async t => {
    const { page } = await visit(t)
    await page.goto(`${fixture.url}/docs`)
    const captcha = page.locator('.opblock', { hasText: '/api/v1/public/b/captcha' })
    await captcha.locator('.opblock-summary-control').click()
    await captcha.locator('.try-out__btn').click()
    await captcha.locator('.execute').click()
    await captcha.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    t.match(await captcha.locator('.live-responses-table').textContent(), /captcha_id/)
  })
})
