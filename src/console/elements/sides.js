import { go } from '../address.js'
import { t } from '../language/language.js'
import { h } from './dom.js'

/** @typedef {'BUSINESS' | 'CONSUMER'} SideName */

/**
 * The choice of a side: each has an address of its own.
 *
 * @param {SideName} shown
 * @param {[name: SideName, address: string][]} sides
 */
export const sideButtons = (shown, sides) =>
  h(
    'div',
    { class: 'sides', role: 'group', 'aria-label': t('side') },
    sides.map(([name, address]) =>
      h(
        'button',
        {
          type: 'button',
          class: name,
          'aria-pressed': String(name === shown),
          'data-key': name,
          onclick: () => go(address),
          title: t(`side_${name}`),
        },
        t(name),
      ),
    ),
  )
