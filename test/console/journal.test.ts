import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { JournalEntry } from '../../src/store/journal.ts'
import { createEntryId } from '../../src/store/journal-id.ts'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, choose } from '../support/console.ts'
import { openFixture, someone } from '../support/gateway-fixture.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { textOf } from './texts.ts'

/* What administrators find in the journal, and save of it. */

/** Waits for the filter of an address with times. Until it is drawn, that of the address before is there. */
const timesShown = (page: Page) =>
  page.waitForFunction(() => document.querySelector<HTMLInputElement>('#journal-until')?.value !== '')

t.test('the journal on the page', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t, { config: { timezone: 'Asia/Shanghai' } })
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

  t.test('on the narrowest window of the layout it is no wider than that', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await page.setViewportSize({ width: 320, height: 640 })
    const user = someone()
    await business.login(undefined, user, { username: user })
    await arrive(fixture, visitor, ['sys:journal:page'])
    for (const language of ['en', 'zh'] as const) {
      await choose(page, language)
      await page.locator('.journal-list tbody tr', { hasText: user }).waitFor()
      t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, language)
    }
  })

  t.test('beside a filter whose entries are not there stand no pages of the filter before', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    const idAt = createEntryId()
    const entries = Array.from({ length: 60 }, (): JournalEntry => {
      const id = idAt(Math.floor(fixture.now()))
      return { id, event: 'kickout', type: 'CONSUMER', login_id: user, trace_id: someone(), by: 'operations' }
    })
    await fixture.store.journal.append(entries, fixture.now() + 60_000)
    await arrive(fixture, visitor, ['sys:journal:page'])
    const more = page.locator('[data-key=more]')
    await more.waitFor()
    await page.route('**/sys/journal/page*', route => route.abort())
    await page.fill('#journal-login-id', user)
    await page.click('[data-key=apply]')
    await page.locator('.trouble', { hasText: 'The gateway does not answer.' }).waitFor()
    t.equal(await more.count(), 0, 'they would begin in the middle')
    await page.unroute('**/sys/journal/page*')
    await page.click('[data-key=retry]')
    await more.waitFor()
    t.equal(await page.locator('.journal-list tbody tr').count(), 50)
    await page.route('**/sys/journal/page*', route => route.abort())
    await more.click()
    await page.locator('.trouble', { hasText: 'The gateway does not answer.' }).waitFor()
    await page.unroute('**/sys/journal/page*')
    await page.click('[data-key=retry]')
    await page.locator('.trouble').getByRole('button').waitFor({ state: 'detached' })
    t.equal(await page.locator('.journal-list tbody tr').count(), 60, 'the older entries that were requested')
    await page.locator('.pages', { hasText: textOf('en', 'all_entries') }).waitFor()
  })

  t.test('an address with seconds in its times is a filter that can be changed', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const user = someone()
    await business.login(undefined, user)
    await arrive(fixture, visitor, ['sys:journal:page'])
    await page.evaluate(() => {
      location.hash = '#journal?since=2020-01-02 03:04:05&until=2099-01-02T03:04:05'
    })
    await timesShown(page)
    await page.fill('#journal-login-id', user)
    await page.click('[data-key=apply]')
    await page.waitForURL(/login_id=/)
    t.match(page.url(), 'since=2020-01-02+03%3A04%3A05&until=2099-01-02+03%3A04%3A05')
    await page.locator('.journal-list tbody tr', { hasText: user }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test(
    'times with an offset are shown in the time zone of the gateway, and stay when the filter is changed',
    async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(fixture, visitor, ['sys:journal:page'])
      await page.evaluate(() => {
        location.hash = '#journal?since=2020-01-02T03:04:05.5Z&until=2099-07-02 03:04:05%2B02:00'
      })
      await timesShown(page)
      await page.fill('#journal-login-id', someone())
      await page.click('[data-key=apply]')
      await page.waitForURL(/login_id=/)
      t.match(page.url(), 'since=2020-01-02+11%3A04%3A05.5&until=2099-07-02+09%3A04%3A05')
      await page.locator('.journal-list .empty', { hasText: textOf('en', 'no_entries') }).waitFor()
    },
  )

  t.test(
    'who did something is named by the side of the login id, and a word of the gateway is no login id',
    async t => {
      const visitor = await visit(t)
      const { page } = visitor
      // Administrators whose login ids consumers have, too; one of them is spelled as a word of the gateway.
      const ids = [someone(), 'operations']
      const idAt = createEntryId()
      const kickout = (login_id: string, origin: Pick<JournalEntry, 'by' | 'by_type'>): JournalEntry => {
        const id = idAt(Math.floor(fixture.now()))
        return { id, event: 'kickout', type: 'CONSUMER', login_id, trace_id: someone(), ...origin }
      }
      for (const id of ids) await business.login(undefined, id, { nickname: `B ${id}` })
      const entries = ids.flatMap(by => [
        kickout(`by-b-${by}`, { by, by_type: 'BUSINESS' }),
        kickout(`by-c-${by}`, { by, by_type: 'CONSUMER' }),
        kickout(by, { by, by_type: 'BUSINESS' }),
        kickout(by, { by, by_type: 'CONSUMER' }),
      ])
      await fixture.store.journal.append([...entries, kickout('by-word', { by: 'operations' })], fixture.now() + 60_000)
      await arrive(fixture, visitor, ['sys:journal:page'])
      await page.locator('.journal-list tbody tr', { hasText: 'by-word' }).waitFor()
      const users = await page.locator('.journal-list td:nth-child(3)').allTextContents()
      const doneBy = await page.locator('.journal-list td:nth-child(4)').allTextContents()
      const shownFor = (user: string) => doneBy.filter((_, at) => users[at] === user)
      for (const id of ids) {
        t.same(shownFor(`by-b-${id}`), [`B ${id}${id}`])
        t.same(shownFor(`by-c-${id}`), [`${id}C side`], 'not the administrator')
        t.same(shownFor(id), ['the user', `B ${id}${id}`], 'the namesake of an administrator, and that administrator')
      }
      t.same(shownFor('by-word'), ['a backend'])
      await page
        .locator('.journal-list tbody tr', { hasText: `by-c-${ids[0]}` })
        .locator('.link')
        .click()
      const shown = page.locator('dialog .facts')
      await shown.waitFor()
      t.match(await shown.textContent(), `${ids[0]}C side`)
      t.notMatch(await shown.textContent(), `B ${ids[0]}`)
      t.same(visitor.complaints, [])
    },
  )

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
    await page.locator('#notice', { hasText: 'Service unavailable' }).waitFor()
    t.equal(saved, 0)
    await page.unroute('**/sys/journal/export*')
    for (const status of [502, 200]) {
      const proxy = { status, contentType: 'text/html', body: '<h1>a proxy in front of the gateway</h1>' }
      await page.route('**/sys/journal/export*', route => route.fulfill(proxy))
      // The message about the last failure is the same.
      await page.locator('#notice').evaluate(notice => notice.replaceChildren())
      await page.click('[data-key=export]')
      await page.locator('#notice', { hasText: 'The gateway does not answer' }).waitFor()
      await page.unroute('**/sys/journal/export*')
    }
    t.equal(saved, 0)
    const file = page.waitForEvent('download')
    await page.click('[data-key=export]')
    t.ok(await file, 'it can be tried again')
  })
})
