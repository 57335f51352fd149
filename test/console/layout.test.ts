import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, type Visitor, withoutBrowser } from '../support/browser.ts'
import { choose, comeBack, holdRefresh, holdRefreshOnceLoaded, openPage, signIn } from '../support/console.ts'
import { type Fixture, someone } from '../support/gateway-fixture.ts'
import { findMisplaced } from '../support/obstacles.ts'
import { openProviderGateway } from '../support/provider-gateway.ts'
import { until } from '../support/until.ts'
import { openAccounts } from './accounts-fixture.ts'
import { openConsole } from './console-fixture.ts'

/* Whether everything can be seen and reached in small windows and with large text. */

const LANGUAGES = ['en', 'zh'] as const

/** Pixels of the window, and of the text by the settings of the browser. */
const SIZES = {
  'a narrow telephone': { width: 320, height: 640, text: 16 },
  'a desk at 400 %': { width: 320, height: 256, text: 16 },
  'a tablet': { width: 900, height: 700, text: 16 },
  'text of 200 %': { width: 1280, height: 800, text: 32 },
}

interface View {
  name: string
  open: (page: Page) => Promise<unknown>
  isDialog?: true
}

const opened = (name: string, loaded: string): View => ({
  name,
  async open(page) {
    await openPage(page, name)
    await page.waitForSelector(loaded)
  },
})

const dialog = (name: string, button: string, loaded: string): View => ({
  name,
  async open(page) {
    await page.click(button)
    await page.waitForSelector(`dialog ${loaded}`)
  },
  isDialog: true,
})

const VIEWS = [
  opened('sessions', '.user-list tbody tr'),
  dialog('sessions of a user', '.user-list .link >> nth=1', '.token-list tbody tr'),
  dialog('disabling', '.user-list [data-key^=disable] >> nth=1', '[type=submit]'),
  dialog('end of a user', '.user-list [data-key^="end u"] >> nth=0', '[type=submit]'),
  dialog('check of a login id', '[data-key=check-id]', '[type=submit]'),
  dialog('disabled login ids', '[data-key=disabled-ids]', 'tbody tr'),
  opened('accounts', '.account-list tbody tr'),
  dialog('account', '.account-list .link >> nth=1', 'footer'),
  dialog('edit', '.account-list [data-key^=edit] >> nth=1', '[type=submit]'),
  dialog('reset', '.account-list [data-key^=password] >> nth=0', '[type=submit]'),
  dialog('new account', '[data-key=add]', '[type=submit]'),
  opened('keys', '.key-list, .empty'),
  opened('journal', '.journal-list tbody tr'),
  opened('account', '.own-sessions tbody tr'),
  dialog('new password', '[data-key=change-password]', '[type=submit]'),
  dialog('second factor', '[data-key=set-up]', '[type=submit]'),
  dialog('new key', '[data-key=add-key]', '[type=submit]'),
]

/** What is drawn anew for a new size is drawn before the second frame. */
const drawn = (page: Page): Promise<unknown> =>
  page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))

/** Runs in the browser: what is wider than its place, except tables, which scroll in a region, and texts that are typed. */
function findCut(): string[] {
  return [document.documentElement, ...document.querySelectorAll('body *')].flatMap(element => {
    const isExempt = element.closest('.unseen, [role=region], svg, input, select, textarea, #notice') !== null
    const { overflowX } = getComputedStyle(element)
    if (isExempt || (overflowX === 'visible' && element !== document.documentElement)) return []
    const { tagName, className, scrollWidth, clientWidth } = element
    return scrollWidth > clientWidth ? [`${tagName}.${className}: ${scrollWidth} in ${clientWidth}`] : []
  })
}

async function misfitsOf(page: Page, step: string): Promise<string[]> {
  const found: string[] = []
  const settings = await page.context().newCDPSession(page)
  for (const [name, { text, ...size }] of Object.entries(SIZES)) {
    await page.setViewportSize(size)
    await settings.send('Page.setFontSizes', { fontSizes: { standard: text } })
    await drawn(page)
    const misfits = [...(await page.evaluate(findCut)), ...(await page.evaluate(findMisplaced))]
    const shown = await page.evaluate(() => getComputedStyle(document.body).fontSize)
    if (shown !== `${(14 / 16) * text}px`) misfits.push(`text of ${shown}`)
    found.push(...misfits.map(misfit => `${step}, ${name}: ${misfit}`))
    const pictures = process.env.SCREENSHOTS
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${step}, ${name}.png` })
  }
  await settings.send('Page.setFontSizes', { fontSizes: { standard: 16 } })
  await settings.detach()
  await page.setViewportSize({ width: 1280, height: 800 })
  return found
}

/** Signed in with twelve users, the addresses of whom make their list wider than a tablet. */
async function openLists(fixture: Fixture, visitor: Visitor): Promise<void> {
  for (let users = 0; users < 12; users++) {
    const [username, login_ip] = [someone(), '2001:0db8:85a3:0000:0000:8a2e:0370:7334']
    await fixture.gateway.sides.business.login(undefined, username, { username, login_ip })
  }
  await visitor.page.setViewportSize({ width: 1280, height: 800 })
  await signIn(fixture, visitor)
  await holdRefreshOnceLoaded(visitor.page)
}

t.test('nothing is cut off or wider than the window', { skip: withoutBrowser }, async t => {
  const { visit, fixture, add } = await openAccounts(t, { config: { session_administration: true } })
  await fixture.gateway.sides.business.disable(someone(), 600)
  for (let accounts = 0; accounts < 5; accounts++)
    await add({ roles: ['operator'], nickname: 'A person with a long name' })
  const visitor = await visit(t)
  const { page } = visitor

  await page.goto(`${fixture.url}/console/`)
  for (const language of LANGUAGES) {
    await page.waitForSelector('#captcha')
    await choose(page, language)
    t.same(await misfitsOf(page, `${language}, sign-in`), [])
  }
  await choose(page, 'en')
  await openLists(fixture, visitor)
  for (const language of LANGUAGES) {
    await choose(page, language)
    for (const { name, open, isDialog } of VIEWS) {
      await open(page)
      t.same(await misfitsOf(page, `${language}, ${name}`), [])
      if (!isDialog) continue
      await page.keyboard.press('Escape')
      await page.locator('dialog').waitFor({ state: 'detached' })
    }
  }
})

t.test('nothing is cut off on the way to a provider, and out', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const { url } = await openProviderGateway(t)
  const { page } = await visit(t)
  for (const path of ['/sign-in/b/', '/sign-in/b/?failed=group-required', '/sign-out/b']) {
    await page.goto(url + path)
    await page.waitForSelector('button[type=submit]')
    for (const language of LANGUAGES) {
      await choose(page, language)
      t.same(await misfitsOf(page, `${language}, ${path.replaceAll('/', ' ')}`), [])
    }
  }
})

t.test('the page of sessions in a small window', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openConsole(t)
  const visitor = await visit(t)
  const { page } = visitor
  await openLists(fixture, visitor)
  const region = page.getByRole('region', { name: 'Online users' })

  t.test('a table that is too wide scrolls in a region, with the keyboard, and a refresh leaves it there', async t => {
    await drawn(page)
    t.equal(await region.count(), 0, 'no stop for the keyboard where nothing scrolls')
    await page.setViewportSize({ width: 900, height: 700 })
    await region.waitFor()
    await region.locator('button, input').first().focus()
    await page.keyboard.press('Shift+Tab')
    t.ok(await region.evaluate(box => box === document.activeElement))
    await page.keyboard.press('ArrowRight')
    const left = await until(() => region.evaluate(box => box.scrollLeft))
    const before = await region.elementHandle()
    await page.evaluate(() => Object.defineProperty(document, 'hidden', { value: false, configurable: true }))
    await comeBack(page)
    await before!.waitForElementState('hidden')
    await holdRefresh(page)
    await until(() => region.evaluate(box => box === document.activeElement))
    t.ok((await region.evaluate(box => box.scrollLeft)) >= left)
  })

  t.test('where colours are forced, a notice has an edge', async t => {
    await page.emulateMedia({ forcedColors: 'active' })
    const [edge, ground] = await page.evaluate(() => {
      const { borderTopWidth, borderTopStyle, borderTopColor } = getComputedStyle(document.getElementById('notice')!)
      const { backgroundColor } = getComputedStyle(document.body)
      return [[borderTopWidth, borderTopStyle, borderTopColor], backgroundColor] as const
    })
    await page.emulateMedia({ forcedColors: null })
    t.same(edge.slice(0, 2), ['1px', 'solid'])
    t.not(edge[2], ground)
  })

  for (const height of [450, 256])
    t.test(`what has the focus is not covered on the way through a page and back, ${height} pixels high`, async t => {
      await page.setViewportSize({ width: height === 256 ? 320 : 900, height })
      for (const name of ['sessions', 'accounts', 'keys', 'journal', 'account']) {
        await openPage(page, name)
        await page.waitForSelector('main :is(tbody tr, .empty p)')
        await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur())
        await page.mouse.click(0, 0)
        const [there, back] = [await walk(page, 'Tab'), await walk(page, 'Shift+Tab')]
        t.same([...there.covered, ...back.covered], [])
        t.ok(there.stops > 8, `${there.stops} stops`)
        t.equal(back.stops, there.stops)
      }
    })
})

/** From where the focus is, outside of the page, through all stops of a keyboard. */
async function walk(page: Page, key: 'Tab' | 'Shift+Tab'): Promise<{ stops: number; covered: string[] }> {
  const covered: string[] = []
  for (let stops = 0; ; stops++) {
    await page.keyboard.press(key)
    const focused = await page.evaluate(findFocused)
    if (focused === null) return { stops, covered }
    if (focused.isCovered) covered.push(focused.name)
  }
}

/** Runs in the browser: what has the focus, and whether something else is drawn over its middle. */
function findFocused(): { name: string; isCovered: boolean } | null {
  const focused = document.activeElement!
  if (focused === document.body) return null
  // A link may stand in two lines, and its middle in none of them.
  const { left, top, right, bottom } = focused.getClientRects()[0]!
  const middle = (from: number, to: number, size: number) => (Math.max(from, 0) + Math.min(to, size)) / 2
  const { clientWidth, clientHeight } = document.documentElement
  const at = document.elementFromPoint(middle(left, right, clientWidth), middle(top, bottom, clientHeight))
  return { name: focused.outerHTML.slice(0, 80), isCovered: at === null || !focused.contains(at) }
}
