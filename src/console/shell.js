import { h, mark } from './elements/dom.js'
import { t } from './language/language.js'
import { PAGES } from './pages.js'
import { chooseLanguage, chooseTheme, preferences, THEMES } from './preferences.js'
import { session } from './session.js'

/* What surrounds every page: the name, the navigation, and the choices of the user. */

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
      h('span', { class: 'owner' }, owner?.nickname ?? owner?.username ?? owner?.user_id),
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

/**
 * The choices of the user: language and theme.
 *
 * @param {() => void} redraw Called after a change of language.
 */
export function choices(redraw) {
  const other = preferences.language === 'en' ? 'zh' : 'en'
  const language = h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-key': 'language',
      lang: other === 'zh' ? 'zh-CN' : 'en',
      onclick() {
        chooseLanguage(other)
        redraw()
      },
    },
    other === 'zh' ? '中文' : 'English',
  )
  /** @type {HTMLSelectElement} */
  const theme = h(
    'select',
    {
      class: 'small',
      'aria-label': t('theme'),
      'data-key': 'theme',
      onchange: () => chooseTheme(THEMES[theme.selectedIndex] ?? 'auto'),
    },
    THEMES.map(name => h('option', { value: name, selected: name === preferences.theme }, t(`theme_${name}`))),
  )
  return h('div', { class: 'choices' }, language, theme)
}
