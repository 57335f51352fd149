import axe from 'axe-core'
import type { Page } from 'playwright-core'

/* What users would stumble over on a page. */

/**
 * What a user with a small screen, a keyboard, a screen reader or weak eyes would stumble over: what axe finds, content wider
 * than the screen or than its box, and controls in another order than the focus takes.
 */
async function obstaclesOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => Object.hasOwn(window, 'axe')))) await page.evaluate(axe.source)
  return [...(await page.evaluate(findMisplaced)), ...(await page.evaluate(findByAxe))]
}

/** Runs in the browser. */
async function findByAxe(): Promise<string[]> {
  const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(document, {
    preload: false,
    // Links such as #journal lead to another page, not to a part of this one.
    rules: { 'skip-link': { enabled: false } },
  })
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 80)}: ${failureSummary}`),
  )
}

/** Runs in the browser. A table that scrolls in a region has its place in it. */
export function findMisplaced(): string[] {
  // Colours that still change are those of neither state.
  for (const animation of document.getAnimations()) animation.finish()
  const found: string[] = []
  const root = document.documentElement
  if (root.scrollWidth > root.clientWidth) found.push(`${root.scrollWidth} pixels wide`)

  const isVisible = (element: Element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  for (const control of document.querySelectorAll('button, a')) {
    const next = control.nextElementSibling
    if (!next?.matches('button, a') || !isVisible(control) || !isVisible(next)) continue
    const [box, following] = [control.getBoundingClientRect(), next.getBoundingClientRect()]
    const isBeside = following.top < box.bottom && box.top < following.bottom
    if (isBeside && following.left < box.left) found.push(`the focus goes back to ${next.textContent}`)
  }

  const texts = document.createTreeWalker(document.querySelector('dialog[open]') ?? document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement!
    const text = texts.currentNode.textContent?.trim() ?? ''
    const isExempt =
      element.closest('.unseen, caption, svg, option, :disabled, noscript, #notice, [role=region]') !== null
    if (text === '' || isExempt || !isVisible(element)) continue
    const box = element.closest('dialog, .panel, .sign-in')?.getBoundingClientRect()
    const range = document.createRange()
    range.selectNodeContents(texts.currentNode)
    if (box !== undefined && range.getBoundingClientRect().right > box.right) found.push(`beyond its box: ${text}`)
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
