import { serves } from '../api.js'
import { sideButtons } from '../elements/sides.js'

/** @typedef {import('../elements/sides.js').SideName} SideName */

/** The sides whose accounts are administered here. */
export const SIDES = {
  BUSINESS: { address: 'accounts', base: 'sys/account', sessions: 'sys/session', isOwn: true },
  CONSUMER: { address: 'consumer-accounts', base: 'client/account', sessions: 'client/session', isOwn: false },
}

/** @returns {SideName[]} */
const servedSides = () =>
  /** @type {SideName[]} */ (Object.keys(SIDES)).filter(name => serves(`${SIDES[name].base}/page`))

export const servesAccounts = () => servedSides().length > 0

/** @param {import('../address.js').Address} address */
export const sideOf = ({ name }) => {
  const served = servedSides()
  return served.find(side => SIDES[side].address === name) ?? /** @type {SideName} */ (served[0])
}

/**
 * The choice of a side, where the accounts of both are administered.
 *
 * @param {SideName} shown
 */
export function sideChoice(shown) {
  const served = servedSides()
  return (
    served.length > 1 &&
    sideButtons(
      shown,
      served.map(name => [name, SIDES[name].address]),
    )
  )
}
