/*
 * The user's choice of language and theme, stored by the browser. If the browser stores nothing (a private window, blocked
 * storage), a choice lasts until the page is closed.
 */

/** @param {string} name */
function recall(name) {
  try {
    return localStorage.getItem(`dualgate.${name}`)
  } catch {
    return null
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
function remember(name, value) {
  try {
    localStorage.setItem(`dualgate.${name}`, value)
  } catch {
    // The choice lasts until the page is closed.
  }
}

/** @typedef {'en' | 'zh'} Language */
/** @typedef {'auto' | 'light' | 'dark'} Theme */

/** @type {readonly Theme[]} */
export const THEMES = ['auto', 'light', 'dark']

const chosen = recall('language')

/** @type {{ language: Language, theme: Theme }} */
export const preferences = {
  language:
    chosen === 'en' || chosen === 'zh' ? chosen : navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en',
  theme: THEMES.find(theme => theme === recall('theme')) ?? 'auto',
}

/** @param {Language} language */
export function chooseLanguage(language) {
  preferences.language = language
  remember('language', language)
  apply()
}

/** @param {Theme} theme */
export function chooseTheme(theme) {
  preferences.theme = theme
  remember('theme', theme)
  apply()
}

function apply() {
  document.documentElement.lang = preferences.language === 'zh' ? 'zh-CN' : 'en'
  document.documentElement.dataset.theme = preferences.theme
}

apply()
