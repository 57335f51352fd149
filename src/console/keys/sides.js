import { createSides } from '../elements/sides.js'

/** The sides whose keys are administered here. */
export const SIDES = {
  BUSINESS: { address: 'keys', base: 'sys/key' },
  CONSUMER: { address: 'consumer-keys', base: 'client/key' },
}

export const { isServed: servesKeys, sideOf, choice: sideChoice } = createSides(SIDES)
