import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { h } from './dom.js'

/**
 * What the user has selected of the shown rows of a list, to end all of it at once.
 *
 * @param {{ action: import('../language/language.js').TextName, changed: () => void, act: (keys: string[]) => void }} options
 *   `action` is the label of the button.
 */
export function createSelection({ action, changed, act }) {
  /** @type {Set<string>} */
  let selected = new Set()

  /**
   * @param {string[]} keys
   * @param {boolean} isSelected
   */
  function select(keys, isSelected) {
    for (const key of keys) {
      if (isSelected) selected.add(key)
      else selected.delete(key)
    }
    changed()
  }

  return {
    /**
     * The box of a row.
     *
     * @param {string} key
     * @param {string} name
     */
    box: (key, name) =>
      checkbox(selected.has(key), isChecked => select([key], isChecked), {
        class: 'pick',
        'data-key': `pick ${key}`,
        'aria-label': t('select', { name }),
      }),
    /**
     * What stands above the list. Rows that are no longer shown are no longer selected.
     *
     * @param {string[]} keys Those of the shown rows.
     */
    bar(keys) {
      selected = new Set(keys.filter(key => selected.has(key)))
      const isAll = selected.size === keys.length
      const all = checkbox(isAll, isChecked => select(keys, isChecked), { 'data-key': 'pick all' })
      all.indeterminate = selected.size > 0 && !isAll
      return h(
        'div',
        { class: 'selection' },
        h('label', { class: 'choice' }, all, t('select_all')),
        selected.size > 0 && h('span', { class: 'quiet', role: 'status' }, t('selected', { n: count(selected.size) })),
        endButton(`${t(action)}…`, selected.size === 0, () => act([...selected])),
      )
    },
  }
}

/**
 * @param {boolean} checked
 * @param {(isChecked: boolean) => void} changed
 * @param {import('./dom.js').Attributes} attributes
 * @returns {HTMLInputElement}
 */
const checkbox = (checked, changed, attributes) =>
  h('input', { type: 'checkbox', ...attributes, checked, onchange: event => changed(event.target.checked) })

/**
 * @param {string} label
 * @param {boolean} disabled
 * @param {() => void} onclick
 */
const endButton = (label, disabled, onclick) =>
  h('button', { type: 'button', class: 'small danger', 'data-key': 'end selected', disabled, onclick }, label)
