import { DOCUMENT_FILES } from '../gate/own-pages.ts'
import type { PathRules } from '../gate/rules.ts'
import { LOGIN_TYPES, SIDES } from '../session/sides.ts'

/**
 * The two profiles of the specification as two rows of one table. Other code reads fields of a row; no code checks
 * which row it is.
 */
export interface Profile {
  number: 1 | 2
  /** The open paths and the public paths of the gate ("Authentication gate", rules 1 and 3). */
  paths: PathRules
  /** Where the API document is. */
  documentPaths: readonly string[]
  /** Below `/api/v<n>/public/b/`, the first is the profile's own; the rest are answered for clients that already call them. */
  sm2PublicKeyNames: readonly ('sm2-public-key' | 'sm2/public-key')[]
  /** Whether the `jwt` section may be in the configuration file, or only in the environment (`JWT__*`). */
  jwtSettingsInFile: boolean
  /** The ten further operations ("Profile 2 also offers these operations") and `logout` with a login id. */
  extendedOperations: boolean
  /** Whether the session administration is served by default. */
  sessionAdministration: boolean
  /** Whether the account administration is served by default. */
  accountAdministration: boolean
}

const OPEN_PATHS = ['/favicon.ico', '/docs', '/redoc', '/openapi.json', ...DOCUMENT_FILES]

export const PROFILES: Readonly<Record<1 | 2, Profile>> = {
  1: {
    number: 1,
    paths: {
      open: new Set(OPEN_PATHS),
      publicSections: new Set(LOGIN_TYPES.map(type => SIDES[type].section)),
      exceptions: [],
      pages: [],
      access: [],
    },
    documentPaths: ['/openapi.json'],
    sm2PublicKeyNames: ['sm2/public-key'],
    jwtSettingsInFile: false,
    extendedOperations: false,
    sessionAdministration: true,
    accountAdministration: true,
  },
  2: {
    number: 2,
    paths: {
      open: new Set([...OPEN_PATHS, '/v3/api-docs']),
      publicSections: 'any',
      exceptions: [],
      pages: [],
      access: [],
    },
    documentPaths: ['/openapi.json', '/v3/api-docs'],
    sm2PublicKeyNames: ['sm2-public-key', 'sm2/public-key'],
    jwtSettingsInFile: true,
    extendedOperations: true,
    sessionAdministration: false,
    accountAdministration: false,
  },
}
