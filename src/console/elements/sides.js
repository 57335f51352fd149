import { go } from '../address.js'
import { serves } from '../api.js'
import { t } from '../language/language.js'
import { h } from './dom.js'

/** @typedef {'BUSINESS' | 'CONSUMER'} SideName */

/**
 * The sides of which a page lists something, as far as the gateway serves it.
 *
 * @param {Record<SideName, { address: string, base: string }>} sides The address of the page, and the endpoints of the list.
 */
export function createSides(sides) {
  /** @returns {SideName[]} */
  const served = () => /** @type {SideName[]} */ (Object.keys(sides)).filter(name => serves(`${sides[name].base}/page`))

  return {
    isServed: () => served().length > 0,
    /** @param {import('../address.js').Address} address */
    sideOf: ({ name }) => served().find(side => sides[side].address === name) ?? /** @type {SideName} */ (served()[0]),
    /**
     * The choice of a side, where both are served.
     *
     * @param {SideName} shown
     */
    choice: shown =>
      served().length > 1 &&
      sideButtons(
        shown,
        served().map(name => [name, sides[name].address]),
      ),
  }
}

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
