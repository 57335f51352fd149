import { t } from '../language/language.js'
import { preferences } from '../preferences.js'
import { h } from './dom.js'

/**
 * @template T
 * @typedef {import('./tables.js').Column<T>} Column
 */

/** @typedef {ReturnType<typeof createSorting>} Sorting */

/**
 * The order in which the user reads a list; at first the order in which the gateway answers. Only for lists that are shown
 * completely: the sorted page of a longer list would hide what belongs before it.
 *
 * @param {() => void} changed
 */
export function createSorting(changed) {
  let chosen = ''
  let isDescending = false

  /**
   * @param {string} label An empty one chooses the order of the gateway.
   * @param {boolean} descending
   */
  function choose(label, descending) {
    chosen = label
    isDescending = descending
    changed()
  }

  /** @param {string} label */
  function turn(label) {
    if (chosen !== label) choose(label, false)
    else if (isDescending) choose('', false)
    else choose(label, true)
  }

  return {
    /**
     * @template T
     * @param {readonly T[]} items
     * @param {readonly Column<T>[]} columns
     */
    sorted(items, columns) {
      const by = columns.find(({ label }) => label === chosen)?.by
      if (by === undefined) return items
      return items.toSorted((a, b) => compared(by(a), by(b), isDescending))
    },
    /**
     * The content of a column's heading.
     *
     * @param {string} label
     */
    button: label =>
      h(
        'button',
        { type: 'button', class: 'sort', 'data-key': `sort ${label}`, onclick: () => turn(label) },
        label,
        h('span', { 'aria-hidden': 'true' }, chosen !== label ? '↕' : isDescending ? '↓' : '↑'),
      ),
    /** @param {string} label */
    direction: label => (chosen !== label ? 'none' : isDescending ? 'descending' : 'ascending'),
    /**
     * The same choice for narrow screens, where a list has no headings.
     *
     * @param {string[]} labels
     */
    choice(labels) {
      const orders = ordersOf(labels)
      const at = orders.findIndex(({ label, descending }) => label === chosen && descending === isDescending)
      return h('p', { class: 'sort-choice' }, orderChoice(orders, at, choose))
    },
  }
}

/** @typedef {{ label: string, descending: boolean, text: string }} Order */

/**
 * @param {string[]} labels
 * @returns {Order[]}
 */
const ordersOf = labels => [
  { label: '', descending: false, text: t('order_given') },
  ...labels.flatMap(label => [
    { label, descending: false, text: t('ascending', { column: label }) },
    { label, descending: true, text: t('descending', { column: label }) },
  ]),
]

/**
 * @param {Order[]} orders
 * @param {number} at Which of them is chosen.
 * @param {(label: string, descending: boolean) => void} choose
 */
function orderChoice(orders, at, choose) {
  /** @type {HTMLSelectElement} */
  const select = h(
    'select',
    {
      class: 'small',
      'aria-label': t('sort_by'),
      'data-key': 'sort',
      onchange() {
        const order = orders[select.selectedIndex]
        if (order !== undefined) choose(order.label, order.descending)
      },
    },
    orders.map(({ text }, index) => h('option', { selected: index === at }, text)),
  )
  return select
}

/**
 * What is missing comes last in both directions.
 *
 * @param {string | number | null} a
 * @param {string | number | null} b
 * @param {boolean} isDescending
 */
function compared(a, b, isDescending) {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const order =
    typeof a === 'number' && typeof b === 'number'
      ? a - b
      : String(a).localeCompare(String(b), preferences.language, { numeric: true })
  return isDescending ? -order : order
}
