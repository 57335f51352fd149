import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { confirm, keep, openPage, signIn } from '../support/console.ts'
import { ADMIN, openFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

t.test('the forms of the page', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t)

  t.test('in a window with large zoom the fault of a form is seen', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await page.setViewportSize({ width: 640, height: 400 })
    await signIn(fixture, visitor)
    await openPage(page, 'account')
    await page.click('[data-key=add-key]')
    await page.fill('#current-password', 'wrong')
    await page.fill('#key-name', 'a key')
    await page.press('#key-name', 'Enter')
    const fault = page.locator('dialog .fault:not([hidden])')
    await fault.waitFor()
    const isSeen = () =>
      fault.evaluate(fault => {
        const [box, dialog] = [fault.getBoundingClientRect(), fault.closest('dialog')!.getBoundingClientRect()]
        return dialog.top <= box.top && box.bottom <= dialog.bottom
      })
    t.ok(await until(isSeen), 'the dialog is scrolled to it')
  })

  t.test('the browser asks before a reload loses what is shown once, until it is kept', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const asked: string[] = []
    page.on('dialog', dialog => {
      asked.push(dialog.type())
      void dialog.dismiss()
    })
    await signIn(fixture, visitor)
    await openPage(page, 'account')
    await page.click('[data-key=add-key]')
    await page.fill('#current-password', ADMIN.password)
    await page.fill('#key-name', 'a key')
    await confirm(page)
    const key = await page.locator('dialog .secret code').first().textContent()
    await page.evaluate(() => location.reload())
    await until(() => asked.length > 0)
    t.same(asked, ['beforeunload'])
    t.equal(await page.locator('dialog .secret code').first().textContent(), key)
    await keep(page)
    await page.reload()
    await page.waitForSelector('.chrome')
    t.same(asked, ['beforeunload'], 'nothing is lost any more')
  })
})
