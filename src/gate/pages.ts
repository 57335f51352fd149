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
export const CONSOLE_FILES = [
  'api.js',
  'charts.css',
  'charts.js',
  'dialogs.css',
  'dialogs.js',
  'disable.js',
  'dom.js',
  'format.js',
  'language.js',
  'layout.css',
  'main.js',
  'overview.js',
  'parts.css',
  'preferences.js',
  'refresh.js',
  'session.js',
  'sign-in.css',
  'sign-in.js',
  'sm2.js',
  'tables.css',
  'texts.js',
  'theme.css',
  'tokens.js',
  'user-table.js',
  'users.js',
] as const

/** The settings of the gateway for the administration page. */
export const CONSOLE_SETTINGS = '/console/settings.json'

export const CONSOLE_PATHS: readonly string[] = [
  '/console',
  '/console/',
  CONSOLE_SETTINGS,
  ...CONSOLE_FILES.map(file => `/console/${file}`),
]

/** The same open paths, and those of the administration page. */
export const withConsole = (open: ReadonlySet<string>): ReadonlySet<string> => new Set([...open, ...CONSOLE_PATHS])
