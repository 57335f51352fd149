import { createSides } from '../elements/sides.js'

/** The sides whose accounts are administered here. */
export const SIDES = {
  BUSINESS: { address: 'accounts', base: 'sys/account', sessions: 'sys/session', isOwn: true },
  CONSUMER: { address: 'consumer-accounts', base: 'client/account', sessions: 'client/session', isOwn: false },
}

export const { isServed: servesAccounts, sideOf, choice: sideChoice } = createSides(SIDES)
