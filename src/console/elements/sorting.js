import { t } from '../language/language.js'
import { preferences } from '../preferences.js'
import { h } from './dom.js'

/**
 * @template T
 * @typedef {import('./tables.js').Column<T>} Column
 */

/** @typedef {ReturnType<typeof createSorting>} Sorting */

/** Instead of the position of a column: the order in which the gateway answers. */
const GIVEN = -1

/**
 * The order in which the user reads a list, in any language; at first that of the gateway. Only for lists that are shown
 * completely: the sorted page of a longer list would hide what belongs before it.
 *
 * @param {() => void} changed
 */
export function createSorting(changed) {
  let chosen = GIVEN
  let isDescending = false

  /**
   * @param {number} column
   * @param {boolean} descending
   */
  function choose(column, descending) {
    chosen = column
    isDescending = descending
    changed()
  }

  /** @param {number} column */
  function turn(column) {
    if (chosen !== column) choose(column, false)
    else if (isDescending) choose(GIVEN, false)
    else choose(column, true)
  }

  return {
    /**
     * @template T
     * @param {readonly T[]} items
     * @param {readonly Column<T>[]} columns
     */
    sorted(items, columns) {
      const by = columns[chosen]?.by
      if (by === undefined) return items
      return items.toSorted((a, b) => compared(by(a), by(b), isDescending))
    },
    /**
     * The content of a column's heading.
     *
     * @param {number} column
     * @param {string} label
     */
    button: (column, label) =>
      h(
        'button',
        { type: 'button', class: 'sort', 'data-key': `sort ${column}`, onclick: () => turn(column) },
        label,
        h('span', { 'aria-hidden': 'true' }, chosen !== column ? '↕' : isDescending ? '↓' : '↑'),
      ),
    /** @param {number} column */
    direction: column => (chosen !== column ? 'none' : isDescending ? 'descending' : 'ascending'),
    /**
     * The same choice for narrow screens, where a list has no headings.
     *
     * @param {readonly Column<any>[]} columns
     */
    choice(columns) {
      const orders = ordersOf(columns)
      const at = orders.findIndex(({ column, descending }) => column === chosen && descending === isDescending)
      return h('p', { class: 'sort-choice' }, orderChoice(orders, at, choose))
    },
  }
}

/** @typedef {{ column: number, descending: boolean, text: string }} Order */

/**
 * @param {readonly Column<any>[]} columns
 * @returns {Order[]}
 */
const ordersOf = columns => [
  { column: GIVEN, descending: false, text: t('order_given') },
  ...columns.flatMap(({ label, by }, column) => (by === undefined ? [] : bothOrders(column, label))),
]

/**
 * @param {number} column
 * @param {string} label
 * @returns {Order[]}
 */
const bothOrders = (column, label) => [
  { column, descending: false, text: t('ascending', { column: label }) },
  { column, descending: true, text: t('descending', { column: label }) },
]

/**
 * @param {Order[]} orders
 * @param {number} at Which of them is chosen.
 * @param {(column: number, descending: boolean) => void} choose
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
        if (order !== undefined) choose(order.column, order.descending)
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
