import { choices } from './choices.js'
import { h, mark } from './elements/dom.js'
import { nameOf } from './language/format.js'
import { t } from './language/language.js'
import { PAGES } from './pages.js'
import { session } from './session.js'

/* What surrounds every page: the name and the navigation. */

/**
 * @param {object} options
 * @param {import('./pages.js').PageName} options.shown
 * @param {import('./pages.js').PageName[]} options.pages
 * @param {() => void} options.redraw
 * @param {() => void} options.signOut
 */
export function topBar({ shown, pages, redraw, signOut }) {
  const owner = session.owner
  return h(
    'header',
    { class: 'top' },
    h('div', { class: 'brand' }, mark(), h('h1', {}, 'dualgate')),
    navigation(pages, shown),
    h(
      'div',
      { class: 'chrome' },
      choices(redraw),
      h('span', { class: 'owner' }, owner && nameOf(owner)),
      h('button', { type: 'button', class: 'small', 'data-key': 'sign-out', onclick: signOut }, t('sign_out')),
    ),
  )
}

/**
 * @param {import('./pages.js').PageName[]} pages
 * @param {import('./pages.js').PageName} shown
 */
const navigation = (pages, shown) =>
  h(
    'nav',
    { 'aria-label': t('navigation') },
    pages.map(name =>
      h(
        'a',
        { href: `#${PAGES[name].addresses[0]}`, 'data-key': name, 'aria-current': name === shown ? 'page' : null },
        t(name),
      ),
    ),
  )
