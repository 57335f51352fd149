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
export const CONSOLE_FILES = [
  'account/account.js',
  'account/enrolment.js',
  'account/new-password.js',
  'account/own-keys.js',
  'account/own-sessions.js',
  'account/password-rules.js',
  'account/password.js',
  'account/proof.js',
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
  'accounts/make-key.js',
  'accounts/reset.js',
  'accounts/roles.js',
  'accounts/sides.js',
  'address.js',
  'api.js',
  'choices.js',
  'elements/dialogs.js',
  'elements/dom.js',
  'elements/facts.js',
  'elements/forms.js',
  'elements/paged.js',
  'elements/paging.js',
  'elements/selection.js',
  'elements/shown-once.js',
  'elements/sides.js',
  'elements/sorting.js',
  'elements/tables.js',
  'elements/trouble.js',
  'elements/whole-page.js',
  'encryption.js',
  'journal/events.js',
  'journal/export.js',
  'journal/filter.js',
  'journal/journal-table.js',
  'journal/journal.js',
  'keys/add.js',
  'keys/key-table.js',
  'keys/keys.js',
  'keys/listed.js',
  'keys/new-key.js',
  'keys/permissions.js',
  'keys/revoke.js',
  'keys/sides.js',
  'language/account.js',
  'language/accounts.js',
  'language/clock.js',
  'language/common.js',
  'language/format.js',
  'language/journal.js',
  'language/keys.js',
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
  'sessions/disabled-list.js',
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
  'sign-in/credentials.js',
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

/** The files of the sign-in page, below `/sign-in/files/`: its own, and those that it shares with the administration page. */
export const SIGN_IN_FILES = [
  'account/enrolment.js',
  'account/new-password.js',
  'account/password-rules.js',
  'account/recovery-codes.js',
  'api.js',
  'choices.js',
  'elements/dialogs.js',
  'elements/dom.js',
  'elements/forms.js',
  'elements/shown-once.js',
  'elements/whole-page.js',
  'encryption.js',
  'language/account.js',
  'language/accounts.js',
  'language/clock.js',
  'language/common.js',
  'language/journal.js',
  'language/keys.js',
  'language/language.js',
  'language/sessions.js',
  'language/sign-in.js',
  'language/texts.js',
  'preferences.js',
  'session.js',
  'sign-in/arrival.js',
  'sign-in/captcha.js',
  'sign-in/credentials.js',
  'sign-in/destination.js',
  'sign-in/page.js',
  'sign-in/proof-worker.js',
  'sign-in/proof.js',
  'sign-in/providers.js',
  'sign-in/sign-in.js',
  'sign-in/sign-out.js',
  'sign-in/steps.js',
  'sm2.js',
  'styles/account.css',
  'styles/layout.css',
  'styles/parts.css',
  'styles/sign-in.css',
  'styles/theme.css',
] as const

/** Where the sign-in page of a side is, and what belongs to it. */
export const signInPaths = (type: LoginType) => {
  const { section } = SIDES[type]
  const page = `/sign-in/${section}/`
  return { page, settings: `${page}settings.json`, session: `${page}session`, signOut: `/sign-out/${section}` }
}

/** What belongs to the sign-in by an OpenID provider: where it begins, where it comes back to, and where the provider sends logouts. */
export const providerPaths = (type: LoginType, name: string) => {
  const folder = `${signInPaths(type).page}${name}/`
  return { start: `${folder}start`, callback: `${folder}callback`, logout: `${folder}logout` }
}

/** Where the sign-in page gets the step that a sign-in by a provider needs. */
export const stepPath = (type: LoginType): string => `${signInPaths(type).page}step`

/** The paths of the providers of a side, by their names; none without any. */
export const providerPagesOf = (type: LoginType, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [stepPath(type), ...names.flatMap(name => Object.values(providerPaths(type, name)))]

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
