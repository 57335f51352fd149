import { readFileSync } from 'node:fs'
import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, obstaclesEverywhere } from '../support/console.ts'
import { openFixture, someone } from '../support/gateway-fixture.ts'

/* What administrators find in the journal, and save of it. */

t.test('the journal on the page', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture()
  t.teardown(() => fixture.close())
  const { business } = fixture.gateway.sides

  t.test('entries are found by the name of an account, and those of the filter are saved as CSV', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const [ann, other] = [someone(), someone()]
    await business.login(undefined, ann, { username: `name-${ann}`, nickname: '安' })
    await business.kickout(ann)
    await business.login(undefined, other, { username: `name-${other}` })
    await arrive(fixture, visitor, ['sys:journal:page'])
    const rows = page.locator('.journal-list tbody tr')
    await rows.filter({ hasText: other }).waitFor()
    await page.fill('#journal-username', `NAME-${ann}`)
    await page.click('[data-key=apply]')
    await rows.filter({ hasText: other }).waitFor({ state: 'detached' })
    await rows.filter({ hasText: 'Sessions ended' }).waitFor()
    t.equal(await rows.count(), 2)
    t.match(page.url(), `username=NAME-${ann}`)
    t.same(await obstaclesEverywhere(page, 'journal by name'), [])

    const saved = page.waitForEvent('download')
    await page.click('[data-key=export]')
    const file = await saved
    t.equal(file.suggestedFilename(), 'journal.csv')
    const text = readFileSync(await file.path(), 'utf8')
    t.ok(text.startsWith('\uFEFF'), 'spreadsheets see that it is UTF-8')
    t.match(text, '安')
    t.equal(text.trim().split('\r\n').length, 3, 'the columns and both entries')
    t.notMatch(text, other)
    await page.locator('#notice', { hasText: 'Exported entries: 2.' }).waitFor()
    t.same(visitor.complaints, [], 'the policy of the page allows it')
  })

  t.test('an export that fails saves nothing, and says so', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await arrive(fixture, visitor, ['sys:journal:page'])
    await page.waitForSelector('.journal-list table')
    let saved = 0
    page.on('download', () => saved++)
    await page.route('**/sys/journal/export*', route =>
      route.fulfill({ status: 503, json: { code: 503, message: 'Service unavailable', data: null, success: false } }),
    )
    await page.click('[data-key=export]')
    await page.locator('#notice', { hasText: 'cannot reach its session store' }).waitFor()
    t.equal(saved, 0)
    await page.unroute('**/sys/journal/export*')
    const file = page.waitForEvent('download')
    await page.click('[data-key=export]')
    t.ok(await file, 'it can be tried again')
  })
})
