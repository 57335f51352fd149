import { h } from './dom.js'

/** @typedef {import('./dom.js').Child} Child */

/** What a cell shows instead of nothing. A card has no place for it. */
export const DASH = '–'

/**
 * @template T
 * @typedef {object} Column
 * @property {string} label
 * @property {string} [look] The class of its cells.
 * @property {boolean} [isUnlabelled] The cells tell by themselves what they are: the heading of the row, and its buttons. The
 *   heading of such a column of buttons is for screen readers only.
 * @property {(item: T) => string | number | null} [by] What the list can be sorted by.
 */

/**
 * A list. On narrow screens each row is a card, in which every cell has the name of its column.
 *
 * @template T
 * @param {object} content
 * @param {string} content.caption
 * @param {Column<T>[]} content.columns
 * @param {readonly T[]} content.items
 * @param {(item: T) => (Child | Child[])[]} content.row The cells of an item.
 * @param {import('./sorting.js').Sorting | false} [content.sorting] For a list that is shown completely.
 */
export function table({ caption, columns, items, row, sorting = false }) {
  const isSorted = sorting !== false && items.length > 1
  return h(
    'div',
    {},
    isSorted && sorting.choice(columns),
    scrolling(
      caption,
      h(
        'table',
        { class: 'list' },
        h('caption', { class: 'unseen' }, caption),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            columns.map((column, at) => heading(column, at, isSorted && sorting)),
          ),
        ),
        h(
          'tbody',
          {},
          (isSorted ? sorting.sorted(items, columns) : items).map(item =>
            h(
              'tr',
              {},
              row(item).map((content, at) => cell(/** @type {Column<T>} */ (columns[at]), content)),
            ),
          ),
        ),
      ),
    ),
  )
}

/**
 * Where a table scrolls that is wider than its place: then a keyboard reaches it, as a region with a name.
 *
 * @param {string} name
 * @param {HTMLTableElement} table
 */
function scrolling(name, table) {
  const region = { role: 'region', 'aria-label': name, tabindex: '0' }
  // Before it can be measured it is one: a table that is drawn again has to take the focus over.
  const box = h('div', { class: 'scroll', 'data-key': 'scroll', ...region }, table)
  const observer = new ResizeObserver(() => {
    const isWide = box.scrollWidth > box.clientWidth
    for (const [attribute, value] of Object.entries(region))
      if (isWide) box.setAttribute(attribute, value)
      else box.removeAttribute(attribute)
  })
  observer.observe(box)
  observer.observe(table)
  return box
}

/**
 * @template T
 * @param {Column<T>} column
 * @param {number} at
 * @param {import('./sorting.js').Sorting | false} sorting
 */
const heading = ({ label, look, by }, at, sorting) =>
  sorting !== false && by !== undefined
    ? h('th', { scope: 'col', class: look, 'aria-sort': sorting.direction(at) }, sorting.button(at, label))
    : h('th', { scope: 'col', class: look }, look === 'actions' ? h('span', { class: 'unseen' }, label) : label)

/**
 * @template T
 * @param {Column<T>} column
 * @param {Child | Child[]} content
 */
const cell = ({ label, look, isUnlabelled = look === 'actions' }, content) =>
  h(
    'td',
    { class: content === DASH ? `${look ?? ''} nothing` : look, 'data-label': isUnlabelled ? null : label },
    content,
  )

/**
 * A button in a row. Its name for screen readers names the row, too.
 *
 * @param {{ key: string, text: string, about: string, look?: string, onclick: (click: any) => unknown }} options
 */
export const rowButton = ({ key, text, about, look = 'small', onclick }) =>
  h('button', { type: 'button', class: look, 'data-key': key, 'aria-label': `${text} (${about})`, onclick }, text)
