import { h } from './elements/dom.js'
import { t } from './language/language.js'
import { chooseLanguage, chooseTheme, preferences, THEMES } from './preferences.js'

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
