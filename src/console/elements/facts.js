import { h } from './dom.js'

/** @typedef {import('./dom.js').Child} Child */

/**
 * A list of names and values. Rows without a value are left out.
 *
 * @param {[name: string, value: Child | Child[]][]} rows
 */
export const facts = rows =>
  h(
    'dl',
    { class: 'facts' },
    rows.flatMap(([name, value]) =>
      value === null || value === false || value === undefined ? [] : [h('dt', {}, name), h('dd', {}, value)],
    ),
  )
