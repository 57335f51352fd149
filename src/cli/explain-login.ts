import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isPlainObject } from '../base/plain-object.ts'
import { accountOf, type ClaimsFault, matchValueOf, requirementFault, wantedClaims } from '../login/identity/claims.ts'
import { readConfiguration } from '../settings/load.ts'
import { suggest } from '../settings/notation/fault.ts'
import type { ProviderSettings } from '../settings/schema/providers.ts'
import { type Claims, claimOf } from '../token/claim.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn, type Written } from './command.ts'
import { CommandError, readAll, say, type Terminal, UsageError } from './terminal.ts'

export const explainLogin: Command = {
  words: 'NAME --claims FILE',
  summary: 'show what the claims of an OpenID provider would mean at a login',
  help: `Shows the account or the name by which it is found, the roles, and whether the requirements hold, for the claims of a
user of the provider NAME. Nothing is sent, and no account is looked up.

${CONFIG_HELP}
  --claims FILE       a file with the claims as a JSON object: the content of an ID token, or an answer of userinfo; - reads
                      standard input

Example:
  dualgate explain-login staff --claims claims.json`,
  options: { ...CONFIG_OPTION, claims: { type: 'string' } },
  async run(written, terminal) {
    const [name, ...more] = written.words
    if (name === undefined || more.length > 0 || written.values.claims === undefined)
      throw new UsageError('explain-login takes a provider and a file: explain-login staff --claims claims.json')
    const provider = providerNamed(name, written, terminal)
    const claims = await claimsIn(String(written.values.claims), terminal)
    say(terminal.output, ...rowsOf(provider, claims).map(([name, value]) => name.padEnd(16) + value))
    return 0
  },
}

function providerNamed(name: string, written: Written, { environment, cwd }: Terminal): ProviderSettings {
  const { settings } = readConfiguration(configOrBuiltIn(written, cwd), environment, cwd, { secretsNeeded: false })
  const { providers } = settings.login
  const found = providers.find(provider => provider.name === name)
  if (found !== undefined) return found
  const names = providers.map(provider => provider.name)
  const hint = names.length === 0 ? '; login.providers is empty' : suggest(name, names, 'Providers')
  throw new CommandError(`there is no provider ${name}${hint}`)
}

async function claimsIn(file: string, { input, cwd }: Terminal): Promise<Claims> {
  const text = file === '-' ? await readAll(input) : readFileSync(resolve(cwd, file), 'utf8')
  const what = file === '-' ? 'standard input' : file
  let claims: unknown
  try {
    claims = JSON.parse(text)
  } catch {
    // The message of the parser quotes the claims.
    throw new CommandError(`${what} is not JSON; write the claims as one JSON object, not as a token`)
  }
  if (isPlainObject(claims)) return claims
  throw new CommandError(`${what} is not a JSON object with claims`)
}

type Row = [name: string, value: string]

function rowsOf(provider: ProviderSettings, claims: Claims): Row[] {
  const { name, side, issuer, acr } = provider
  const absent = wantedClaims(provider).filter(claim => claimOf(claims, claim) === undefined)
  const faults: Row[] = []
  if (claims.iss !== undefined && claims.iss !== issuer) faults.push(['refused', 'token-issuer: iss is not the issuer'])
  if (acr !== undefined && !acr.some(value => value === claims.acr))
    faults.push(['refused', 'acr: the claim acr is not in the list acr of the provider'])
  const required = requirementFault(provider, claims)
  const mapped = provider.account === 'claims' ? accountRows(provider, claims) : matchRows(provider, claims)
  const refusals = [...faults, ...(required === null ? [] : [refusedRow(required)]), ...mapped.refused]
  return [
    ['provider', `${name}, ${side} side, ${issuer}`],
    ...(absent.length === 0 ? [] : [['absent', `${absent.join(', ')}; a login asks userinfo for it`] satisfies Row]),
    ...mapped.rows,
    ...(provider.require === undefined
      ? []
      : [['require', required === null ? 'holds' : 'does not hold'] satisfies Row]),
    ...distinct(refusals),
    ...(refusals.length === 0 ? [['result', 'signs in, unless the account or a limit prevents it'] satisfies Row] : []),
  ]
}

interface Mapped {
  rows: Row[]
  refused: Row[]
}

function accountRows(provider: ProviderSettings, claims: Claims): Mapped {
  const found = accountOf(provider, { sub: typeof claims.sub === 'string' ? claims.sub : '', claims })
  if ('refused' in found) return { rows: [], refused: [refusedRow(found.refused)] }
  const { id, username, extra, leftOut } = found.account
  const { roles, permissions: _, ...fields } = extra
  return {
    rows: [
      ['login id', id],
      ['username', username],
      ['roles', Array.isArray(roles) && roles.length > 0 ? roles.join(', ') : 'none'],
      ['session', JSON.stringify(fields)],
      ...(leftOut === undefined ? [] : [['left out', `${leftOut.columns.join(', ')}: too large`] satisfies Row]),
    ],
    refused: [],
  }
}

function matchRows(provider: ProviderSettings, claims: Claims): Mapped {
  const found = matchValueOf(provider, claims)
  if ('refused' in found) return { rows: [], refused: [refusedRow(found.refused)] }
  return { rows: [['account', `with the ${provider.match?.with} ${found.value}`]], refused: [] }
}

/** A group claim can be refused for the account and for the requirement. */
const distinct = (rows: readonly Row[]): Row[] => [...new Map(rows.map(row => [row[1], row])).values()]

const refusedRow = (fault: ClaimsFault): Row => ['refused', `${fault}: ${REMEDIES[fault]}`]

const REMEDIES: Readonly<Record<ClaimsFault, string>> = {
  'subject-form': 'the claim sub is absent, or no text',
  'claim-missing': 'the claim of the name is absent; let the provider send it, or name another in claims or match',
  'claim-form': 'a claim cannot be what it is used for: a name has 1 to 128 characters without spaces at its ends',
  'group-overage':
    'the groups are too many for a token; let the provider send fewer: groups of the application, or its roles',
  'group-form': 'the claim of the groups is neither a text nor a list of texts',
  'group-required': 'the user is in none of require.groups',
  'email-missing': 'the claim email is absent; let the provider send it',
  'email-unverified': 'email_verified is not true: the provider does not vouch for the address',
  'email-form': 'the claim email is not an address with exactly one @',
  'email-required': 'the address has none of require.email_domains',
}
