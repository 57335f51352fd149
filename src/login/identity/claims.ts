import { fittingExtra } from '../../account/answered-account.ts'
import { type Account, MAX_USERNAME_LENGTH } from '../../account/source.ts'
import { faultOfExtra } from '../../session/record.ts'
import type { ProviderSettings } from '../../settings/schema/providers.ts'
import { type Claims, claimOf, EMAIL, EMAIL_VERIFIED } from '../../token/claim.ts'
import { type GroupFault, groupsIn } from './claimed-groups.ts'
import { type EmailFault, emailIn, isEmail } from './email.ts'
import { loginIdOf } from './login-id.ts'

/* What the claims of a provider mean here. It has signed them, but it may write anything into them. */

/** Why claims are not accepted. Each case has a reason of its own; none quotes a claim. */
export type ClaimsFault =
  /** The `sub` is empty, or no well-formed text. */
  | 'subject-form'
  /** The claim of the username, or the one by which an account is found, is absent. */
  | 'claim-missing'
  /** A claim cannot be what it is used for. */
  | 'claim-form'
  /** None of the required groups. */
  | 'group-required'
  /** The domain of the e-mail address is not one of the required ones. */
  | 'email-required'
  | GroupFault
  | EmailFault

export interface Refused {
  refused: ClaimsFault
}

/** Control characters and halves of characters. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/gu

/** The account that the claims are (`account: claims`). Whether its user may sign in is `requirementFault`. */
export function accountOf(
  settings: ProviderSettings,
  { sub, claims }: { sub: string; claims: Claims },
): { account: Account } | Refused {
  if (sub === '' || /\p{Cs}/u.test(sub)) return { refused: 'subject-form' }
  const { username: nameClaim, ...others } = settings.claims
  const name = nameIn(claims, nameClaim ?? 'preferred_username')
  if ('refused' in name) return name
  const groups = groupsOf(settings, claims)
  if ('refused' in groups) return groups
  const entries = Object.entries(others).flatMap(([field, claim]): [string, unknown][] => {
    const value = claimOf(claims, claim)
    return value === undefined ? [] : [[field, typeof value === 'string' ? value.replace(NOT_TEXT, '') : value]]
  })
  if (entries.some(isTooDeep)) return { refused: 'claim-form' }
  const { extra, ...rest } = fittingExtra(entries, 'provider')
  const account: Account = {
    id: loginIdOf(settings.name, sub),
    username: name.value,
    status: 'ACTIVE',
    extra: { nickname: name.value, avatar: null, ...extra, roles: rolesOf(settings, groups.groups), permissions: [] },
    ...rest,
  }
  return { account }
}

const isTooDeep = ([name, value]: [string, unknown]): boolean =>
  faultOfExtra({ [name]: value }) === 'must not nest deeper than 16 levels'

/** Which line of `require` the claims do not hold; `null` if they hold all of them. */
export function requirementFault(settings: ProviderSettings, claims: Claims): ClaimsFault | null {
  const { groups, email_domains } = settings.require ?? {}
  return (
    (groups === undefined ? null : groupRequirement(settings, claims, groups)) ??
    (email_domains === undefined ? null : emailRequirement(claims, email_domains))
  )
}

function groupRequirement(settings: ProviderSettings, claims: Claims, required: readonly string[]): ClaimsFault | null {
  const held = groupsOf(settings, claims)
  if ('refused' in held) return held.refused
  return required.some(group => held.groups.includes(group)) ? null : 'group-required'
}

function emailRequirement(claims: Claims, domains: readonly string[]): ClaimsFault | null {
  const email = emailIn(claims)
  if ('refused' in email) return email.refused
  return domains.includes(email.domain) ? null : 'email-required'
}

/** The text by which an account is found (`account: match`), exactly as the provider wrote it. */
export function matchValueOf({ match }: ProviderSettings, claims: Claims): { value: string } | Refused {
  const claim = match?.claim ?? ''
  if (!isEmail(claim)) return nameIn(claims, claim)
  const email = emailIn(claims)
  return 'refused' in email ? email : { value: email.address }
}

/**
 * Whether the account that a source finds by this text is the one that has it. Sources compare by rules of their own: a database may
 * find `rosé` by `rose`. Only the case of ASCII letters may differ, because names that differ in it alone are one name.
 */
export const isMatched = ({ username }: Pick<Account, 'username'>, value: string): boolean =>
  withSmallLetters(username) === withSmallLetters(value)

/** Other letters stay as they are: some have small forms that are ASCII. */
const withSmallLetters = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())

/** A claim that can be the name or the id of an account. */
function nameIn(claims: Claims, claim: string): { value: string } | Refused {
  const written = claimOf(claims, claim)
  if (written === undefined || written === '') return { refused: 'claim-missing' }
  // A number beyond 2^53 has been rounded, and could be the id of another user.
  const value = Number.isSafeInteger(written) ? String(written) : written
  const isName = typeof value === 'string' && value.length <= MAX_USERNAME_LENGTH && value.trim() === value
  return isName && value.search(NOT_TEXT) === -1 ? { value } : { refused: 'claim-form' }
}

/** The groups of the user; none where the settings name no claim for them. */
const groupsOf = ({ roles }: ProviderSettings, claims: Claims): { groups: readonly string[] } | Refused =>
  roles === undefined ? { groups: [] } : groupsIn(claims, roles.claim)

/** The roles that the groups give, in the order of the settings. */
function rolesOf({ roles }: ProviderSettings, groups: readonly string[]): string[] {
  const given = Object.entries(roles?.map ?? {}).filter(([group]) => groups.includes(group))
  return [...new Set(given.map(([, role]) => role))]
}

/**
 * The claims that these settings use. Those that the ID token lacks are requested from userinfo. Not every absent one
 * prevents a login.
 */
export function wantedClaims({ account, match, claims, roles, require }: ProviderSettings): string[] {
  const used = account === 'match' ? [match?.claim ?? ''] : Object.values(claims)
  const needsEmail = require?.email_domains !== undefined || (account === 'match' && isEmail(match?.claim ?? ''))
  const needsGroups = account === 'claims' || require?.groups !== undefined
  return [
    ...new Set([
      ...used,
      ...(roles !== undefined && needsGroups ? [roles.claim] : []),
      ...(needsEmail ? [EMAIL, EMAIL_VERIFIED] : []),
    ]),
  ]
}
