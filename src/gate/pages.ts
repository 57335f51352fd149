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
  'account/account.js',
  'account/enrolment.js',
  'account/new-password.js',
  'account/own-sessions.js',
  'account/password-rules.js',
  'account/password.js',
  'account/recovery-codes.js',
  'account/second-factor.js',
  'account/wrong-codes.js',
  'accounts/account-table.js',
  'accounts/account.js',
  'accounts/accounts.js',
  'accounts/add.js',
  'accounts/choose-password.js',
  'accounts/edit.js',
  'accounts/fields.js',
  'accounts/listed.js',
  'accounts/reset.js',
  'accounts/roles.js',
  'accounts/sides.js',
  'address.js',
  'api.js',
  'elements/dialogs.js',
  'elements/dom.js',
  'elements/facts.js',
  'elements/forms.js',
  'elements/paging.js',
  'elements/selection.js',
  'elements/shown-once.js',
  'elements/sides.js',
  'elements/sorting.js',
  'elements/tables.js',
  'elements/trouble.js',
  'encryption.js',
  'journal/events.js',
  'journal/export.js',
  'journal/filter.js',
  'journal/journal-table.js',
  'journal/journal.js',
  'language/account.js',
  'language/accounts.js',
  'language/clock.js',
  'language/common.js',
  'language/format.js',
  'language/journal.js',
  'language/language.js',
  'language/sessions.js',
  'language/sign-in.js',
  'language/texts.js',
  'main.js',
  'pages.js',
  'preferences.js',
  'session.js',
  'sessions/charts.js',
  'sessions/disable.js',
  'sessions/end-several.js',
  'sessions/overview.js',
  'sessions/refresh.js',
  'sessions/sessions.js',
  'sessions/times.js',
  'sessions/tokens.js',
  'sessions/user-table.js',
  'sessions/users.js',
  'shell.js',
  'sign-in/captcha.js',
  'sign-in/proof-worker.js',
  'sign-in/proof.js',
  'sign-in/sign-in.js',
  'sign-in/steps.js',
  'sm2.js',
  'styles/account.css',
  'styles/charts.css',
  'styles/dialogs.css',
  'styles/layout.css',
  'styles/parts.css',
  'styles/sign-in.css',
  'styles/tables.css',
  'styles/theme.css',
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
