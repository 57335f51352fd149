import { createAccess } from '../gate/address-rules.ts'
import type { CredentialRules } from '../gate/credential.ts'
import { createExceptions } from '../gate/exceptions.ts'
import { CONSOLE_PATHS, KEYS_PATH, type PageRoute, providerRoutesOf, signInPagesOf } from '../gate/own-pages.ts'
import { createPageRules } from '../gate/page-rules.ts'
import type { PathRules } from '../gate/rules.ts'
import { LOGIN_TYPES, type LoginType, SIDES } from '../session/sides.ts'
import { createSessionCookies } from '../token/cookie.ts'
import type { Profile } from './profile.ts'
import type { ProviderSettings } from './schema/providers.ts'
import type { Settings } from './schema/settings.ts'
import type { UpstreamSettings } from './schema/upstreams.ts'

/** Whether the session administration is served: as the settings say, or else the profile. */
export const servesAdministration = (
  { session_administration }: Pick<Settings, 'session_administration'>,
  profile: Profile,
): boolean => session_administration ?? profile.sessionAdministration

/** What the gateway serves for the OpenID providers of both sides. */
export const providerRoutes = (settings: { login: Pick<Settings['login'], 'providers'> }): readonly PageRoute[] =>
  LOGIN_TYPES.flatMap(type => providerRoutesOf(type, namesOf(providersOf(settings, type))))

/** The paths of the gateway's own pages for people and for their browsers. */
export const pagePathsOf = (settings: PageSettings, profile: Profile): ReadonlySet<string> =>
  new Set([
    ...profile.paths.open,
    ...(settings.console ? CONSOLE_PATHS : []),
    ...signInPagesOf(cookieSides(settings), settings.browser.logo !== undefined),
    ...providerRoutes(settings).map(({ path }) => path),
  ])

/** The paths of all that the gateway serves without a session (rule 1). */
export const openPathsOf = (settings: PageSettings & SigningSettings, profile: Profile): ReadonlySet<string> =>
  new Set([...pagePathsOf(settings, profile), ...(signsAssertions(settings) ? [KEYS_PATH] : [])])

type SigningSettings = { upstreams: readonly UpstreamSettings[] }

/** Whether an upstream gets assertions. */
export const signsAssertions = ({ upstreams }: SigningSettings): boolean =>
  upstreams.some(({ identity }) => identity.assertion !== 'off')

type PageSettings = Pick<Settings, 'console' | 'browser'> & { login: Pick<Settings['login'], 'providers'> }

type Excepting = Pick<Settings, 'gate' | 'access'>

/** The path rules of the public listener with these settings. */
export const pathRulesOf = (settings: PageSettings & SigningSettings & Excepting, profile: Profile): PathRules => ({
  ...forwardedRulesOf(settings, profile),
  open: openPathsOf(settings, profile),
})

/** The same without the gateway's own pages for people: behind a proxy that only asks for decisions, its paths are a backend's. */
export const forwardedRulesOf = ({ gate, access }: Excepting, profile: Profile): PathRules => ({
  ...profile.paths,
  exceptions: createExceptions(gate.exceptions),
  pages: createPageRules(gate.pages),
  access: createAccess(access),
})

/** Whether users of a side may keep their session in a cookie. */
export const keepsCookies = ({ browser }: Pick<Settings, 'browser'>, type: LoginType): boolean =>
  browser[SIDES[type].name]

/** The sides whose users may. */
export const cookieSides = (settings: Pick<Settings, 'browser'>): LoginType[] =>
  LOGIN_TYPES.filter(type => keepsCookies(settings, type))

/** What proves a session on the public listener and in questions of proxies. */
export function credentialRulesOf(
  settings: Pick<Settings, 'browser' | 'keys'> & { jwt: Pick<Settings['jwt'], 'token_name'> },
): CredentialRules {
  const { browser, jwt } = settings
  const sides = new Set(cookieSides(settings))
  return {
    tokenHeader: jwt.token_name.toLowerCase(),
    cookies: createSessionCookies({ ...browser, sides }),
    origins: new Set(browser.origins),
    keys: LOGIN_TYPES.some(type => servesKeys(settings, type)),
  }
}

/** How users of a side have keys; `off` where they have none. */
export const keysOf = ({ keys }: Pick<Settings, 'keys'>, type: LoginType) => keys[SIDES[type].name]

/** Whether programs of a side may have keys. */
export const servesKeys = (settings: Pick<Settings, 'keys'>, type: LoginType): boolean =>
  keysOf(settings, type) !== 'off'

/** Whether users of a side make keys of their own. */
export function servesOwnKeys(settings: Pick<Settings, 'keys'>, type: LoginType): boolean {
  const keys = keysOf(settings, type)
  return keys !== 'off' && keys.users
}

type AccountSettings = Pick<Settings, 'accounts'> & { login: Pick<Settings['login'], 'consumer'> }

/** Where the accounts of each side are; `off` for a side whose login is served elsewhere. */
export const accountsOf = ({ accounts, login }: AccountSettings, type: LoginType) =>
  ({ BUSINESS: accounts, CONSUMER: login.consumer })[type]

/** Whether the gateway itself signs the users of a side in. */
export const servesLogin = (settings: AccountSettings, type: LoginType): boolean => accountsOf(settings, type) !== 'off'

/** Whether users of a side sign in with a password: where the gateway has their accounts, unless providers alone do that. */
export const signsInByPassword = (
  settings: AccountSettings & { login: Pick<Settings['login'], 'password'> },
  type: LoginType,
): boolean => servesLogin(settings, type) && settings.login.password

const namesOf = (providers: readonly ProviderSettings[]): string[] => providers.map(({ name }) => name)

/** The OpenID providers with which users of a side sign in, in the order of their buttons. */
export const providersOf = (
  { login }: { login: Pick<Settings['login'], 'providers'> },
  type: LoginType,
): ProviderSettings[] => login.providers.filter(({ side }) => side === SIDES[type].name)

/** The OpenID provider whose claims are the account with this login id; `undefined` for other ids. Its name has no colon. */
export const claimingProvider = (
  settings: { login: Pick<Settings['login'], 'providers'> },
  type: LoginType,
  loginId: string,
): ProviderSettings | undefined => claimingAmong(providersOf(settings, type), loginId)

/** The same of these providers of one side. */
export const claimingAmong = (providers: readonly ProviderSettings[], loginId: string): ProviderSettings | undefined =>
  providers.find(one => one.account === 'claims' && loginId.startsWith(`${one.name}:`))

/** Whether the accounts of a side are administered here: they stand in a file, and the settings, or else the profile, say so. */
export function servesAccounts(
  settings: AccountSettings & Pick<Settings, 'account_administration'>,
  profile: Profile,
  type: LoginType,
): boolean {
  const source = accountsOf(settings, type)
  const isServed = settings.account_administration ?? profile.accountAdministration
  return isServed && source !== 'off' && source.kind === 'file'
}

type AdministrationSettings = AccountSettings & Pick<Settings, 'session_administration' | 'account_administration'>

/** Whether administrators of the B side have anything to do here: with sessions, or with the accounts of a side. */
export const servesAdministrators = (settings: AdministrationSettings, profile: Profile): boolean =>
  servesAdministration(settings, profile) || LOGIN_TYPES.some(type => servesAccounts(settings, profile, type))

/** Whether administrators see and revoke the keys of a side, beside any other administration. */
export const servesKeyAdministration = (
  settings: AdministrationSettings & Pick<Settings, 'keys'>,
  profile: Profile,
  type: LoginType,
): boolean => servesKeys(settings, type) && servesAdministrators(settings, profile)

/** Whether administrators see the journal: where there is one, beside any other administration. */
export const servesJournal = (
  settings: AdministrationSettings & Pick<Settings, 'journal'>,
  profile: Profile,
): boolean => settings.journal !== 'off' && servesAdministrators(settings, profile)

/** Whether the gateway itself stores new passwords of the accounts of a side. */
export const storesPasswords = (settings: AccountSettings, type: LoginType): boolean =>
  storesIn(accountsOf(settings, type), 'password')

/** Whether the gateway itself stores second factors of the accounts of a side. */
export const storesSecondFactors = (settings: AccountSettings, type: LoginType): boolean =>
  storesIn(accountsOf(settings, type), 'second_factor')

/** Whether changes of the accounts of a source are stored through the gateway. */
export function storesIn(source: ReturnType<typeof accountsOf>, what: 'password' | 'second_factor'): boolean {
  if (source === 'off') return false
  if (source.kind === 'sql') return source.update?.[what] !== undefined
  if (source.kind === 'http') return source.update_url !== undefined
  // A directory is only read. Its own tools change it; second factors of its accounts are kept in the gateway's store.
  return source.kind === 'file' || (source.kind === 'ldap' && what === 'second_factor')
}

/** Whether users of a side can set up a second factor. */
export const servesSecondFactors = (
  settings: AccountSettings & { login: Pick<Settings['login'], 'second_factor'> },
  type: LoginType,
): boolean => settings.login.second_factor.for !== 'off' && storesSecondFactors(settings, type)

export const servesWebSockets = ({ upstreams }: Pick<Settings, 'upstreams'>): boolean =>
  upstreams.some(({ websocket }) => websocket !== 'off')

/** Whether connections end with their sessions: then the store has to announce changes of sessions. */
export const watchesSessions = (settings: Pick<Settings, 'upstreams'>): boolean =>
  servesWebSockets(settings) || settings.upstreams.some(({ end_with_session }) => end_with_session)
