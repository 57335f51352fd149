import { LOGIN_TYPES, type LoginType, SIDES } from '../../session/sides.ts'
import { readClientKey } from '../client-key.ts'
import type { KeyPath, Report } from '../notation/written.ts'
import type { ProviderSettings } from '../schema/providers.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { keepsCookies, providersOf, servesLogin, signsInByPassword } from '../served.ts'
import { readCertificates } from '../tls.ts'
import { reportFaults } from './files.ts'
import { faultOfOrigin } from './origins.ts'
import { checkClaims } from './provider-claims.ts'

const BASE = ['login', 'providers'] as const

/** Checks that each provider can be used, as far as this can be done without asking it, and that users of each side can sign in. */
export function checkProviders(
  settings: DecodedSettings,
  report: Report,
  _warn: Report,
  isFaulty: (path: KeyPath) => boolean,
): void {
  const { providers } = settings.login
  const isSound = (index: number): boolean => !isFaulty([...BASE, index])
  for (const [index, provider] of providers.entries()) {
    if (!isSound(index)) continue
    const reportAt: Report = (inner, message) => report([...BASE, index, ...inner], message)
    const first = providers.findIndex((other, at) => isSound(at) && other.name === provider.name)
    if (first !== index) reportAt(['name'], `is that of provider ${first + 1} in the list, too; give each its own`)
    for (const check of CHECKS) check(provider, settings, reportAt, index)
  }
  if (providers.every((_, index) => isSound(index))) checkSides(settings, report)
  if (providers.length > 0) checkUrl(settings, report)
}

type Check = (provider: ProviderSettings, settings: DecodedSettings, report: Report, index: number) => void

const CHECKS: readonly Check[] = [checkIssuer, checkClient, checkAuthorities, checkAccount, checkFactor, checkClaims]

/** Hosts of Entra, of all its clouds. */
const ENTRA = /(?:^|\.)(?:microsoftonline\.(?:com|us|de)|partner\.microsoftonline\.cn|sts\.windows\.net)$/
const ALL_TENANTS = /^\/(?:common|organizations|consumers)(?:\/|$)/i

function checkIssuer({ issuer }: ProviderSettings, _: DecodedSettings, report: Report): void {
  const { hostname, pathname } = new URL(issuer)
  if (ENTRA.test(hostname) && ALL_TENANTS.test(pathname))
    report(
      ['issuer'],
      'accepts the users of every organization; name your own: https://login.microsoftonline.com/<tenant id>/v2.0',
    )
}

function checkClient(provider: ProviderSettings, _: DecodedSettings, report: Report, index: number): void {
  const { client_secret, client_auth, key } = provider
  if (client_secret === undefined && key === undefined)
    report(['client_secret'], `is missing; set it as LOGIN__PROVIDERS__${index}__CLIENT_SECRET, or set key`)
  if (key === undefined) return
  if (client_secret !== undefined) report(['key'], 'proves the client, and so does client_secret; keep one of them')
  else if (client_auth === 'post') report(['client_auth'], 'has no effect beside key; remove it')
  reportFaults(() => readClientKey(key), ['key'], report)
}

function checkAuthorities({ ca, issuer }: ProviderSettings, _: DecodedSettings, report: Report): void {
  if (ca === undefined) return
  reportFaults(() => readCertificates(ca, 'ca'), ['ca'], report)
  if (issuer.startsWith('http:')) report(['ca'], 'has no effect: the issuer begins with http://; remove it')
}

const typeOf = ({ side }: ProviderSettings): LoginType => LOGIN_TYPES.find(type => SIDES[type].name === side)!

function checkAccount(provider: ProviderSettings, settings: DecodedSettings, report: Report): void {
  const { account } = provider
  const hasAccounts = servesLogin(settings, typeOf(provider))
  if (account === 'match' && !hasAccounts)
    report(['account'], 'is match, and the gateway has no accounts of consumers; set login.consumer, or use claims')
  const { permissions } = settings
  const source = typeof permissions === 'string' ? 'record' : permissions.source
  if (account === 'claims' && hasAccounts && source === 'accounts')
    report(
      ['account'],
      'is claims, whose users have no rights with permissions.source: accounts; use permissions.source: record, or match',
    )
}

function checkFactor({ second_factor, side }: ProviderSettings, settings: DecodedSettings, report: Report): void {
  const demanded = settings.login.second_factor.for
  if (second_factor !== 'own') return
  if (demanded === 'off')
    report(['second_factor'], 'is own, but login.second_factor.for is off: no login needs a code; set one of the two')
  // The routes of the steps belong to a login that is served here.
  else if (demanded !== 'optional' && side === 'consumer' && !servesLogin(settings, 'CONSUMER'))
    report(
      ['second_factor'],
      'is own, and the gateway has no accounts of consumers, and so no route for their codes; set login.consumer, or use provider',
    )
}

/** Users of providers keep their session in a cookie. Without a password and without a provider no user can sign in. */
function checkSides(settings: DecodedSettings, report: Report): void {
  for (const type of LOGIN_TYPES) {
    const { name } = SIDES[type]
    const [provider] = providersOf(settings, type)
    if (provider !== undefined && !keepsCookies(settings, type))
      report(
        ['browser', name],
        `must be on: who signs in with provider ${provider.name} has the session in a cookie; set it, or remove the provider`,
      )
    if (provider === undefined && servesLogin(settings, type) && !signsInByPassword(settings, type))
      report(
        ['login', 'password'],
        `is off, and no provider has side: ${name}: no user of this side could sign in; add one, or set it on`,
      )
  }
  if (settings.browser.consumer_page !== undefined && providersOf(settings, 'CONSUMER').length > 0)
    report(['browser', 'consumer_page'], 'is never used, because consumers sign in here with a provider; remove it')
}

/** The provider sends browsers back to this address, and they must then send the cookies that they got there. */
function checkUrl({ browser: { url, secure, domain } }: DecodedSettings, report: Report): void {
  const path = ['browser', 'url']
  if (url === undefined) {
    report(path, 'is missing; login.providers needs the address of the gateway, such as https://admin.example.com')
    return
  }
  const { protocol, hostname } = new URL(url)
  const fault = faultOfOrigin(url)
  if (fault !== null) report(path, fault)
  else if (protocol === 'http:' && secure)
    report(path, 'begins with http://, where browsers send no cookie; use https://, or set browser.secure: off')
  else if (domain !== undefined && hostname !== domain && !hostname.endsWith(`.${domain}`))
    report(['browser', 'domain'], 'does not cover the host of browser.url, where browsers would refuse the cookie')
}
