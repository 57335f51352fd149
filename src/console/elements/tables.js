import { h } from './dom.js'

/** @typedef {import('./dom.js').Child} Child */

/** What a cell shows instead of nothing. A card has no place for it. */
export const DASH = '–'

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {string} [look] The class of its cells.
 * @property {boolean} [isUnlabelled] The cells tell by themselves what they are: the heading of the row, and its buttons. The
 *   heading of such a column of buttons is for screen readers only.
 */

/**
 * A list. On narrow screens each row is a card, in which every cell has the name of its column.
 *
 * @param {{ caption: string, columns: Column[], rows: (Child | Child[])[][] }} content
 */
export const table = ({ caption, columns, rows }) =>
  h(
    'table',
    { class: 'list' },
    h('caption', { class: 'unseen' }, caption),
    h('thead', {}, h('tr', {}, columns.map(heading))),
    h(
      'tbody',
      {},
      rows.map(row =>
        h(
          'tr',
          {},
          row.map((content, at) => cell(/** @type {Column} */ (columns[at]), content)),
        ),
      ),
    ),
  )

/** @param {Column} column */
const heading = ({ label, look }) =>
  h('th', { scope: 'col', class: look }, look === 'actions' ? h('span', { class: 'unseen' }, label) : label)

/**
 * @param {Column} column
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
 * @param {{ key: string, text: string, about: string, look?: string, onclick: () => void }} options
 */
export const rowButton = ({ key, text, about, look = 'small', onclick }) =>
  h('button', { type: 'button', class: look, 'data-key': key, 'aria-label': `${text} (${about})`, onclick }, text)
