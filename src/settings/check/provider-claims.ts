import type { Report } from '../notation/written.ts'
import { DEFAULT_CLAIMS, type ProviderSettings } from '../schema/providers.ts'
import type { DecodedSettings } from '../schema/settings.ts'

/** Checks that the claims of a provider are used for what they are configured for. */
export function checkClaims(provider: ProviderSettings, _: DecodedSettings, report: Report): void {
  if (provider.account === 'claims') checkOfClaims(provider, report)
  else checkOfMatch(provider, report)
  checkRequire(provider, report)
}

/** Fields of a session that have another source. Some of them decide when it ends. */
const OTHERS: ReadonlySet<string> = new Set([
  'id',
  'status',
  'roles',
  'permissions',
  'device_type',
  'device_id',
  'login_ip',
  'provider',
  'provider_session',
  'wrong_codes',
  'account_version',
  'account_version_next',
  'session_seconds',
  'session_latest_end',
  'session_renewed_end',
])

function checkOfClaims({ match, claims, roles, require }: ProviderSettings, report: Report): void {
  if (match !== undefined) report(['match'], 'has no effect with account: claims; remove it, or use account: match')
  if (!Object.hasOwn(claims, 'username'))
    report(['claims'], 'needs username, and the claim that is the name of the user: username: preferred_username')
  for (const name of Object.keys(claims)) {
    if (OTHERS.has(name)) report(['claims', name], 'does not come from a claim; remove it')
    else if (!/^[A-Za-z_]\w{0,63}$/.test(name)) report(['claims', name], 'must be a name of letters, digits and _')
  }
  if (roles !== undefined && Object.keys(roles.map).length === 0 && require?.groups === undefined)
    report(['roles'], 'has no effect: map names no group, and require no groups; add the roles of groups, or remove it')
}

/** The account has a name, fields and roles of its own. */
function checkOfMatch({ match, claims, roles, require }: ProviderSettings, report: Report): void {
  if (match === undefined)
    report(['match'], 'is missing; account: match needs it: { claim: preferred_username, with: username }')
  if (JSON.stringify(claims) !== JSON.stringify(DEFAULT_CLAIMS))
    report(['claims'], 'has no effect with account: match, where the account has its own fields; remove it')
  if (roles === undefined) return
  if (Object.keys(roles.map).length > 0)
    report(['roles', 'map'], 'has no effect with account: match, where the account has its own roles; remove it')
  else if (require?.groups === undefined)
    report(['roles'], 'has no effect with account: match and without require.groups; remove it')
}

const DOMAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/

function checkRequire({ roles, require }: ProviderSettings, report: Report): void {
  if (require?.groups !== undefined && roles === undefined)
    report(['require', 'groups'], 'needs roles.claim, the claim with the groups, such as roles: { claim: groups }')
  for (const [index, domain] of (require?.email_domains ?? []).entries()) {
    if (!DOMAIN.test(domain))
      report(['require', 'email_domains', index], 'must be a domain in lower case, such as example.com')
  }
}
