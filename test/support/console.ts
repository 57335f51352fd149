import type { Page } from 'playwright-core'
import type { Visitor } from './browser.ts'
import { ADMIN, type Fixture, someone } from './gateway-fixture.ts'

/* What users do at the page for administrators. */

/** Reads the picture as a person would: the answer comes out of the gateway's own store. */
export async function solve(fixture: Fixture, page: Page, load: () => Promise<unknown>): Promise<void> {
  const response = page.waitForResponse(/\/public\/b\/captcha/)
  await load()
  const { data } = await (await response).json()
  const answer = await fixture.store.captchas.take('BUSINESS', data.captcha_id)
  await fixture.store.captchas.put('BUSINESS', data.captcha_id, answer!, fixture.now() + 60_000)
  await page.fill('#captcha', answer!)
}

export async function fillIn(page: Page, username: string, password: string): Promise<void> {
  await page.fill('#username', username)
  await page.fill('#password', password)
}

/** The form of the sign-in, filled in and sent. */
export async function sendSignIn(fixture: Fixture, page: Page, username: string, password: string): Promise<void> {
  await solve(fixture, page, () => page.goto(`${fixture.url}/console/`))
  await fillIn(page, username, password)
  await page.click('button[type=submit]')
}

export async function signIn(
  fixture: Fixture,
  { page }: Visitor,
  username = ADMIN.username,
  password = ADMIN.password,
): Promise<void> {
  await sendSignIn(fixture, page, username, password)
  await page.waitForSelector('.chrome')
}

/** Searches the list of online users. */
export async function search(page: Page, keyword: string): Promise<void> {
  const found = page.waitForResponse(response => response.url().includes(`keyword=${encodeURIComponent(keyword)}`))
  await page.fill('#keyword', keyword)
  await found
}

/** Sends the form of the open dialog. */
export const confirm = (page: Page): Promise<void> => page.click('dialog [type=submit]')

/** Confirms that what is shown once is kept, and waits until its dialog is closed. */
export async function keep(page: Page): Promise<void> {
  await page.check('dialog #is-kept')
  await confirm(page)
  await page.locator('dialog').waitFor({ state: 'detached' })
}

/** Signed in as a new user with these permissions, without the login form. */
export async function arrive(
  fixture: Fixture,
  visitor: Visitor,
  permissions: string[],
  user = someone(),
): Promise<string> {
  const token = await fixture.gateway.sides.business.login(undefined, user, { username: user, permissions })
  await bring(fixture, visitor, token)
  return token
}

/**
 * What a user with a small screen, a keyboard, a screen reader or weak eyes would stumble over: content wider than the screen
 * or than its box, controls without a name, or in another order than the focus takes, ids that occur twice, and texts with less contrast than WCAG 2.2 demands (1.4.3).
 */
const obstaclesOf = (page: Page): Promise<string[]> => page.evaluate(findObstacles)

/** Runs in the browser. */
function findObstacles(): string[] {
  // Colours that still change are those of neither state.
  for (const animation of document.getAnimations()) animation.finish()
  const found: string[] = []
  const root = document.documentElement
  if (root.scrollWidth > root.clientWidth) found.push(`${root.scrollWidth} pixels wide`)

  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) found.push(`two elements are #${id}`)

  const isVisible = (element: Element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  for (const control of document.querySelectorAll<HTMLInputElement>('input:not([aria-hidden]), select, button, a')) {
    const labels = [...(control.labels ?? [])].map(label => label.textContent).join('')
    const name = control.getAttribute('aria-label') ?? (labels || control.textContent)
    if (isVisible(control) && name?.trim() === '') found.push(`no name: ${control.outerHTML.slice(0, 80)}`)
  }

  for (const control of document.querySelectorAll('button, a')) {
    const next = control.nextElementSibling
    if (!next?.matches('button, a') || !isVisible(control) || !isVisible(next)) continue
    const [box, following] = [control.getBoundingClientRect(), next.getBoundingClientRect()]
    const isBeside = following.top < box.bottom && box.top < following.bottom
    if (isBeside && following.left < box.left) found.push(`the focus goes back to ${next.textContent}`)
  }

  type Colour = [red: number, green: number, blue: number, alpha: number]
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })!
  const colours = new Map<string, Colour>()
  const colourOf = (text: string): Colour => {
    const known = colours.get(text)
    if (known !== undefined) return known
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = text
    canvas.fillRect(0, 0, 1, 1)
    const [red = 0, green = 0, blue = 0, alpha = 0] = canvas.getImageData(0, 0, 1, 1).data
    const colour: Colour = [red, green, blue, alpha / 255]
    colours.set(text, colour)
    return colour
  }
  const over = ([r, g, b, a]: Colour, [x, y, z]: Colour): Colour => [
    r * a + x * (1 - a),
    g * a + y * (1 - a),
    b * a + z * (1 - a),
    1,
  ]
  const groundOf = (element: Element | null): Colour => {
    if (element === null) return [255, 255, 255, 1]
    const own = colourOf(getComputedStyle(element).backgroundColor)
    return own[3] === 1 ? own : over(own, groundOf(element.parentElement))
  }
  const luminance = ([r, g, b]: Colour) => {
    const [x, y, z] = [r, g, b].map(part => {
      const share = part / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    }) as [number, number, number]
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const behindDialog = document.querySelector('dialog[open]')
  const texts = document.createTreeWalker(behindDialog ?? document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement!
    const text = texts.currentNode.textContent?.trim() ?? ''
    const isExempt = element.closest('.unseen, caption, svg, option, :disabled, noscript, #notice') !== null
    if (text === '' || isExempt || !isVisible(element)) continue
    const box = element.closest('dialog, .panel, .sign-in')?.getBoundingClientRect()
    const range = document.createRange()
    range.selectNodeContents(texts.currentNode)
    if (box !== undefined && range.getBoundingClientRect().right > box.right) found.push(`beyond its box: ${text}`)
    const ground = groundOf(element)
    const ink = over(colourOf(getComputedStyle(element).color), ground)
    const [light, dark] = [luminance(ground), luminance(ink)].sort((a, b) => b - a) as [number, number]
    const contrast = (light + 0.05) / (dark + 0.05)
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${text.slice(0, 40)}`)
  }
  return found
}

/** A folder for pictures of each view: `SCREENSHOTS=/tmp/pictures npx tap test/console`. */
const PICTURES = process.env.SCREENSHOTS

/** Each language has both colour schemes and both widths, and both languages together have each scheme at each width. */
const LOOKS = {
  en: [
    ['light', 1280],
    ['dark', 390],
  ],
  'zh-CN': [
    ['dark', 1280],
    ['light', 390],
  ],
} as const

/**
 * The obstacles of what is shown, in both colour schemes, at the width of a desk and at that of a telephone.
 *
 * @param step Names the pictures.
 */
export async function obstaclesEverywhere(page: Page, step: string): Promise<string[]> {
  const before = page.viewportSize()
  const language = (await page.getAttribute('html', 'lang')) as keyof typeof LOOKS
  const found: string[] = []
  for (const [colorScheme, width] of PICTURES === undefined ? LOOKS[language] : Object.values(LOOKS).flat()) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 844 })
    found.push(...(await obstaclesOf(page)).map(obstacle => `${colorScheme}, ${width}: ${obstacle}`))
    if (PICTURES !== undefined) await takePicture(page, [step, colorScheme, width, language])
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null })
  if (before !== null) await page.setViewportSize(before)
  return found
}

const takePicture = (page: Page, name: (string | number)[]): Promise<unknown> =>
  page.screenshot({ path: `${PICTURES}/${name.join('-')}.png`, fullPage: true })

/** Chooses the language of the page, which is then kept by the browser. */
export async function choose(page: Page, language: 'en' | 'zh'): Promise<void> {
  const lang = { en: 'en', zh: 'zh-CN' }[language]
  if ((await page.getAttribute('html', 'lang')) !== lang) await page.click('[data-key=language]')
}

/** Signed in as the user of a token that another client has got. */
export async function bring(fixture: Fixture, { page }: Visitor, token: string): Promise<void> {
  await page.addInitScript(kept => sessionStorage.setItem('dualgate.token', kept), token)
  await page.goto(`${fixture.url}/console/`)
  await page.waitForSelector('.chrome')
}
