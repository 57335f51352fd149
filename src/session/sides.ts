/** The two sides, by the login types of the specification, and every name that is derived from the side. */
export const SIDES = {
  BUSINESS: {
    name: 'business',
    section: 'b',
    letter: 'B',
    administration: 'sys/session',
    accounts: 'sys/account',
    keys: 'sys/key',
  },
  CONSUMER: {
    name: 'consumer',
    section: 'c',
    letter: 'C',
    administration: 'client/session',
    accounts: 'client/account',
    keys: 'client/key',
  },
} as const satisfies Record<string, SideNames>

interface SideNames {
  /** In settings, in the paths of operations and as a property of `gateway.sides`. */
  name: string
  /** The segment behind `/api/v<n>/` and `/api/v<n>/public/`. */
  section: string
  /** In texts, and first in the keys of the embedded store. */
  letter: string
  /** Where "Session administration" is, below `/api/v<n>/`. */
  administration: string
  /** Where the account administration is, below `/api/v<n>/`. */
  accounts: string
  /** Where the administration of keys is, below `/api/v<n>/`. */
  keys: string
}

export type LoginType = keyof typeof SIDES
export type SideName = (typeof SIDES)[LoginType]['name']

/** In the order in which both sides are shown. */
export const LOGIN_TYPES = Object.keys(SIDES) as readonly LoginType[]

/** One value per side. */
export const bySide = <T>(make: (type: LoginType) => T): Record<LoginType, T> => ({
  BUSINESS: make('BUSINESS'),
  CONSUMER: make('CONSUMER'),
})

/** One value per side, by the side's name in settings. */
export const bySideName = <T>(make: (type: LoginType) => T): Record<SideName, T> => ({
  business: make('BUSINESS'),
  consumer: make('CONSUMER'),
})
