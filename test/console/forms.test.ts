import t from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { openPage, signIn } from '../support/console.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

t.test('in a window with large zoom the fault of a form is seen', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture(t)
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
