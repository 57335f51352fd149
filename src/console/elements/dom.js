import { rememberFocus } from './focus.js'

/*
 * Only this file creates elements. Data from the gateway becomes a text node or an attribute value, never markup.
 */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => unknown)>} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes] Functions become event listeners (`onclick`). `null`, `undefined` and `false` are left out.
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children)
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children)
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes | undefined} attributes
 * @param {(Child | Child[])[]} children
 * @returns {E}
 */
function fill(element, attributes = {}, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (typeof value === 'function') element.addEventListener(name.slice('on'.length), value)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...present(children))
  return element
}

/** @param {(Child | Child[])[]} children */
const present = children =>
  children
    .flat()
    .filter(child => child !== null && child !== undefined && child !== false)
    .map(child => (child instanceof Node ? child : String(child)))

/**
 * Replaces the children of an element. The focus stays in it, and a wide table where it was scrolled to: without this, a page that
 * refreshes itself could not be used with the keyboard.
 *
 * @param {Element} place
 * @param {...(Child | Child[])} children
 */
export function show(place, ...children) {
  const focused = document.activeElement
  const giveBack = place !== focused && place.contains(focused) ? rememberFocus() : null
  const scrolled = [...place.querySelectorAll('.scroll')].map(({ scrollLeft }) => scrollLeft)
  place.replaceChildren(...present(children))
  for (const [at, box] of place.querySelectorAll('.scroll').entries()) box.scrollLeft = scrolled[at] ?? 0
  giveBack?.()
}

/**
 * Changes a text that screen readers say. They would say the same again.
 *
 * @param {Element} place
 * @param {string} text
 */
export function setText(place, text) {
  if (place.textContent !== text) place.textContent = text
}

let timer = 0

/**
 * Shows a message for four seconds.
 *
 * @param {string} text
 */
export function notify(text) {
  const place = /** @type {HTMLElement} */ (document.getElementById('notice'))
  // The last popover that is shown is above all others, and above dialogs.
  if (place.matches(':popover-open')) place.hidePopover()
  place.showPopover()
  place.textContent = text
  place.classList.add('shown')
  clearTimeout(timer)
  timer = window.setTimeout(() => place.classList.remove('shown'), 4000)
  sayInDialog(text)
}

/**
 * Says a message to screen readers, too, which find nothing outside of a dialog: in the uppermost one that is left once the action
 * that it is about has opened and closed its dialogs.
 *
 * @param {string} text
 */
function sayInDialog(text) {
  for (const said of document.querySelectorAll('dialog > .said')) said.textContent = ''
  setTimeout(() => {
    const said = [...document.querySelectorAll('dialog[open] > .said')].at(-1)
    if (said !== undefined) said.textContent = text
  })
}

/** The logo: two gates, side by side. */
export const mark = () =>
  svg(
    'svg',
    { class: 'mark', viewBox: '0 0 32 32', 'aria-hidden': 'true' },
    svg('rect', { class: 'mark-ground', width: 32, height: 32, rx: 7 }),
    svg('path', { class: 'mark-b', d: 'M8 26V13a6 6 0 0 1 6-6h.5v19' }),
    svg('path', { class: 'mark-c', d: 'M24 26V13a6 6 0 0 0-6-6h-.5v19' }),
  )
