import { type LoginType, SIDES } from '../session/sides.ts'

/*
 * The files of the gateway's own pages. They need no session, like the pages themselves (rule 1). Each is listed with
 * its complete path, so that no other path is public.
 */

/** The files of `/docs` and `/redoc`. */
export const DOCUMENT_FILES = [
  '/docs/docs.js',
  '/docs/swagger-ui-bundle.js',
  '/docs/swagger-ui.css',
  '/redoc/redoc.css',
  '/redoc/redoc.js',
  '/redoc/redoc.standalone.js',
] as const

/** The files of the administration page, below `/console/`. */
export const CONSOLE_FILES = ['main.css', 'main.js', 'proof-worker.js', 'sm2.js'] as const

/** The files of the sign-in page, and of the page that signs out, below `/sign-in/files/`. */
export const SIGN_IN_FILES = ['proof-worker.js', 'sign-in.css', 'sign-in.js', 'sign-out.js', 'sm2.js'] as const

/** Where the sign-in page of a side is, also as people type it, and what belongs to it. */
export const signInPaths = (type: LoginType) => {
  const { section } = SIDES[type]
  const unslashed = `/sign-in/${section}`
  const page = `${unslashed}/`
  return {
    unslashed,
    page,
    settings: `${page}settings.json`,
    session: `${page}session`,
    signOut: `/sign-out/${section}`,
  }
}

/** What belongs to the sign-in by an OpenID provider: where it begins, where it comes back to, and where the provider sends logouts. */
export const providerPaths = (type: LoginType, name: string) => {
  const folder = `${signInPaths(type).page}${name}/`
  return { start: `${folder}start`, callback: `${folder}callback`, logout: `${folder}logout` }
}

/** Where the sign-in page gets the step that a sign-in by a provider needs. */
export const stepPath = (type: LoginType): string => `${signInPaths(type).page}step`

/** What the gateway serves for the providers of a side, by their names; nothing without any. */
export const providerRoutesOf = (type: LoginType, names: readonly string[]): readonly PageRoute[] =>
  names.length === 0
    ? []
    : [
        { method: 'POST', path: stepPath(type) },
        ...names.flatMap((name): PageRoute[] => {
          const { start, callback, logout } = providerPaths(type, name)
          return [
            { method: 'POST', path: start },
            { method: 'GET', path: callback },
            { method: 'POST', path: logout },
          ]
        }),
      ]

export interface PageRoute {
  method: 'GET' | 'POST'
  path: string
}

/** Where the sign-in pages find their logo, if the settings name one. */
export const SIGN_IN_LOGO = '/sign-in/logo'

/** The paths of the sign-in pages of some sides, with or without a logo; none without a side. */
export const signInPagesOf = (sides: readonly LoginType[], hasLogo: boolean): readonly string[] =>
  sides.length === 0
    ? []
    : [
        ...sides.flatMap(type => Object.values(signInPaths(type))),
        ...SIGN_IN_FILES.map(file => `/sign-in/files/${file}`),
        ...(hasLogo ? [SIGN_IN_LOGO] : []),
      ]

/** The public keys of assertions, on both listeners (RFC 7517). */
export const KEYS_PATH = '/.well-known/dualgate/jwks.json'

/** The settings of the gateway for the administration page. */
export const CONSOLE_SETTINGS = '/console/settings.json'

export const CONSOLE_PATHS: readonly string[] = [
  '/console',
  '/console/',
  CONSOLE_SETTINGS,
  ...CONSOLE_FILES.map(file => `/console/${file}`),
]
