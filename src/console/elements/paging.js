import { settings } from '../api.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { h } from './dom.js'

/* The search field above a list, and the controls below it. */

const SIZES = [10, 20, 50, 100]
/** Milliseconds after the last key press before the search starts. */
const TYPING = 250

/** @typedef {{ current: number, size: number }} Position */

/**
 * The search field. It searches shortly after the last key press, or when it is submitted.
 *
 * @param {{ hint: import('../language/language.js').TextName, find: (keyword: string) => void }} options
 */
export function createSearch({ hint, find }) {
  let keyword = ''
  let typing = 0
  const input = h('input', {
    type: 'search',
    id: 'keyword',
    maxlength: 128,
    autocomplete: 'off',
    spellcheck: 'false',
    // What an input method shows while a word is composed is not the word.
    oninput: (/** @type {InputEvent} */ event) => (event.isComposing ? clearTimeout(typing) : submitSoon()),
    oncompositionend: submitSoon,
  })

  function submitSoon() {
    clearTimeout(typing)
    typing = window.setTimeout(submit, TYPING)
  }

  function submit() {
    clearTimeout(typing)
    if (input.value.trim() === keyword) return
    keyword = input.value.trim()
    find(keyword)
  }

  /** @param {Event} event */
  function submitted(event) {
    event.preventDefault()
    submit()
  }

  return {
    draw() {
      input.placeholder = t(hint)
      input.setAttribute('aria-label', `${t('search')}: ${t(hint)}`)
      return h('form', { role: 'search', onsubmit: submitted }, input)
    },
  }
}

/**
 * The controls below a list.
 *
 * @param {{ page: number, pages: number }} shown
 * @param {number} size
 * @param {(change: Partial<Position>) => void} request
 * @param {string} [id] Of the choice of the size; another one in a dialog above a list.
 */
export function turning({ page: number, pages: last }, size, request, id = 'rows') {
  /** @type {HTMLSelectElement} */
  const rows = h(
    'select',
    { id, 'data-key': 'rows', onchange: () => request({ size: Number(rows.value), current: 1 }) },
    SIZES.map(n => h('option', { value: n }, n)),
  )
  rows.value = String(size)
  const turn = (/** @type {'previous' | 'next'} */ way, /** @type {number} */ to, /** @type {string} */ sign) =>
    h(
      'button',
      {
        type: 'button',
        'data-key': way,
        'aria-label': t(way),
        disabled: to < 1 || to > last,
        onclick: () => request({ current: to }),
      },
      sign,
    )
  return [
    zone(),
    h('label', { for: id, class: 'quiet' }, t('rows')),
    rows,
    h('span', { class: 'number' }, t('page_of', { page: count(number), pages: count(Math.max(last, 1)) })),
    turn('previous', number - 1, '‹'),
    turn('next', number + 1, '›'),
  ]
}

/** The time zone of the times in a list. */
export const zone = () => h('span', { class: 'quiet zone' }, t('times_in', { zone: settings.timezone }))
